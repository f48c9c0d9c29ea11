"""Parse query parameters and bodies of API requests, within limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rest_framework.request import Request

from core.api.errors import INVALID_PARAMETERS
from core.text import has_nul

from .errors import BadRequest, RowProblem

MAX_PARAMETER_LENGTH = 500
MAX_ROWS = 10_000


def parse_query_parameters(request: Request, allowed: Sequence[str] = ()) -> dict[str, str]:
    """Return the query parameters by name.

    Raises BadRequest for one that is unknown, repeated, longer than MAX_PARAMETER_LENGTH, or
    contains NUL.
    """
    query = {}
    errors = {}
    for name, values in request.query_params.lists():
        if name not in allowed:
            errors[name[:60]] = f"unknown parameter; {_describe_allowed(allowed)}"
        elif len(values) > 1:
            errors[name] = "given more than once"
        elif has_nul(values[0]) or len(values[0]) > MAX_PARAMETER_LENGTH:
            errors[name] = f"{MAX_PARAMETER_LENGTH} characters at most are allowed, and no NUL"
        else:
            query[name] = values[0]
    if errors:
        raise BadRequest(INVALID_PARAMETERS, fields=errors)
    return query


def get_attribute_parameters(request: Request, other_prefix: str) -> dict[str, str]:
    """Return {attribute name: parameter name} of the parameters that filter by item attributes.

    They are called ``attributes[NAME]``, or ``other_prefix`` and NAME as on pages.
    """
    names = {}
    for parameter in request.query_params:
        if parameter.startswith("attributes[") and parameter.endswith("]"):
            names[parameter.removeprefix("attributes[")[:-1]] = parameter
        elif parameter.startswith(other_prefix):
            names[parameter.removeprefix(other_prefix)] = parameter
    return names


def _describe_allowed(allowed: Sequence[str]) -> str:
    return f"one of {', '.join(allowed)}" if allowed else "none is allowed here"


def get_choice(query: dict[str, str], name: str, allowed: Sequence[str], *, default: str) -> str:
    """Return a query parameter that must be one of ``allowed``; ``default`` without it.

    Raises BadRequest, which lists the allowed values, for another value.
    """
    value = query.get(name, default)
    if value not in allowed:
        raise BadRequest(
            f"Unknown {name}.",
            fields={name: f"unknown {name} '{value[:60]}'; one of {', '.join(allowed)}"},
        )
    return value


def parse_rows(data: Any) -> list[Any]:
    """Return the request's body as a list of 1 to MAX_ROWS rows; a single object becomes one row.

    Raises BadRequest for an empty list and for more rows.
    """
    rows = data if isinstance(data, list) else [data]
    if not rows:
        raise BadRequest(
            "The list is empty.", fields={"body": f"one object, or a list of 1 to {MAX_ROWS}"}
        )
    if len(rows) > MAX_ROWS:
        raise BadRequest(
            "The list is too long.",
            fields={"body": f"{len(rows)} rows; {MAX_ROWS} at most in one request"},
        )
    return rows


def build_rows_error(noun: str, errors: Mapping[int, Sequence[RowProblem]]) -> BadRequest:
    """Build the BadRequest that lists the problems of each row.

    ``noun``: what a row is, such as "item". ``errors``: {index of the row, from 0: its problems}.
    """
    count = f"1 {noun} is" if len(errors) == 1 else f"{len(errors)} {noun}s are"
    rows = {index: errors[index] for index in sorted(errors)}
    messages = {
        str(index): "; ".join(problem.message for problem in problems)
        for index, problems in rows.items()
    }
    return BadRequest(
        f"{count} not acceptable; nothing was stored.", fields={"rows": messages}, rows=rows
    )
