"""Cursor pagination of API lists, in which changes neither skip nor repeat other rows."""

from __future__ import annotations

import base64
import datetime
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpResponse
from rest_framework.request import Request

from core.text import has_nul

from .errors import BadRequest

PAGE_SIZE = 200
MAX_PAGE_SIZE = 1_000
PAGE_PARAMETER_NAMES = ("cursor", "page_size")
CursorKey = Sequence[int]


class JsonPage(TypedDict):
    """A page of a list: the URL of the next page (None at the end) and the results."""

    next: str | None
    results: list[Any]


def paginate(
    request: Request,
    query: dict[str, str],
    *,
    key_length: int,
    read: Callable[[CursorKey | None, int], list[tuple[CursorKey, Any]]],
    default_size: int = PAGE_SIZE,
) -> JsonPage:
    """Return one page of a list as {"next", "results"}.

    ``read(after, size)`` returns up to ``size`` pairs (key, result) in ascending order of their
    keys, with keys greater than ``after`` (None for the first page). A key has ``key_length``
    integers. The list may change between two pages: rows that stay are neither skipped nor
    repeated. Raises BadRequest for an invalid cursor or page size.
    """
    after = _decode_cursor(query["cursor"], key_length) if "cursor" in query else None
    size = parse_page_size(query, default_size)
    rows = read(after, size + 1)
    next_url = None
    if len(rows) > size:
        rows = rows[:size]
        next_url = build_next_url(request, rows[-1][0])
    return JsonPage(next=next_url, results=[result for _, result in rows])


def paginate_search(
    request: Request,
    query: dict[str, str],
    *,
    key_length: int,
    read: Callable[[CursorKey | None, int], tuple[list[Any], CursorKey | None]],
) -> JsonPage:
    """Return one page of search results, found by scanning a bounded part of the rows.

    ``read(after, size)`` returns up to ``size`` results greater than ``after`` (None for the first
    page), and the key after which to continue (None at the end). Raises BadRequest for an invalid
    cursor or page size.
    """
    after = _decode_cursor(query["cursor"], key_length) if "cursor" in query else None
    results, last_key = read(after, parse_page_size(query))
    return {
        "next": None if last_key is None else build_next_url(request, last_key),
        "results": results,
    }


