"""Items by their keys: many in one request, and the same request twice changes nothing."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any

from django.db import connection, transaction
from django.utils import timezone
from rest_framework import serializers

from groundwork.database import bulk
from projects.models import Item, Project

from .rows import Counts, Field, checked, key_problem, kind_of, standing

LONGEST_KEY = Item._meta.get_field("key").max_length or 0
LARGEST_BODY = 1_000_000  # characters of JSON of one item's body or attributes
DEEPEST = 50  # levels of objects and lists


def put_items(*, project: Project, rows: Sequence[Any]) -> Counts:
    """Create or change items by key; ``attributes`` left out stay. All or nothing; 400 names each
    bad row."""
    items = checked("item", rows, FIELDS)
    with transaction.atomic():
        stored = standing("projects_item", "body, attributes", project, items)
        counts = {"created": 0, "changed": 0, "unchanged": 0}
        now = connection.ops.adapt_datetimefield_value(timezone.now())
        writes = []
        for row in items:
            old = stored.get(row["key"])
            body, attributes = map(json.loads, old) if old else (None, {})
            new = (row["body"], row.get("attributes", attributes))
            if old is None:
                state = "created"
            elif same(new, (body, attributes)):
                state = "unchanged"
            else:
                state = "changed"
            counts[state] += 1
            if state != "unchanged":
                texts = [json.dumps(part) if part else "{}" for part in new]
                writes.append((project.pk, row["key"], *texts, now))
        bulk.upsert(
            "projects_item",
            ("project_id", "key", "body", "attributes", "created_at"),
            sorted(writes),
            key=("project_id", "key"),
            update={"body": "excluded.body", "attributes": "excluded.attributes"},
        )
        if writes:
            Project.objects.filter(pk=project.pk).catalogue_changed()
    return counts


def _body_problem(body: Any) -> str | None:
    problem = _object_problem("body", body)
    if isinstance(body, dict) and not isinstance(body.get("text", ""), str):
        said = f"'text' of 'body' must be a text, not {kind_of(body['text'])}"
        return f"{problem}; {said}" if problem else said
    return problem


def _object_problem(name: str, value: Any) -> str | None:
    if not isinstance(value, dict):
        return f"'{name}' must be an object, not {kind_of(value)}"
    if any(isinstance(part, dict | list) for part in value.values()) and not _shallow(
        value, DEEPEST
    ):
        return f"'{name}' is nested deeper than {DEEPEST} levels"
    size = sum(len(part) if isinstance(part, str) else 0 for part in value.values())
    if size > LARGEST_BODY or (size > LARGEST_BODY // 10 and len(json.dumps(value)) > LARGEST_BODY):
        return f"'{name}' is larger than {LARGEST_BODY} characters"
    return None


def _shallow(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    parts = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_shallow(part, levels - 1) for part in parts)


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same; Python takes true for 1, JSON does not."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            same(value, other[name]) for name, value in one.items()
        )
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other and isinstance(one, bool) == isinstance(other, bool)


# All that may be said of an item; the API and every import that brings items ask this list.
FIELDS = {
    "key": Field(
        functools.partial(key_problem, longest=LONGEST_KEY),
        serializers.CharField(
            max_length=LONGEST_KEY, help_text="Your own name of the item; unique in the project"
        ),
    ),
    "body": Field(
        _body_problem,
        serializers.DictField(help_text='What the rater judges, like {"text": "..."}'),
    ),
    "attributes": Field(
        functools.partial(_object_problem, "attributes"),
        serializers.DictField(
            required=False, help_text="Anything else; kept as it is when left out"
        ),
    ),
}
