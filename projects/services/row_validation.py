"""Validate rows of items and raters, many in one request, and look up the existing ones.

Plain functions instead of serializers, because ten thousand rows must take a fraction of a second.
Each field is declared once, as a FieldSpec: its validation and its API description.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rest_framework import serializers

from core.api.errors import RowProblem
from core.api.parameters import build_rows_error
from core.db import bulk
from core.text import classify_key_problem
from projects.models import Project

RowData = dict[str, Any]
Counts = dict[str, int]


@dataclass(frozen=True)
class FieldSpec:
    """Specification of a row's field.

    ``find_problem`` returns the error message of a value, or None. ``serializer_field`` describes
    the field in the API; if it is ``required``, the row must have the field.
    """

    find_problem: Callable[[Any], str | None]
    serializer_field: serializers.Field


def find_key_problem(key: Any, *, max_length: int) -> str | None:
    """Return the error message of the key of an item or a rater, None when it is valid."""
    if not isinstance(key, str):
        return f"'key' must be a text, not {describe_json_type(key)}"
    problem = classify_key_problem(key, max_length=max_length)
    if problem in ("empty", "long"):
        return f"'key' must have 1 to {max_length} characters; it has {len(key)}"
    if problem:
        return "'key' must not begin or end with a blank, nor have line ends or control characters"
    return None


def describe_json_type(value: Any) -> str:
    """Return the JSON type of a value for messages: "a text", "a number"; also "null", "true"."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    names: dict[type, str] = {str: "a text", dict: "an object", list: "a list"}
    return names.get(type(value), "a number")


def validate_rows(
    noun: str, rows: Sequence[Any], fields: Mapping[str, FieldSpec], *, is_partial: bool = False
) -> list[RowData]:
    """Return the rows if each is an object with valid fields only, and no key occurs twice.

    Otherwise raise BadRequest with the errors of each row. ``is_partial``: any field may be left
    out.
    """
    errors: dict[int, list[RowProblem]] = {}
    first_indexes: dict[Any, int] = {}
    for index, row in enumerate(rows):
        if not isinstance(row, dict):
            errors[index] = [build_object_problem(row)]
            continue
        problems = _find_row_problems(row, fields, is_partial=is_partial)
        key = row.get("key")
        if isinstance(key, str) and first_indexes.setdefault(key, index) != index:
            message = f"the key '{key[:60]}' stands in row {first_indexes[key]} already"
            problems.append(RowProblem("duplicate", "key", message))
        if problems:
            errors[index] = problems
    if errors:
        raise build_rows_error(noun, errors)
    return list(rows)


def build_object_problem(row: Any) -> RowProblem:
    """Build the problem of a row that is no JSON object."""
    message = f"an object is needed, not {describe_json_type(row)}"
    return RowProblem("not_an_object", None, message)


def _find_row_problems(
    row: RowData, fields: Mapping[str, FieldSpec], *, is_partial: bool
) -> list[RowProblem]:
    problems = []
    for name, field in fields.items():
        if name in row:
            message = field.find_problem(row[name])
            if message:
                problems.append(RowProblem("invalid", name, message))
        elif field.serializer_field.required and not is_partial:
            problems.append(RowProblem("required", name, f"'{name}' is missing"))
    for name in row:
        if name not in fields:
            message = f"unknown field '{name[:60]}'; one of {', '.join(fields)}"
            problems.append(RowProblem("unknown_field", name[:60], message))
            break
    return problems


def get_existing_rows(
    table: str,
    columns: str,
    project: Project,
    rows: Sequence[RowData],
    *,
    before: Sequence[bulk.Statement] = (),
) -> dict[str, tuple[Any, ...]]:
    """Return {key: values of ``columns``} of the stored items or raters with the keys of ``rows``.

    ``columns``: SQL. ``before``: statements to execute first, in the same round trip.
    """
    existing = {}
    keys = [row["key"] for row in rows]
    statements = [*before, *bulk.build_key_lookup(table, columns, project.pk, keys)]
    for batch in bulk.execute_statements(statements)[len(before) :]:
        for key, *values in batch:
            existing[key] = tuple(values)
    return existing
