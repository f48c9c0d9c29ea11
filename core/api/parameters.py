"""What a request to the API may ask for: known parameters once, and bodies of bounded length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rest_framework.request import Request

from core.text import has_nul

from .errors import BadRequest

LONGEST_PARAMETER = 500
MOST_ROWS = 10_000


def parameters(request: Request, allowed: Sequence[str] = ()) -> dict[str, str]:
    """The query's parameters; 400 for one that is not known, repeated, or cannot be stored text."""
    found = {}
    wrong = {}
    for name, values in request.query_params.lists():
        if name not in allowed:
            wrong[name[:60]] = f"unknown parameter; {_one_of(allowed)}"
        elif len(values) > 1:
            wrong[name] = "given more than once"
        elif has_nul(values[0]) or len(values[0]) > LONGEST_PARAMETER:
            wrong[name] = f"{LONGEST_PARAMETER} characters at most are allowed, and no NUL"
        else:
            found[name] = values[0]
    if wrong:
        raise BadRequest("The query has invalid parameters.", fields=wrong)
    return found


def _one_of(allowed: Sequence[str]) -> str:
    return f"one of {', '.join(allowed)}" if allowed else "none is allowed here"


def choice(found: dict[str, str], name: str, allowed: Sequence[str], *, default: str) -> str:
    """A parameter that must be one of ``allowed``; 400 lists them."""
    value = found.get(name, default)
    if value not in allowed:
        raise BadRequest(
            f"Unknown {name}.",
            fields={name: f"unknown {name} '{value[:60]}'; one of {', '.join(allowed)}"},
        )
    return value


def rows_of(data: Any) -> list[Any]:
    """The request's body as a list of rows: one object, or a list of 1 to MOST_ROWS objects."""
    rows = data if isinstance(data, list) else [data]
    if not rows:
        raise BadRequest(
            "The list is empty.", fields={"body": f"one object, or a list of 1 to {MOST_ROWS}"}
        )
    if len(rows) > MOST_ROWS:
        raise BadRequest(
            "The list is too long.",
            fields={"body": f"{len(rows)} rows; {MOST_ROWS} at most in one request"},
        )
    return rows


def rows_error(noun: str, wrong: dict[int, list[str]]) -> BadRequest:
    """400 with what is wrong in each row, by its place in the request from 0; nothing was
    stored."""
    count = f"1 {noun} is" if len(wrong) == 1 else f"{len(wrong)} {noun}s are"
    return BadRequest(
        f"{count} not acceptable; nothing was stored.",
        fields={"rows": {str(place): "; ".join(wrong[place]) for place in sorted(wrong)}},
    )
