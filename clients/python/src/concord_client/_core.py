"""Build requests and interpret responses: everything but sending, which the clients do."""

from __future__ import annotations

import dataclasses
import datetime
import json
import random
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypedDict, TypeVar
from urllib.parse import quote

import httpx

from ._errors import ApiError, StillComputing, build_api_error
from ._parsing import parse_json, to_json
from ._settings import Settings

T = TypeVar("T")

API_PATH = "/api/v1/"
REPEATABLE_METHODS = ("GET", "PUT", "DELETE")  # and POST, by its Idempotency-Key
RETRIED_STATUSES = (429, 502, 503, 504)
MAX_RETRY_WAIT = 120.0  # seconds; a site that wants a longer one is not asked again
MAX_BACKOFF = 30.0
PAGE_SIZE = 1_000
MAX_BATCH_ROWS = 5_000
MAX_BATCH_CHARACTERS = 4_000_000  # the site accepts 16 MB


class AgreementFilters(TypedDict, total=False):
    """Filters of agreement; ``attributes`` are those of items."""

    from_: datetime.date | str
    to: datetime.date | str
    kind: str
    group: str
    exclude: str
    sample: str
    content_version: str
    attributes: Mapping[str, str]


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, and the type of its response.

    ``path`` is below /api/v1/; ``kind``: type of the response; ``query``, ``body``, ``form`` and
    ``file``: what is sent; ``key``: Idempotency-Key of a POST, the same in repetitions.
    """

    method: str
    path: str
    kind: Any
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    form: Mapping[str, Any] | None = None
    file: tuple[str, bytes] | None = None
    key: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def is_repeatable(self) -> bool:
        return self.method in (*REPEATABLE_METHODS, "POST")


@dataclass(frozen=True)
class Page(Generic[T]):
    """A page of a list; ``next_query`` is the query of the next one, None at the end."""

    results: list[T]
    next_query: dict[str, str] | None


def build_path(*parts: str | int) -> str:
    """Return a path with each part quoted; a key may contain slashes."""
    return "".join(f"{quote(str(part), safe='')}/" for part in parts)


def build_query(**values: Any) -> dict[str, str]:
    """Return the query without None; ``from_`` becomes from, ``attributes`` one for each name."""
    query = {}
    for name, value in values.items():
        if name == "attributes":
            query.update({f"attributes[{key}]": str(text) for key, text in (value or {}).items()})
        elif isinstance(value, bool):
            query[name] = str(value).lower()
        elif value is not None:
            is_time = isinstance(value, datetime.date)
            query[name.removesuffix("_")] = value.isoformat() if is_time else str(value)
    return query


def build_httpx_options(settings: Settings, *, timeout: float, transport: Any) -> dict[str, Any]:
    """Return the keyword arguments of httpx's client: address, token and timeout in seconds."""
    return {
        "base_url": settings.url + API_PATH,
        "headers": {"Authorization": f"Bearer {settings.token}", "Accept": "application/json"},
        "timeout": timeout,
        "transport": transport,
        "follow_redirects": False,  # another host would get the token
    }


def build_request(call: Call[Any]) -> dict[str, Any]:
    """Return the arguments of httpx's ``request`` and ``stream``."""
    arguments: dict[str, Any] = {"method": call.method, "url": call.path, "params": call.query}
    if call.method == "POST":
        arguments["headers"] = {"Idempotency-Key": call.key}
    if call.file is not None:
        arguments |= {"data": call.form, "files": {"file": call.file}}
    elif call.body is not None:
        arguments["json"] = to_json(call.body)
    return arguments


def get_retry_wait(
    call: Call[Any], attempt: int, retries: int, response: httpx.Response | None
) -> float | None:
    """Return the seconds to wait before the next attempt; None: do not try again.

    ``attempt`` counts from 0; ``response`` is None where the connection failed.
    """
    if attempt >= retries or not call.is_repeatable:
        return None
    if response is not None and response.status_code not in RETRIED_STATUSES:
        return None
    backoff = min(MAX_BACKOFF, 0.5 * 2**attempt) * random.uniform(0.5, 1.0)  # noqa: S311
    wait = max(backoff, get_retry_after(response) if response is not None else 0.0)
    return wait if wait <= MAX_RETRY_WAIT else None


def get_retry_after(response: httpx.Response) -> float:
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdigit() else 0.0


def is_pending(call: Call[Any], response: httpx.Response) -> bool:
    """Return whether the response says that the site is still computing the result."""
    return call.method == "GET" and response.status_code == 202


def get_pending_wait(response: httpx.Response, seconds_left: float) -> float:
    """Return the seconds until the result may be ready; raise StillComputing when time is over."""
    if seconds_left <= 0:
        raise StillComputing("The site is still computing this result. Try again later.")
    return min(max(get_retry_after(response), 0.2), seconds_left)


def parse_response(call: Call[T], response: httpx.Response) -> T:
    """Return the content of a response as ``call.kind``. Raises ApiError."""
    if not response.is_success:
        raise build_api_error(response)
    try:
        content = response.json()
    except ValueError:
        text = "This is no response of Concord's API. Is the address right?"
        raise ApiError(response.status_code, "Unexpected response", text) from None
    if isinstance(call.kind, PageOf):
        results = parse_json(list[call.kind.kind], content["results"])  # type: ignore[name-defined]
        # Only the query of `next` is used: the token is never sent to another address.
        next_query = dict(httpx.URL(content["next"]).params) if content["next"] else None
        return Page(results, next_query)  # type: ignore[return-value]
    return parse_json(call.kind, content)


@dataclass(frozen=True, slots=True)
class PageOf:
    """The type of a response that is a page of ``kind``."""

    kind: Any


def iter_batches(rows: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield the rows in lists that are small enough for one request."""
    batch: list[Any] = []
    n_characters = 0
    for row in rows:
        json_row = to_json(dict(row) if isinstance(row, Mapping) else row)
        size = len(json.dumps(json_row))
        if batch and (len(batch) >= MAX_BATCH_ROWS or n_characters + size > MAX_BATCH_CHARACTERS):
            yield batch
            batch, n_characters = [], 0
        batch.append(json_row)
        n_characters += size
    if batch:
        yield batch


def add_counts(total: T | None, counts: T) -> T:
    """Return the field-wise sum of two dataclasses of numbers; ``counts`` if ``total`` is None."""
    if total is None:
        return counts
    sums = {
        item.name: getattr(total, item.name) + getattr(counts, item.name)
        for item in dataclasses.fields(counts)  # type: ignore[arg-type]
    }
    return dataclasses.replace(counts, **sums)  # type: ignore[type-var]


def build_data_frame(rows: list[Any]) -> Any:
    """Return a pandas DataFrame with a column for each field; nested names have dots.

    Raises ImportError if pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise ImportError("Install pandas: pip install 'concord-client[pandas]'") from None
    return pandas.json_normalize([to_json(row) for row in rows])
