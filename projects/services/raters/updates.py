"""What changes a rater by hand: its user, its name and group, whether it gets items."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from core import security_log
from core.text import has_control
from projects.models import Member, Project, Rater, RaterIdentity
from projects.services.project_validation import Refused
from projects.services.raters import kind_history, pseudonyms
from projects.services.raters.fields import LONGEST_MODEL, LONGEST_NAME, LONGEST_VERSION, is_group


@transaction.atomic
def tie_annotator(*, project: Project, user: User) -> Rater:
    """The rater as whom ``user`` rates: the tied one, else an untied human one of the same key,
    else a new one."""
    rater = Rater.objects.filter(project=project, user=user).first()
    if rater is not None:
        return rater
    free = pseudonyms.by_key(project, user.username, user=None, kind=Rater.Kind.HUMAN)
    if free is not None:
        free.user = user
        free.save(update_fields=["user"])
        return free
    alike = Rater.objects.filter(project=project, key__startswith=user.username)
    hidden = RaterIdentity.objects.filter(project=project, key__startswith=user.username)
    taken = {*alike.values_list("key", flat=True), *hidden.values_list("key", flat=True)}
    key, number = user.username, 1
    while key in taken:
        number += 1
        key = f"{user.username[:140]}-{number}"
    made = Rater.objects.create(project=project, key=key, name=user.get_full_name(), user=user)
    if pseudonyms.settle(project.pk):
        made.refresh_from_db()
    return made


@transaction.atomic
def pause_rater(*, rater: Rater, paused: bool, by: Any, told: str = "") -> Rater:
    """Stop or resume handing out items to a rater; what they rated counts on. ``told``: why, where
    it is not the lead's own word. ``by``: nobody, where a rule of the project does it."""
    before, rater.paused = rater.paused, paused
    rater.told = told
    rater.save(update_fields=["paused", "told"])
    security_log.event(
        "rater_paused" if paused else "rater_resumed",
        project_id=rater.project_id,
        rater=rater.pk,
        by=by.pk if by is not None else None,
        before={"rater": rater.key, "paused": before},
        after={"rater": rater.key, "paused": paused},
    )
    return rater


@transaction.atomic
def pause_raters(*, raters: Iterable[Rater], paused: bool, by: Any) -> list[Rater]:
    """Stop or resume several at once, a line of the trail each; those who were otherwise before."""
    return [
        pause_rater(rater=rater, paused=paused, by=by) for rater in raters if rater.paused != paused
    ]


@transaction.atomic
def change_rater(
    *,
    rater: Rater,
    by: Any,
    name: str,
    kind: str,
    group: str,
    user_id: int | None,
    model: str = "",
    prompt_version: str = "",
) -> Rater:
    """Set a rater's name, kind, group and tied user (a member of the project); of a model its name
    and the version of its prompt."""
    if kind not in Rater.Kind.values:
        raise Refused({"kind": _("A rater is human or model.")})
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise Refused(
            {"name": _("A name of 200 characters at most is needed, without control characters.")}
        )
    _refuse_model(kind, "model", model, longest=LONGEST_MODEL)
    _refuse_model(kind, "prompt_version", prompt_version, longest=LONGEST_VERSION)
    if not is_group(group):
        raise Refused(
            {"group": _("A group of 64 characters at most is needed, without control characters.")}
        )
    if user_id is not None:
        if not Member.objects.filter(project=rater.project_id, user=user_id).exists():
            raise Refused({"user": _("A rater is tied to a member of this project.")})
        _refuse_tied(rater, user_id)
    if rater.kind != kind:
        kind_history.keep({rater.pk: rater.kind})
    if (rater.kind, rater.group) != (kind, group):
        Project.objects.filter(pk=rater.project_id).catalogue_changed()
    after = {
        "name": name,
        "kind": kind,
        "model": model,
        "prompt_version": prompt_version,
        "group": group,
        "user_id": user_id,
    }
    before = {field: getattr(rater, field) for field in after}
    for field, value in after.items():
        setattr(rater, field, value)
    rater.save(update_fields=list(after))
    if pseudonyms.settle(rater.project_id):
        rater.refresh_from_db()
    security_log.event(
        "rater_changed",
        project_id=rater.project_id,
        by=by.pk,
        rater=rater.pk,
        before=before,
        after=after,
    )
    return rater


def _refuse_tied(rater: Rater, user_id: int) -> None:
    """Raises Refused for a user who is another rater of the project."""
    tied = Rater.objects.filter(project=rater.project_id, user=user_id)
    other = tied.exclude(pk=rater.pk).first()
    if other is not None:
        said = _("This user is tied to rater '%(key)s' already.") % {"key": other.key}
        if hasattr(other, "identity"):  # who that is, is hidden
            said = _("This user is tied to another rater already.")
        raise Refused({"user": said})


def _refuse_model(kind: str, field: str, text: str, *, longest: int) -> None:
    """Raises Refused for what cannot be said of a model, or is said of a person."""
    if text and kind != Rater.Kind.MODEL:
        raise Refused({field: _("Only of raters who are models.")})
    if len(text) > longest or has_control(text):
        raise Refused({field: _("A line of %(most)s characters at most.") % {"most": longest}})
