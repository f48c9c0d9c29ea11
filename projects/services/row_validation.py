"""What items and raters have in common: rows with a key, many in one request.

Plain checks instead of serializers: ten thousand rows must take a fraction of a second. Each field
is declared once, as a Field: its check and how the API describes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rest_framework import serializers

from core.api.parameters import rows_error
from core.db import bulk
from core.text import key_trouble
from projects.models import Project

Row = dict[str, Any]
Counts = dict[str, int]


@dataclass(frozen=True)
class Field:
    """A field that a row may have; one that is ``required`` in ``shape`` must be there.

    ``problem`` says what is wrong with a value, or None. ``shape`` is for the API's description.
    """

    problem: Callable[[Any], str | None]
    shape: serializers.Field


def key_problem(key: Any, *, longest: int) -> str | None:
    """What is wrong with the key of an item or a rater, for a message; None when it is one."""
    if not isinstance(key, str):
        return f"'key' must be a text, not {kind_of(key)}"
    trouble = key_trouble(key, longest=longest)
    if trouble in ("empty", "long"):
        return f"'key' must have 1 to {longest} characters; it has {len(key)}"
    if trouble:
        return "'key' must not begin or end with a blank, nor have line ends or control characters"
    return None


def kind_of(value: Any) -> str:
    """What a JSON value is, for messages."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    names: dict[type, str] = {str: "a text", dict: "an object", list: "a list"}
    return names.get(type(value), "a number")


def checked(noun: str, rows: Sequence[Any], fields: Mapping[str, Field]) -> list[Row]:
    """The rows, when each is an object with good fields alone and no key comes twice.

    Otherwise 400 with what is wrong in each row.
    """
    wrong: dict[int, list[str]] = {}
    first: dict[Any, int] = {}
    for place, row in enumerate(rows):
        if not isinstance(row, dict):
            wrong[place] = [f"an object is needed, not {kind_of(row)}"]
            continue
        found = _problems(row, fields)
        key = row.get("key")
        if isinstance(key, str) and first.setdefault(key, place) != place:
            found.append(f"the key '{key[:60]}' stands in row {first[key]} already")
        if found:
            wrong[place] = found
    if wrong:
        raise rows_error(noun, wrong)
    return list(rows)


def _problems(row: Row, fields: Mapping[str, Field]) -> list[str]:
    found = []
    for name, field in fields.items():
        if name in row:
            problem = field.problem(row[name])
            if problem:
                found.append(problem)
        elif field.shape.required:
            found.append(f"'{name}' is missing")
    for name in row:
        if name not in fields:
            found.append(f"unknown field '{name[:60]}'; one of {', '.join(fields)}")
            break
    return found


def standing(
    table: str,
    columns: str,
    project: Project,
    rows: Sequence[Row],
    *,
    after: Sequence[bulk.Statement] = (),
) -> dict[str, tuple[Any, ...]]:
    """key -> the columns of the rows that exist already, ``after`` statements that go along."""
    found = {}
    keys = [row["key"] for row in rows]
    asked = [*after, *bulk.find(table, columns, project.pk, keys)]
    for part in bulk.several(asked)[len(after) :]:
        for key, *rest in part:
            found[key] = tuple(rest)
    return found
