"""Items by their keys: many in one request, and the same request twice changes nothing."""

from __future__ import annotations

import datetime
import functools
import json
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone
from rest_framework import serializers

from core.db import bulk
from projects import locks
from projects.models import Item, ItemVersion, Project, has_content
from projects.services.row_validation import (
    Counts,
    Field,
    Row,
    checked,
    key_problem,
    kind_of,
    standing,
)

from . import gold_rows

LONGEST_KEY = Item._meta.get_field("key").max_length or 0
LARGEST_BODY = 1_000_000  # characters of JSON of one item's body or attributes
DEEPEST = 50  # levels of objects and lists
STATES = ("created", "changed", "unchanged")


def put_items(*, project: Project, rows: Sequence[Any], by: Any = None) -> Counts:
    """Create or change items by key; what is left out stays. All or nothing; 400 names each bad
    row.

    New items are stored in the order of the rows: so lists show them, and the desk hands them out.
    A body that shows something and becomes another one is kept as a version (_keep_versions).
    """
    items = checked("item", rows, FIELDS)
    with transaction.atomic():
        answers = gold_rows.read(project, items)
        stored = _standing(project, items)
        now = timezone.now()
        moment = connection.ops.adapt_datetimefield_value(now)
        states, changed, created, renewed = {}, [], [], []
        for row in items:
            old = stored.get(row["key"])
            new = _next(row, old, moment)
            if old is not None and same(new, old):
                states[row["key"]] = "unchanged"
                continue
            states[row["key"]] = "created" if old is None else "changed"
            written = (project.pk, row["key"], *new.written(), moment, moment)
            if old is None:
                created.append(written)
                continue
            changed.append((old.id, written))
            if old.has_content and not same(old.body, new.body):
                renewed.append(old.id)
        keep_versions(renewed, now=now, by=by)
        # Those that stand, by their ids: in that order who rates locks them.
        changed.sort(key=itemgetter(0))
        _write([*(written for _id, written in changed), *created])
        gold_rows.write(project, answers, states, by=by)
        if changed or created:
            Project.objects.filter(pk=project.pk).catalogue_changed()
    return {state: list(states.values()).count(state) for state in STATES}


class _Said(NamedTuple):
    """What is kept of an item. ``withdrawn_at`` is the database's own value."""

    id: int
    body: Any
    attributes: Any
    has_content: bool
    withdrawn_at: Any

    def written(self) -> tuple[Any, ...]:
        texts = [json.dumps(part) if part else "{}" for part in (self.body, self.attributes)]
        return (*texts, self.has_content, self.withdrawn_at)


def _standing(project: Project, items: Sequence[Row]) -> dict[str, _Said]:
    """key -> the items that exist already; nobody makes others from here on."""
    columns = "id, body, attributes, has_content, withdrawn_at"
    found = {}
    for key, (pk, body, attributes, *rest) in standing(
        "projects_item", columns, project, items, after=locks.write_items(project.pk)
    ).items():
        found[key] = _Said(pk, json.loads(body), json.loads(attributes), *rest)
    return found


def _next(row: Row, old: _Said | None, now: Any) -> _Said:
    if old is None:
        old = _Said(0, None, {}, False, None)
    withdrawn_at = old.withdrawn_at
    if "withdrawn" in row and row["withdrawn"] != (withdrawn_at is not None):
        withdrawn_at = now if row["withdrawn"] else None
    body = row["body"]
    attributes = row.get("attributes", old.attributes)
    return _Said(old.id, body, attributes, has_content(body), withdrawn_at)


def _write(writes: Sequence[tuple[Any, ...]]) -> None:
    columns = ("body", "attributes", "has_content", "withdrawn_at", "changed_at")
    bulk.upsert(
        "projects_item",
        ("project_id", "key", *columns, "created_at"),
        writes,
        key=("project_id", "key"),
        update={column: f"excluded.{column}" for column in columns},
        as_given=True,
    )


def keep_versions(item_ids: Sequence[int], *, now: datetime.datetime, by: Any) -> None:
    """What these items show becomes a version that was: they are about to show something else, in
    this transaction."""
    items = Item.objects.filter(pk__in=item_ids)
    if not item_ids:
        return
    # What is read with the lock in hand: somebody else may have changed it meanwhile.
    standing = items.select_for_update(no_key=True).order_by("pk")
    ItemVersion.objects.bulk_create(
        [
            ItemVersion(item_id=pk, number=number, body=body, until=now, by=by)
            for pk, number, body in standing.values_list("pk", "version", "body")
        ],
        batch_size=500,
    )
    items.update(version=F("version") + 1, version_since=now)


def _body_problem(body: Any) -> str | None:
    problem = _object_problem("body", body)
    if isinstance(body, dict) and not isinstance(body.get("text", ""), str):
        said = f"'text' of 'body' must be a text, not {kind_of(body['text'])}"
        return f"{problem}; {said}" if problem else said
    return problem


def _gold_problem(gold: Any) -> str | None:
    if isinstance(gold, dict) and all(
        isinstance(said, str | list | dict | None) for said in gold.values()
    ):
        return None
    return (
        '\'gold\' must be an object of answers by question, like {"severity": "major"}, '
        '{"severity": ["major", "critical"]}, {"severity": {"major": 0.7, "minor": 0.3}}, '
        "or null for none"
    )


def _withdrawn_problem(withdrawn: Any) -> str | None:
    if isinstance(withdrawn, bool):
        return None
    return f"'withdrawn' must be true or false, not {kind_of(withdrawn)}"


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
    "gold": Field(
        _gold_problem,
        serializers.DictField(
            required=False,
            help_text="The right answer by question: a label, a list of those that are right, or "
            "shares of labels that add up to 1; null takes it away. Kept as it is when left out",
        ),
    ),
    "withdrawn": Field(
        _withdrawn_problem,
        serializers.BooleanField(
            required=False,
            help_text="Not asked for any more; its ratings stay. Kept as it is when left out",
        ),
    ),
}
