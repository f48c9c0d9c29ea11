"""Lists by cursor: nothing that stays is left out or comes twice, whatever changes meanwhile."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from .errors import BadRequest

PAGE_SIZE = 200
LARGEST_PAGE = 1_000
PAGING = ("cursor", "page_size")
Key = Sequence[int]


def page(
    request: Request,
    found: dict[str, str],
    *,
    key: int,
    read: Callable[[Key | None, int], list[tuple[Key, Any]]],
    default_size: int = PAGE_SIZE,
) -> dict[str, Any]:
    """One page of a list.

    ``read(after, size)`` gives up to ``size`` pairs (key, result) in ascending order of their keys,
    those with a key above ``after``. A key is ``key`` integers. A list may change between two
    pages: nothing that stays is left out or comes twice.
    """
    after = _decoded(found["cursor"], key) if "cursor" in found else None
    size = _size(found.get("page_size"), default_size)
    rows = read(after, size + 1)
    following = None
    if len(rows) > size:
        rows = rows[:size]
        following = _following(request, rows[-1][0])
    return {"next": following, "results": [result for _, result in rows]}


def searched(
    request: Request,
    found: dict[str, str],
    *,
    key: int,
    read: Callable[[Key | None, int], tuple[list[Any], Key | None]],
) -> dict[str, Any]:
    """One page of a list that is searched a part at a time: ``read(after, size)`` gives up to
    ``size`` results above ``after``, and the key behind which to go on, None at the end."""
    after = _decoded(found["cursor"], key) if "cursor" in found else None
    results, last = read(after, _size(found.get("page_size"), PAGE_SIZE))
    return {"next": None if last is None else _following(request, last), "results": results}


def of_texts(found: dict[str, Any]) -> HttpResponse:
    """The answer of a `page` whose results are JSON already: what is stored as JSON is not read to
    be written again."""
    texts = ",".join(found["results"])
    return HttpResponse(
        f'{{"next":{json.dumps(found["next"])},"results":[{texts}]}}',
        content_type="application/json",
    )


def _following(request: Request, last: Key) -> str:
    """The address of the page behind this key."""
    query = request.query_params.copy()
    query["cursor"] = _encoded(last)
    return f"{request.build_absolute_uri(request.path)}?{query.urlencode()}"


def _size(text: str | None, default: int) -> int:
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or not text.strip("0"):
        raise BadRequest(
            "Invalid page size.", fields={"page_size": f"a whole number from 1 to {LARGEST_PAGE}"}
        )
    return LARGEST_PAGE if len(text) > 9 else min(int(text), LARGEST_PAGE)


def _encoded(key: Key) -> str:
    return (
        base64.urlsafe_b64encode(json.dumps(list(key), separators=(",", ":")).encode())
        .decode()
        .rstrip("=")
    )


def _decoded(text: str, length: int) -> Key:
    try:
        key = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, RecursionError):
        key = None
    valid = isinstance(key, list) and len(key) == length and all(type(part) is int for part in key)
    if not valid or any(abs(part) >= 2**62 for part in key):
        raise invalid_cursor()
    return key


def invalid_cursor() -> BadRequest:
    return BadRequest(
        "Invalid cursor.", fields={"cursor": "take it from 'next' of the page before"}
    )
