"""Fields of a rater, their validation, and the history of raters' kinds."""

from __future__ import annotations

import datetime
import functools
import json
from collections.abc import Collection, Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone
from rest_framework import serializers

from core.text import has_control_character
from projects.models import Rater, RaterKindVersion
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


def record_previous_kinds(kinds: Mapping[int, str]) -> None:
    """Store the previous kinds, {rater id: kind}, in the transaction that changes them.

    The time is set while the raters' rows are locked. ``lock_raters_and_get_model_ids`` waits for
    this lock: it cannot miss a change whose time is earlier but which is not committed yet.
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

    The moment must not be in the future.
    """
    with transaction.atomic():
        raters_by_id = _lock_raters(raters)
        return raters_by_id, RaterKindVersion.get_model_ids_at(raters_by_id.values(), moment)


def _lock_raters(raters: Collection[int]) -> dict[int, Rater]:
    """Return the raters by id, locked against changes until the transaction ends.

    The lock does not block those who rate.
    """
    rows = Rater.objects.select_for_update(no_key=True, of=("self",)).filter(pk__in=list(raters))
    return {row.pk: row for row in rows.order_by("pk")}