@dataclass(frozen=True)
class RowOrder:
    """Order of a list by columns without nulls, the last of which is a unique integer.

    A row whose value changes between two pages may come twice or not at all.
    """

    columns: tuple[str, ...]
    is_descending: bool = False

    @classmethod
    def parse(
        cls, query: Mapping[str, str], orderings: Mapping[str, str], *, key: str = "pk"
    ) -> RowOrder:
        """Return the order requested by the parameter ``ordering``; by ``key`` without it.

        ``orderings`` maps each allowed name to a column; "-" before a column reverses its order.
        Rows with the same value are ordered by ``key``. Raises BadRequest for other names.
        """
        name = parse_ordering(query, list_ordering_values(orderings))
        if not name:
            return cls((key,))
        column = orderings[name.removeprefix("-")]
        is_descending = name.startswith("-") != column.startswith("-")
        return cls((column.removeprefix("-"), key), is_descending)

    def sort(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        sign = "-" if self.is_descending else ""
        return rows.order_by(*(sign + column for column in self.columns))

    def get_key(self, row: Any) -> list[Any]:
        """Return the row's values of the columns, which the cursor contains."""
        return [getattr(row, column) for column in self.columns]

    def filter_after(self, rows: QuerySet[Any], cursor: str | None) -> QuerySet[Any]:
        """Return the rows that follow the one that a cursor names; all rows if it is None.

        Raises BadRequest for an invalid cursor.
        """
        if cursor is None:
            return rows
        *values, key = _parse_cursor(cursor) or [None]
        if type(key) is not int or abs(key) >= 2**62 or len(values) != len(self.columns) - 1:
            raise build_cursor_error()
        fields = map(rows.model._meta.get_field, self.columns[:-1])
        parsed = [
            _parse_cursor_value(field, value) for field, value in zip(fields, values, strict=True)
        ]
        return rows.filter(self.build_following_filter([*parsed, key]))

    def build_following_filter(self, values: Sequence[Any]) -> Q:
        """Return the filter for the rows that follow a row with these values of the columns."""
        operator = "lt" if self.is_descending else "gt"
        following_rows = Q(pk__in=())
        for column, value in zip(reversed(self.columns), reversed(values), strict=True):
            following_rows = Q((f"{column}__{operator}", value)) | (
                Q((column, value)) & following_rows
            )
        return following_rows


def paginate_rows(
    request: Request,
    query: dict[str, str],
    rows: QuerySet[Any],
    serializer_class: Any = None,
    *,
    serialize: Callable[[list[Any]], Iterable[Any]] | None = None,
    key: str = "pk",
    orderings: Mapping[str, str] | None = None,
) -> JsonPage:
    """Return one page of a queryset, ordered as the request asks or else by ``key``.

    The rows are serialized by the class, or all together by the function ``serialize``. ``key`` and
    ``orderings``: see RowOrder.parse. Raises BadRequest for an invalid cursor, page size or order.
    """
    order = RowOrder.parse(query, orderings or {}, key=key)
    size = parse_page_size(query)
    page = list(order.sort(order.filter_after(rows, query.get("cursor")))[: size + 1])
    next_url = None
    if len(page) > size:
        page = page[:size]
        next_url = build_next_url(request, order.get_key(page[-1]))
    results = serialize(page) if serialize else serializer_class(page, many=True).data
    return JsonPage(next=next_url, results=list(results))


def list_ordering_values(orderings: Mapping[str, str]) -> list[str]:
    """Return the allowed values of the parameter ``ordering``: names with and without "-"."""
    return [sign + name for name in orderings for sign in ("", "-")]


def parse_ordering(query: Mapping[str, str], allowed: Sequence[str]) -> str:
    """Return the parameter ``ordering``, "" without one.

    Raises BadRequest, which lists the allowed values, for another one.
    """
    text = query.get("ordering", "")
    if text and text not in allowed:
        message = f"unknown order '{text[:60]}'; one of {', '.join(allowed)}"
        raise BadRequest("Unknown ordering.", fields={"ordering": message})
    return text


def _parse_cursor_value(field: Any, value: Any) -> Any:
    """Convert a value of a cursor to the type of the model field.

    Raises BadRequest for a value that the column cannot have.
    """
    try:
        if isinstance(value, str):
            value.encode()  # fails for half of a surrogate pair
        parsed = field.to_python(value)
    except (ValidationError, TypeError, ValueError):
        parsed = None
    is_invalid_text = isinstance(parsed, str) and has_nul(parsed)
    is_invalid_number = isinstance(parsed, float) and not math.isfinite(parsed)
    if parsed is None or is_invalid_text or is_invalid_number:
        raise build_cursor_error()
    return parsed


def render_json_page(page_data: JsonPage) -> HttpResponse:
    """Return the HTTP response of a page (see ``paginate``) whose results are JSON texts already.

    Stored JSON is thus not parsed only to be serialized again.
    """
    texts = ",".join(page_data["results"])
    return HttpResponse(
        f'{{"next":{json.dumps(page_data["next"])},"results":[{texts}]}}',
        content_type="application/json",
    )


def build_next_url(request: Request, last_key: Sequence[Any]) -> str:
    """Return the URL of the page that begins after the row with this key."""
    query = request.query_params.copy()
    query["cursor"] = _encode_cursor(last_key)
    return f"{request.build_absolute_uri(request.path)}?{query.urlencode()}"


def parse_page_size(query: Mapping[str, str], default: int = PAGE_SIZE) -> int:
    text = query.get("page_size")
    if text is None:
        return default
    if text.isascii() and text.isdigit() and len(text) <= 9 and 1 <= int(text) <= MAX_PAGE_SIZE:
        return int(text)
    raise BadRequest(
        "Invalid page size.", fields={"page_size": f"a whole number from 1 to {MAX_PAGE_SIZE}"}
    )


def _encode_cursor(key: Sequence[Any]) -> str:
    parts = [part.isoformat() if isinstance(part, datetime.datetime) else part for part in key]
    return (
        base64.urlsafe_b64encode(json.dumps(parts, separators=(",", ":")).encode())
        .decode()
        .rstrip("=")
    )


def _decode_cursor(text: str, length: int) -> CursorKey:
    key = _parse_cursor(text)
    valid = len(key) == length and all(type(part) is int for part in key)
    if not valid or any(abs(part) >= 2**62 for part in key):
        raise build_cursor_error()
    return key


def _parse_cursor(text: str) -> list[Any]:
    """Return the key that a cursor encodes; raise BadRequest for an invalid cursor."""
    try:
        key = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, RecursionError):
        key = None
    if not isinstance(key, list):
        raise build_cursor_error()
    return key


def build_cursor_error() -> BadRequest:
    return BadRequest(
        "Invalid cursor.", fields={"cursor": "take it from 'next' of the page before"}
    )
