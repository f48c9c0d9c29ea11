"""Change single raters: the user, name and group, and pausing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from core import security_log
from core.text import describe_line, has_control_character
from projects import hooks
from projects.models import Member, Project, Rater, RaterIdentity
from projects.services.project_validation import InvalidProjectChange
from projects.services.raters import fields, pseudonyms
from projects.services.raters.fields import (
    MAX_GROUP_LENGTH,
    MAX_MODEL_LENGTH,
    MAX_NAME_LENGTH,
    MAX_VERSION_LENGTH,
    is_valid_group,
)


@transaction.atomic
def get_or_link_rater(*, project: Project, user: User) -> Rater:
    """Return the user's rater in the project.

    This is the rater linked to the user, else an unlinked human rater with the username as key,
    else a new one; it is linked to the user.
    """
    rater = Rater.objects.filter(project=project, user=user).first()
    if rater is not None:
        return rater
    unlinked_rater = pseudonyms.get_rater_by_key(
        project, user.username, user=None, kind=Rater.Kind.HUMAN
    )
    if unlinked_rater is not None:
        unlinked_rater.user = user
        unlinked_rater.save(update_fields=["user"])
        return unlinked_rater
    similar = Rater.objects.filter(project=project, key__startswith=user.username)
    hidden_similar = RaterIdentity.objects.filter(project=project, key__startswith=user.username)
    used_keys = {
        *similar.values_list("key", flat=True),
        *hidden_similar.values_list("key", flat=True),
    }
    key, number = user.username, 1
    while key in used_keys:
        number += 1
        key = f"{user.username[:140]}-{number}"
    created = Rater.objects.create(project=project, key=key, name=user.get_full_name(), user=user)
    if pseudonyms.assign_pseudonyms(project.pk):
        created.refresh_from_db()
    return created


@transaction.atomic
def set_rater_paused(*, rater: Rater, paused: bool, by: Any, reason: str = "") -> Rater:
    """Pause or resume a rater. A paused one gets no further items; their ratings still count.

    ``reason``: a Rater.GoldNotice if a rule for gold answers caused it; ``by`` is then None.
    """
    before, rater.paused = rater.paused, paused
    rater.gold_notice = reason
    rater.save(update_fields=["paused", "gold_notice"])
    security_log.log_event(
        "rater_paused" if paused else "rater_resumed",
        project_id=rater.project_id,
        rater=rater.pk,
        by=by.pk if by is not None else None,
        before={"rater": rater.key, "paused": before},
        after={"rater": rater.key, "paused": paused},
    )
    hooks.RATER_PAUSED.call(rater, by)
    return rater


@transaction.atomic
def set_raters_paused(*, raters: Iterable[Rater], paused: bool, by: Any) -> list[Rater]:
    """Pause or resume several raters; return those that changed."""
    return [
        set_rater_paused(rater=rater, paused=paused, by=by)
        for rater in raters
        if rater.paused != paused
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
    """Set a rater's name, kind, group and linked user (a member of the project).

    For models, also the model's name and the version of its prompt. Raises InvalidProjectChange.
    """
    _validate_rater_fields(name, kind, group)
    _validate_model_field(kind, "model", model, max_length=MAX_MODEL_LENGTH)
    _validate_model_field(kind, "prompt_version", prompt_version, max_length=MAX_VERSION_LENGTH)
    if user_id is not None:
        if not Member.objects.filter(project=rater.project_id, user=user_id).exists():
            raise InvalidProjectChange({"user": _("Link a member of this project.")})
        _reject_linked_user(rater, user_id)
    if rater.kind != kind:
        fields.record_previous_kinds({rater.pk: rater.kind})
    if (rater.kind, rater.group) != (kind, group):
        Project.objects.filter(pk=rater.project_id).increment_items_and_raters_version()
    return _save_changes(
        rater,
        {
            "name": name,
            "kind": kind,
            "model": model,
            "prompt_version": prompt_version,
            "group": group,
            "user_id": user_id,
        },
        by=by,
    )


def _save_changes(rater: Rater, after: Mapping[str, object], *, by: Any) -> Rater:
    before = {field: getattr(rater, field) for field in after}
    for field, value in after.items():
        setattr(rater, field, value)
    rater.save(update_fields=list(after))
    if pseudonyms.assign_pseudonyms(rater.project_id):
        rater.refresh_from_db()
    security_log.log_event(
        "rater_changed",
        project_id=rater.project_id,
        by=by.pk,
        rater=rater.pk,
        before=before,
        after=after,
    )
    return rater


def _validate_rater_fields(name: str, kind: str, group: str) -> None:
    one_line = _("One line of at most %(most)s characters.")
    if kind not in Rater.Kind.values:
        raise InvalidProjectChange({"kind": "A rater must be human or model."})
    if len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise InvalidProjectChange({"name": one_line % {"most": MAX_NAME_LENGTH}})
    if not is_valid_group(group):
        raise InvalidProjectChange({"group": one_line % {"most": MAX_GROUP_LENGTH}})


def _reject_linked_user(rater: Rater, user_id: int) -> None:
    """Raise InvalidProjectChange for a user who is linked to another rater of the project."""
    linked_raters = Rater.objects.filter(project=rater.project_id, user=user_id)
    if linked_raters.exclude(pk=rater.pk).exists():
        message = _("This user already is another rater.")
        raise InvalidProjectChange({"user": message})


def _validate_model_field(kind: str, field: str, text: str, *, max_length: int) -> None:
    """Raise InvalidProjectChange if a person has a model field, or its text is invalid."""
    if text and kind != Rater.Kind.MODEL:
        raise InvalidProjectChange({field: _("Only models can have this.")})
    if len(text) > max_length or has_control_character(text):
        raise InvalidProjectChange({field: describe_line(max_length)})
