"""Pseudonyms of raters, for projects that hide raters' names from their leads.

A pseudonym *is* the rater's key while it is hidden, so that pages, addresses, API and files show it
without further code. The true key and name are in RaterIdentity; writers may name a rater by either
key. Code that creates or changes raters must call ``assign_pseudonyms`` in the same transaction.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Iterator
from typing import Any

from django.db import transaction
from django.db.models import F, Q

from projects import locks
from projects.models import Project, Rater, RaterIdentity

_NUMBERED = re.compile(r"rater-0*(\d+)")
BATCH_SIZE = 500


def assign_pseudonyms(project_id: int) -> dict[str, str]:
    """Give pseudonyms to the people among the project's raters that have none yet.

    Returns {true key: pseudonym} of these, empty where the project does not hide its raters.
    """
    # Hiding and showing raters locks the project's row, and waits for this transaction.
    locks.lock_project_row(project_id)
    if not Project.objects.filter(pk=project_id, hides_raters=True).exists():
        return {}
    return _hide_raters(project_id)


@transaction.atomic
def _hide_raters(project_id: int) -> dict[str, str]:
    Project.objects.select_for_update(no_key=True).get(pk=project_id)
    raters = Rater.objects.filter(project=project_id)
    renamed_meanwhile = list(
        raters.exclude(name="").filter(identity__isnull=False).select_related("identity")
    )
    for rater in renamed_meanwhile:  # raters that were given a name meanwhile
        rater.identity.name, rater.name = rater.name, ""
    RaterIdentity.objects.bulk_update(
        [hidden_rater.identity for hidden_rater in renamed_meanwhile],
        ["name"],
        batch_size=BATCH_SIZE,
    )
    new_raters = list(raters.filter(kind=Rater.Kind.HUMAN, identity__isnull=True).order_by("pk"))
    # A random order, which does not disclose identities.
    secrets.SystemRandom().shuffle(new_raters)
    RaterIdentity.objects.bulk_create(
        [
            RaterIdentity(
                project_id=project_id,
                rater=hidden_rater,
                key=hidden_rater.key,
                name=hidden_rater.name,
            )
            for hidden_rater in new_raters
        ],
        batch_size=BATCH_SIZE,
    )
    renamed = {}
    for rater, pseudonym in zip(
        new_raters, _iter_free_pseudonyms(project_id, len(new_raters)), strict=False
    ):
        renamed[rater.key] = pseudonym
        rater.key, rater.name = pseudonym, ""
    Rater.objects.bulk_update(
        [*renamed_meanwhile, *new_raters], ["key", "name"], batch_size=BATCH_SIZE
    )
    return renamed


def _iter_free_pseudonyms(project_id: int, count: int) -> Iterator[str]:
    """Yield ``count`` pseudonyms that are neither a true key nor another pseudonym."""
    keys = [
        *Rater.objects.filter(project=project_id).values_list("key", flat=True),
        *RaterIdentity.objects.filter(project=project_id).values_list("key", flat=True),
    ]
    used_numbers = {int(match[1]) for key in keys if (match := _NUMBERED.fullmatch(key))}
    width = max(2, len(str(count)))
    number = 0
    while count:
        number += 1
        if number not in used_numbers:
            yield f"rater-{number:0{width}}"
            count -= 1


@transaction.atomic
def restore_identities(project_id: int) -> dict[str, str]:
    """Restore the keys and names of all raters of the project; return {pseudonym: true key}."""
    identities = list(RaterIdentity.objects.filter(project=project_id).select_related("rater"))
    renamed, raters = {}, []
    for identity in identities:
        renamed[identity.rater.key] = identity.key
        identity.rater.key, identity.rater.name = identity.key, identity.name or identity.rater.name
        raters.append(identity.rater)
    Rater.objects.bulk_update(raters, ["key", "name"], batch_size=BATCH_SIZE)
    RaterIdentity.objects.filter(project=project_id).delete()
    return renamed


def get_pseudonyms(project: Project, keys: Collection[str] | None = None) -> dict[str, str]:
    """Return {true key: pseudonym} of the hidden raters.

    ``keys``: only of raters with these true keys; None for all.
    """
    if not project.hides_raters or (keys is not None and not keys):
        return {}
    identities = RaterIdentity.objects.filter(project=project)
    if keys is not None:
        identities = identities.filter(key__in=list(keys))
    return dict(identities.values_list("key", "rater__key"))


def get_true_names(project: Project) -> dict[str, str]:
    """Return {pseudonym: true name} of the hidden raters."""
    if not project.hides_raters:
        return {}
    identities = RaterIdentity.objects.filter(project=project)
    return dict(identities.values_list("rater__key", "name"))


def get_rater_ids(project: Project, keys: Collection[str]) -> dict[str, int]:
    """Return {requested key: id} of the raters that have it as key or as true key."""
    ids_by_key = dict(Rater.objects.filter(project=project, key__in=keys).values_list("key", "id"))
    if RaterIdentity.objects.filter(project=project).exists():
        hidden = RaterIdentity.objects.filter(project=project, key__in=keys)
        ids_by_key |= dict(hidden.values_list("key", "rater_id"))
    return ids_by_key


def get_rater_by_key(project: Project, key: str, **filters: Any) -> Rater | None:
    """Return the rater whose shown or true key this is, or None.

    ``filters``: further conditions on the rater.
    """
    matches = Rater.objects.filter(Q(key=key) | Q(identity__key=key), project=project, **filters)
    return matches.first()


def list_identities(project: Project) -> list[dict[str, object]]:
    """List key, name, pseudonym and account of the hidden raters, sorted by pseudonym.

    Each is a dict with these four names; ``account`` is None for a rater without one.
    """
    identities = RaterIdentity.objects.filter(project=project).order_by("rater__key")
    rows = identities.values(
        "key", "name", pseudonym=F("rater__key"), account=F("rater__user__username")
    )
    return [dict(row) for row in rows]
