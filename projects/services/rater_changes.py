"""Fields of a rater and their validation, changes of single raters, pauses, and earlier kinds."""

from __future__ import annotations

import datetime
import functools
import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers

from core import security_log
from core.text import describe_line, has_control_character
from projects import hooks
from projects.models import Member, Project, Rater, RaterIdentity, RaterKindVersion
from projects.services import pseudonyms
from projects.services.project_validation import InvalidProjectChange
from projects.services.row_validation import FieldSpec, find_key_problem

MAX_KEY_LENGTH = Rater._meta.get_field("key").max_length or 0
MAX_NAME_LENGTH = Rater._meta.get_field("name").max_length or 0
MAX_GROUP_LENGTH = Rater._meta.get_field("group").max_length or 0
MAX_MODEL_LENGTH = Rater._meta.get_field("model").max_length or 0
MAX_VERSION_LENGTH = Rater._meta.get_field("prompt_version").max_length or 0
MAX_USERNAME_LENGTH = 150


def _find_name_problem(name: Any) -> str | None:
    if not isinstance(name, str) or len(name) > MAX_NAME_LENGTH or has_control_character(name):
        return (
            f"'name' must be a text of {MAX_NAME_LENGTH} characters at most, "
            "without control characters"
        )
    return None


def _find_model_problem(value: Any, *, name: str, max_length: int) -> str | None:
    if isinstance(value, str) and len(value) <= max_length and not has_control_character(value):
        return None
    return f"'{name}' must be a text of {max_length} characters at most, without control characters"


def _find_kind_problem(kind: Any) -> str | None:
    if not isinstance(kind, str) or kind not in Rater.Kind.values:
        return f"unknown kind {json.dumps(kind)[:40]}; one of {', '.join(Rater.Kind.values)}"
    return None


def is_valid_group(group: Any) -> bool:
    """Return whether a value can be a rater's group.

    That is a printable text without blanks around it, of up to MAX_GROUP_LENGTH characters.
    """
    if not isinstance(group, str) or len(group) > MAX_GROUP_LENGTH:
        return False
    return group == group.strip() and group.isprintable()


def _find_group_problem(group: Any) -> str | None:
    if is_valid_group(group):
        return None
    return (
        f"'group' must be a text of {MAX_GROUP_LENGTH} characters at most,"
        " without blanks at its ends"
    )


def _find_username_problem(username: Any) -> str | None:
    if username is None:
        return None
    if not isinstance(username, str) or not 0 < len(username) <= MAX_USERNAME_LENGTH:
        return f"'username' must be a text of 1 to {MAX_USERNAME_LENGTH} characters, or null"
    return None


# All fields of a rater, for the API and for imports of raters.
FIELDS = {
    "key": FieldSpec(
        functools.partial(find_key_problem, max_length=MAX_KEY_LENGTH),
        serializers.CharField(
            max_length=MAX_KEY_LENGTH, help_text="Your own name of the rater; unique in the project"
        ),
    ),
    "name": FieldSpec(
        _find_name_problem,
        serializers.CharField(required=False, allow_blank=True, max_length=MAX_NAME_LENGTH),
    ),
    "kind": FieldSpec(
        _find_kind_problem, serializers.ChoiceField(Rater.Kind.choices, required=False)
    ),
    "model": FieldSpec(
        functools.partial(_find_model_problem, name="model", max_length=MAX_MODEL_LENGTH),
        serializers.CharField(
            required=False,
            allow_blank=True,
            max_length=MAX_MODEL_LENGTH,
            help_text="Of a model: its name, the same for all versions of its prompt",
        ),
    ),
    "prompt_version": FieldSpec(
        functools.partial(
            _find_model_problem, name="prompt_version", max_length=MAX_VERSION_LENGTH
        ),
        serializers.CharField(
            required=False,
            allow_blank=True,
            max_length=MAX_VERSION_LENGTH,
            help_text="Of a model: another version is another rater",
        ),
    ),
    "group": FieldSpec(
        _find_group_problem,
        serializers.CharField(
            required=False,
            allow_blank=True,
            max_length=MAX_GROUP_LENGTH,
            help_text="A team or vendor; pages can show one group alone",
        ),
    ),
    "username": FieldSpec(
        _find_username_problem,
        serializers.CharField(
            required=False,
            allow_null=True,
            help_text="An account of a member, or of a member of another project that the caller"
            " leads: it becomes an annotator of the project",
        ),
    ),
}


@transaction.atomic
def get_or_link_rater(*, project: Project, user: User) -> Rater:
    """Return the user's rater in the project; link or create one if there is none.

    An existing human rater whose key is the username, and who has no account, is linked to the
    user.
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

    For models, also the model's name and the version of its prompt. Raises InvalidProjectChange for
    an invalid value, and for a user who is no member or linked to another rater.
    """
    _validate_rater_fields(name, kind, group)
    _validate_model_field(kind, "model", model, max_length=MAX_MODEL_LENGTH)
    _validate_model_field(kind, "prompt_version", prompt_version, max_length=MAX_VERSION_LENGTH)
    if user_id is not None:
        if not Member.objects.filter(project=rater.project_id, user=user_id).exists():
            raise InvalidProjectChange({"user": _("Link a member of this project.")})
        _reject_linked_user(rater, user_id)
    if rater.kind != kind:
        record_previous_kinds({rater.pk: rater.kind})
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
        message = _("This user is already another rater.")
        raise InvalidProjectChange({"user": message})


def _validate_model_field(kind: str, field: str, text: str, *, max_length: int) -> None:
    """Raise InvalidProjectChange if a person has a model field, or its text is invalid."""
    if text and kind != Rater.Kind.MODEL:
        raise InvalidProjectChange({field: _("Only models can have this.")})
    if len(text) > max_length or has_control_character(text):
        raise InvalidProjectChange({field: describe_line(max_length)})


def record_previous_kinds(kinds: Mapping[int, str]) -> None:
    """Store the kinds that raters have had until now, {rater id: kind}.

    Call it in the transaction that changes them. The time is set while the raters' rows are locked.
    ``lock_raters_and_get_model_ids`` waits for this lock: it cannot miss a change whose time is
    earlier but which is not committed yet.
    """
    if not kinds:
        return
    _lock_raters(kinds)
    now = timezone.now()
    RaterKindVersion.objects.bulk_create(
        RaterKindVersion(rater_id=rater_id, kind=kind, until=now)
        for rater_id, kind in kinds.items()
    )


def lock_raters_and_get_model_ids(
    raters: Collection[int], moment: datetime.datetime
) -> tuple[dict[int, Rater], set[int]]:
    """Return the raters by id, and the ids of those that were models at a moment.

    The moment must not be in the future. The rows are locked while they are read.
    """
    with transaction.atomic():
        raters_by_id = _lock_raters(raters)
        return raters_by_id, RaterKindVersion.get_model_ids_at(raters_by_id.values(), moment)


def _lock_raters(raters: Collection[int]) -> dict[int, Rater]:
    """Return {id: rater}, locked against changes until the transaction ends.

    The lock does not block those who rate.
    """
    rows = Rater.objects.select_for_update(no_key=True, of=("self",)).filter(pk__in=list(raters))
    return {row.pk: row for row in rows.order_by("pk")}
