"""What may be said of a rater."""

from __future__ import annotations

import functools
import json
from typing import Any

from rest_framework import serializers

from core.text import has_control
from projects.models import Rater
from projects.services.row_validation import Field, key_problem

LONGEST_KEY = Rater._meta.get_field("key").max_length or 0
LONGEST_NAME = Rater._meta.get_field("name").max_length or 0
LONGEST_GROUP = Rater._meta.get_field("group").max_length or 0
LONGEST_MODEL = Rater._meta.get_field("model").max_length or 0
LONGEST_VERSION = Rater._meta.get_field("prompt_version").max_length or 0
LONGEST_USERNAME = 150


def _name_problem(name: Any) -> str | None:
    if not isinstance(name, str) or len(name) > LONGEST_NAME or has_control(name):
        return (
            f"'name' must be a text of {LONGEST_NAME} characters at most, "
            "without control characters"
        )
    return None


def _model_problem(value: Any, *, name: str, longest: int) -> str | None:
    if isinstance(value, str) and len(value) <= longest and not has_control(value):
        return None
    return f"'{name}' must be a text of {longest} characters at most, without control characters"


def _kind_problem(kind: Any) -> str | None:
    if not isinstance(kind, str) or kind not in Rater.Kind.values:
        return f"unknown kind {json.dumps(kind)[:40]}; one of {', '.join(Rater.Kind.values)}"
    return None


def is_group(group: Any) -> bool:
    """Whether this can be the group of a rater."""
    if not isinstance(group, str) or len(group) > LONGEST_GROUP:
        return False
    return group == group.strip() and group.isprintable()


def _group_problem(group: Any) -> str | None:
    if is_group(group):
        return None
    return (
        f"'group' must be a text of {LONGEST_GROUP} characters at most, without blanks at its ends"
    )


def _username_problem(username: Any) -> str | None:
    if username is None:
        return None
    if not isinstance(username, str) or not 0 < len(username) <= LONGEST_USERNAME:
        return f"'username' must be a text of 1 to {LONGEST_USERNAME} characters, or null"
    return None


# All that may be said of a rater; the API and every import that brings raters ask this list.
FIELDS = {
    "key": Field(
        functools.partial(key_problem, longest=LONGEST_KEY),
        serializers.CharField(
            max_length=LONGEST_KEY, help_text="Your own name of the rater; unique in the project"
        ),
    ),
    "name": Field(
        _name_problem,
        serializers.CharField(required=False, allow_blank=True, max_length=LONGEST_NAME),
    ),
    "kind": Field(_kind_problem, serializers.ChoiceField(Rater.Kind.choices, required=False)),
    "model": Field(
        functools.partial(_model_problem, name="model", longest=LONGEST_MODEL),
        serializers.CharField(
            required=False,
            allow_blank=True,
            max_length=LONGEST_MODEL,
            help_text="Of a model: its name, the same for all versions of its prompt",
        ),
    ),
    "prompt_version": Field(
        functools.partial(_model_problem, name="prompt_version", longest=LONGEST_VERSION),
        serializers.CharField(
            required=False,
            allow_blank=True,
            max_length=LONGEST_VERSION,
            help_text="Of a model: another version is another rater",
        ),
    ),
    "group": Field(
        _group_problem,
        serializers.CharField(
            required=False,
            allow_blank=True,
            max_length=LONGEST_GROUP,
            help_text="A team or vendor; pages can show one group alone",
        ),
    ),
    "username": Field(
        _username_problem,
        serializers.CharField(
            required=False,
            allow_null=True,
            help_text="An account of a member, or of somebody in another project that the caller"
            " leads: it becomes an annotator of the project",
        ),
    ),
}
