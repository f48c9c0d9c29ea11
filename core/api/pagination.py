"""Cursor pagination of API lists, in which changes neither skip nor repeat other rows."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from rest_framework.request import Request

from .errors import BadRequest

PAGE_SIZE = 200
MAX_PAGE_SIZE = 1_000
PAGE_PARAMETER_NAMES = ("cursor", "page_size")
CursorKey = Sequence[int]


def paginate(
    request: Request,
    query: dict[str, str],
    *,
    key_length: int,
    read: Callable[[CursorKey | None, int], list[tuple[CursorKey, Any]]],
    default_size: int = PAGE_SIZE,
) -> dict[str, Any]:
    """Return one page of a list as {"next", "results"}.

    ``read(after, size)`` returns up to ``size`` pairs (key, result) in ascending order of their
    keys, with keys greater than ``after``. A key has ``key_length`` integers. The list may
    change between two pages: rows that stay are neither skipped nor repeated.
    """
    after = _decode_cursor(query["cursor"], key_length) if "cursor" in query else None
    size = _parse_page_size(query.get("page_size"), default_size)
    rows = read(after, size + 1)
    next_url = None
    if len(rows) > size:
        rows = rows[:size]
        next_url = _build_next_url(request, rows[-1][0])
    return {"next": next_url, "results": [result for _, result in rows]}


def paginate_rows(
    request: Request,
    query: dict[str, str],
    rows: QuerySet[Any],
    serializer_class: Callable[..., Any],
) -> dict[str, Any]:
    """Return one page of a list of rows, oldest first."""

    def read(after: CursorKey | None, size: int) -> list[tuple[CursorKey, Any]]:
        next_rows = rows.filter(pk__gt=after[0]) if after else rows
        page = list(next_rows.order_by("pk")[:size])
        keys = [(row.pk,) for row in page]
        return list(zip(keys, serializer_class(page, many=True).data, strict=True))

    return paginate(request, query, key_length=1, read=read)


def paginate_search(
    request: Request,
    query: dict[str, str],
    *,
    key_length: int,
    read: Callable[[CursorKey | None, int], tuple[list[Any], CursorKey | None]],
) -> dict[str, Any]:
    """Return one page of search results, found by scanning a bounded part of the rows.

    ``read(after, size)`` returns up to ``size`` results greater than ``after``, and the key
    after which to continue (None at the end).
    """
    after = _decode_cursor(query["cursor"], key_length) if "cursor" in query else None
    results, last_key = read(after, _parse_page_size(query.get("page_size"), PAGE_SIZE))
    return {
        "next": None if last_key is None else _build_next_url(request, last_key),
        "results": results,
    }


def render_json_page(page_data: dict[str, Any]) -> HttpResponse:
    """Return the response for a page (see ``paginate``) whose results are JSON texts already.

    Stored JSON is not parsed only to be serialized again.
    """
    texts = ",".join(page_data["results"])
    return HttpResponse(
        f'{{"next":{json.dumps(page_data["next"])},"results":[{texts}]}}',
        content_type="application/json",
    )


def _build_next_url(request: Request, last_key: CursorKey) -> str:
    """Return the address of the page after this key."""
    query = request.query_params.copy()
    query["cursor"] = _encode_cursor(last_key)
    return f"{request.build_absolute_uri(request.path)}?{query.urlencode()}"


def _parse_page_size(text: str | None, default: int) -> int:
    if text is None:
        return default
    if text.isascii() and text.isdigit() and len(text) <= 9 and 1 <= int(text) <= MAX_PAGE_SIZE:
        return int(text)
    raise BadRequest(
        "Invalid page size.", fields={"page_size": f"a whole number from 1 to {MAX_PAGE_SIZE}"}
    )


def _encode_cursor(key: CursorKey) -> str:
    return (
        base64.urlsafe_b64encode(json.dumps(list(key), separators=(",", ":")).encode())
        .decode()
        .rstrip("=")
    )


def _decode_cursor(text: str, length: int) -> CursorKey:
    try:
        key = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, RecursionError):
        key = None
    valid = isinstance(key, list) and len(key) == length and all(type(part) is int for part in key)
    if not valid or any(abs(part) >= 2**62 for part in key):
        raise build_cursor_error()
    return key


def build_cursor_error() -> BadRequest:
    return BadRequest(
        "Invalid cursor.", fields={"cursor": "take it from 'next' of the page before"}
    )
