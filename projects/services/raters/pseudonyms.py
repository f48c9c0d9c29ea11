"""Raters whose names are hidden: who leads the project sees a pseudonym as the key, and no name.

The pseudonym *is* the rater's key as long as it is hidden, so that pages, addresses, API and files
show it by themselves. The true key and name stand in RaterIdentity; who writes may name a rater by
either key. Whoever makes raters, or changes them, calls ``settle`` in the same transaction.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Iterator
from typing import Any

from django.db import transaction
from django.db.models import F, Q

from core.db import bulk
from projects import locks
from projects.models import Project, Rater, RaterIdentity

_NUMBERED = re.compile(r"rater-0*(\d+)")
ROWS = 500  # of one statement


def settle(project_id: int) -> dict[str, str]:
    """Put the people among the raters of a project that hides them under pseudonyms, those who are
    not yet; true key -> pseudonym of these. Nothing where the project hides nobody."""
    # Who switches it takes the project's row, and waits for this (ratings.items.rater_pseudonyms).
    locks.hold_project(project_id)
    if not Project.objects.filter(pk=project_id, raters_hidden=True).exists():
        return {}
    return _hide(project_id)


@transaction.atomic
def _hide(project_id: int) -> dict[str, str]:
    Project.objects.select_for_update(no_key=True).get(pk=project_id)
    people = Rater.objects.filter(project=project_id)
    told = list(people.exclude(name="").filter(identity__isnull=False).select_related("identity"))
    for rater in told:  # a name that was given meanwhile
        rater.identity.name, rater.name = rater.name, ""
    RaterIdentity.objects.bulk_update([one.identity for one in told], ["name"], batch_size=ROWS)
    new = list(people.filter(kind=Rater.Kind.HUMAN, identity__isnull=True).order_by("pk"))
    # in no order that tells who is who
    secrets.SystemRandom().shuffle(new)
    RaterIdentity.objects.bulk_create(
        [
            RaterIdentity(project_id=project_id, rater=one, key=one.key, name=one.name)
            for one in new
        ],
        batch_size=ROWS,
    )
    renamed = {}
    for rater, pseudonym in zip(new, _free(project_id, len(new)), strict=False):
        renamed[rater.key] = pseudonym
        rater.key, rater.name = pseudonym, ""
    Rater.objects.bulk_update([*told, *new], ["key", "name"], batch_size=ROWS)
    return renamed


def _free(project_id: int, wanted: int) -> Iterator[str]:
    """So many pseudonyms that are nobody's key, neither the true one nor another pseudonym."""
    keys = [
        *Rater.objects.filter(project=project_id).values_list("key", flat=True),
        *RaterIdentity.objects.filter(project=project_id).values_list("key", flat=True),
    ]
    taken = {int(found[1]) for key in keys if (found := _NUMBERED.fullmatch(key))}
    width = max(2, len(str(wanted)))
    number = 0
    while wanted:
        number += 1
        if number not in taken:
            yield f"rater-{number:0{width}}"
            wanted -= 1


@transaction.atomic
def restore(project_id: int) -> dict[str, str]:
    """Give all raters of the project their keys and names again; pseudonym -> true key."""
    kept = list(RaterIdentity.objects.filter(project=project_id).select_related("rater"))
    renamed, raters = {}, []
    for one in kept:
        renamed[one.rater.key] = one.key
        one.rater.key, one.rater.name = one.key, one.name or one.rater.name
        raters.append(one.rater)
    Rater.objects.bulk_update(raters, ["key", "name"], batch_size=ROWS)
    RaterIdentity.objects.filter(project=project_id).delete()
    return renamed


def pseudonyms(project: Project, keys: Collection[str] | None = None) -> dict[str, str]:
    """True key -> pseudonym of the raters that are hidden; of these keys, or of all."""
    if not project.raters_hidden or (keys is not None and not keys):
        return {}
    found = RaterIdentity.objects.filter(project=project)
    if keys is not None:
        found = found.filter(key__in=list(keys))
    return dict(found.values_list("key", "rater__key"))


def names(project: Project) -> dict[str, str]:
    """Pseudonym -> true name of the raters that are hidden."""
    if not project.raters_hidden:
        return {}
    found = RaterIdentity.objects.filter(project=project)
    return dict(found.values_list("rater__key", "name"))


def asked(project: Project, keys: Collection[str]) -> list[bulk.Statement]:
    """What finds (true key, pseudonym, id) of the hidden raters among these keys, to be sent with
    other questions."""
    if not project.raters_hidden or not keys:
        return []
    among, values = bulk.among("d.key", sorted(keys))
    sql = (
        "SELECT d.key, r.key, r.id FROM projects_rateridentity d"  # noqa: S608  # fixed names
        f" JOIN projects_rater r ON r.id = d.rater_id WHERE d.project_id = %s AND {among}"
    )
    return [(sql, [project.pk, *values])]


def ids(project: Project, keys: Collection[str]) -> dict[str, int]:
    """Key as it was asked for -> id, of the raters whose key or true key it is."""
    found = dict(Rater.objects.filter(project=project, key__in=keys).values_list("key", "id"))
    if RaterIdentity.objects.filter(project=project).exists():
        hidden = RaterIdentity.objects.filter(project=project, key__in=keys)
        found |= dict(hidden.values_list("key", "rater_id"))
    return found


def by_key(project: Project, key: str, **what: Any) -> Rater | None:
    """The rater of this key, be it the one that is shown or the true one."""
    known = Rater.objects.filter(Q(key=key) | Q(identity__key=key), project=project, **what)
    return known.first()


def table(project: Project) -> list[dict[str, Any]]:
    """Who is who, in the order of the pseudonyms."""
    found = RaterIdentity.objects.filter(project=project).order_by("rater__key")
    said = found.values(
        "key", "name", pseudonym=F("rater__key"), account=F("rater__user__username")
    )
    return [dict(row) for row in said]
