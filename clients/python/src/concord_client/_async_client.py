"""The asynchronous client, of which tools/generate.py makes the synchronous one (_client.py)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, Unpack

import httpx

from . import models
from ._core import (
    PAGE_SIZE,
    AgreementFilters,
    Call,
    Page,
    PageOf,
    add_counts,
    build_data_frame,
    build_httpx_options,
    build_path,
    build_query,
    build_request,
    get_pending_wait,
    get_retry_wait,
    is_pending,
    iter_batches,
    parse_response,
)
from ._errors import ApiError, ConnectionFailed, StillComputing, build_api_error
from ._settings import find_settings

T = TypeVar("T")


class AsyncPages(Generic[T]):
    """The rows of a list, read page by page while they are iterated."""

    def __init__(self, client: AsyncClient, call: Call[Page[T]]) -> None:
        self._client = client
        self._call = call

    async def iter_pages(self, query: Mapping[str, str] | None = None) -> AsyncIterator[Page[T]]:
        """Yield the pages; ``query``: the ``next_query`` of an earlier page, None for all pages."""
        call = self._call
        next_query = dict(query) if query else dict(call.query)
        while True:
            page = await self._client.send(
                Call[Page[T]](call.method, call.path, call.kind, query=next_query)
            )
            yield page
            if page.next_query is None:
                return
            next_query = page.next_query

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.iter_pages():
            for row in page.results:
                yield row

    async def to_list(self) -> list[T]:
        return [row async for row in self]

    async def to_pandas(self) -> Any:
        """Return the rows as a DataFrame of pandas. Raises ImportError if it is not installed."""
        return build_data_frame(await self.to_list())


class AsyncClient:
    """A site, by its address and a token.

    Both come from CONCORD_URL and CONCORD_TOKEN, or from `concord login`, unless they are given.
    Requests are repeated up to ``retries`` times where the connection fails or the site is busy,
    and results that the site computes are waited for, ``max_wait`` seconds at most.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 30.0,
        retries: int = 5,
        max_wait: float = 600.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.settings = find_settings(url, token)
        self.retries = retries
        self.max_wait = max_wait
        options = build_httpx_options(self.settings, timeout=timeout, transport=transport)
        self._http = httpx.AsyncClient(**options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def send(self, call: Call[T]) -> T:
        """Send a call and return its response; a call that fails is repeated where that helps.

        Raises ApiError, ConnectionFailed and StillComputing.
        """
        deadline = time.monotonic() + self.max_wait
        while True:
            response = await self._send_with_retries(call)
            if not is_pending(call, response):
                return parse_response(call, response)
            await asyncio.sleep(get_pending_wait(response, deadline - time.monotonic()))

    async def _send_with_retries(self, call: Call[Any]) -> httpx.Response:
        arguments = build_request(call)
        attempt = 0
        while True:
            response, failure = None, ""
            try:
                response = await self._http.request(**arguments)
            except httpx.TransportError as error:
                failure = f"{self.settings.url} does not respond: {error!r}"
            wait = get_retry_wait(call, attempt, self.retries, response)
            if wait is None:
                if response is None:
                    raise ConnectionFailed(failure)
                return response
            attempt += 1
            await asyncio.sleep(wait)

    async def request(
        self, method: str, path: str, *, query: Mapping[str, Any] | None = None, body: Any = None
    ) -> Any:
        """Send any call of the API by its path below /api/v1/; return the JSON as ``send`` does."""
        return await self.send(Call[Any](method, path, Any, query=query or {}, body=body))

    def list_pages(self, path: str, row_type: type[T], **query: Any) -> AsyncPages[T]:
        """Return the rows of a list by its path below /api/v1/, read while they are iterated."""
        call = Call[Page[T]]("GET", path, PageOf(row_type), query=build_query(**query))
        return AsyncPages(self, call)

    def project(self, project_id: int) -> AsyncProjectClient:
        """Return the methods of a project, without a request."""
        return AsyncProjectClient(self, project_id)

    def projects(
        self, *, name: str | None = None, archived: bool | None = None
    ) -> AsyncPages[models.Project]:
        query = {"name": name, "archived": archived, "page_size": PAGE_SIZE}
        return self.list_pages("projects/", models.Project, **query)

    async def create_project(
        self, name: str, questions: Iterable[Mapping[str, Any]], **settings: Any
    ) -> models.Project:
        """Create a project, and return it with its id."""
        body = {"name": name, "questions": [dict(question) for question in questions], **settings}
        return await self.send(Call("POST", "projects/", models.Project, body=body))

    def inbox(self) -> AsyncPages[models.InboxRow]:
        return self.list_pages("inbox/", models.InboxRow)

    def events(self, *, after: int = 0, kind: str | None = None) -> AsyncPages[models.Event]:
        """Return what happened in all projects after the event with this id, oldest first.

        ``kind``: only events of this kind, all when None.
        """
        return self.list_pages("events/", models.Event, after=after, kind=kind)

    async def follow_events(
        self,
        *,
        after: int = 0,
        kind: str | None = None,
        project_id: int | None = None,
        poll_seconds: float = 5.0,
    ) -> AsyncIterator[models.Event]:
        """Yield the events after the one with this id, and wait for more; it never ends.

        ``kind``, ``project_id``: only events of this kind and project, all when None;
        ``poll_seconds``: between two requests for new events.
        """
        path = "events/" if project_id is None else build_path("projects", project_id, "events")
        while True:
            async for event in self.list_pages(path, models.Event, after=after, kind=kind):
                after = event.id
                yield event
            await asyncio.sleep(poll_seconds)


class AsyncProjectClient:
    """A project of a site."""

    def __init__(self, client: AsyncClient, project_id: int) -> None:
        self.client = client
        self.id = project_id

    def _build_path(self, *parts: str | int) -> str:
        return build_path("projects", self.id, *parts)

    def _list(self, row_type: type[T], *parts: str | int, **query: Any) -> AsyncPages[T]:
        query = {"page_size": PAGE_SIZE, **query}
        return self.client.list_pages(self._build_path(*parts), row_type, **query)

    async def _get(self, response_type: type[T], *parts: str | int, **query: Any) -> T:
        path, parameters = self._build_path(*parts), build_query(**query)
        return await self.client.send(Call[T]("GET", path, response_type, query=parameters))

    async def _post(self, response_type: type[T], *parts: str | int, body: Any, **query: Any) -> T:
        path, parameters = self._build_path(*parts), build_query(**query)
        call = Call[T]("POST", path, response_type, query=parameters, body=body)
        return await self.client.send(call)

    async def get(self) -> models.Project:
        """Return the project with its questions and categories."""
        return await self._get(models.Project)

    def items(self, **filters: Any) -> AsyncPages[models.Item]:
        return self._list(models.Item, "items", **filters)

    def raters(self, **filters: Any) -> AsyncPages[models.Rater]:
        return self._list(models.Rater, "raters", **filters)

    def ratings(self, **filters: Any) -> AsyncPages[models.Rating]:
        """Return the current ratings; filters: item, rater, question, label and since."""
        return self._list(models.Rating, "ratings", **filters)

    def labels(self, **filters: Any) -> AsyncPages[models.Label]:
        """Return the final labels; filters: question, source, min_confidence and since."""
        return self._list(models.Label, "labels", **filters)

    def alerts(self, **filters: Any) -> AsyncPages[models.Alert]:
        return self._list(models.Alert, "alerts", **filters)

    def rater_status(self, **filters: Any) -> AsyncPages[models.RaterStatus]:
        """Return the status of each rater, worst first."""
        return self._list(models.RaterStatus, "raters", "status", **filters)

    def events(self, *, after: int = 0, kind: str | None = None) -> AsyncPages[models.Event]:
        path = self._build_path("events")
        return self.client.list_pages(path, models.Event, after=after, kind=kind)

    async def push_items(
        self, rows: Iterable[Any], *, dry_run: bool = False
    ) -> models.UpsertCounts:
        """Create or change items by key, and return how many of each."""
        return await self._push(models.UpsertCounts, "items", rows, dry_run)

    async def push_raters(
        self, rows: Iterable[Any], *, dry_run: bool = False
    ) -> models.UpsertCounts:
        """Create or change raters by key, and return how many of each."""
        return await self._push(models.UpsertCounts, "raters", rows, dry_run)

    async def push_ratings(
        self, rows: Iterable[Any], *, dry_run: bool = False
    ) -> models.RatingCounts:
        """Store ratings, and return the counts of what changed; label None withdraws one.

        Rows are sent in batches, each of which is stored as a whole or not at all. The rows of an
        ApiError count from the first row of all. ``dry_run`` only checks them. ValueError for no
        rows.
        """
        return await self._push(models.RatingCounts, "ratings", rows, dry_run)

    async def _push(self, count_type: type[T], name: str, rows: Iterable[Any], dry_run: bool) -> T:
        query = {"dry_run": True} if dry_run else {}
        total: T | None = None
        n_rows = 0
        for batch in iter_batches(rows):
            try:
                counts = await self._post(count_type, name, body=batch, **query)
            except ApiError as error:
                error.move_rows(n_rows)
                raise
            total = add_counts(total, counts)
            n_rows += len(batch)
        if total is None:
            raise ValueError("There are no rows.")
        return total

    async def agreement(
        self,
        *,
        question: str | None = None,
        population: str | None = None,
        wait_until_counted: bool = False,
        **filters: Unpack[AgreementFilters],
    ) -> models.Agreement:
        """Return the coefficients of a question; one of several questions must be named.

        With ``wait_until_counted`` it waits until every rating stored so far is counted. Raises
        StillComputing after ``max_wait`` seconds.
        """
        deadline = time.monotonic() + self.client.max_wait
        query = {"question": question, "population": population, **filters}
        while True:
            agreement = await self._get(models.Agreement, "agreement", **query)
            if not wait_until_counted or not agreement.uncounted:
                return agreement
            if time.monotonic() > deadline:
                raise StillComputing(f"{agreement.uncounted} ratings are not counted yet.")
            await asyncio.sleep(0.5)

    async def coefficients(self, *, question: str | None = None) -> models.Coefficients:
        """Return every coefficient that suits the scale; one of several questions must be named."""
        return await self._get(models.Coefficients, "agreement", "coefficients", question=question)

    def pairs(self, **filters: Any) -> AsyncPages[models.PairAgreement]:
        return self._list(models.PairAgreement, "agreement", "pairs", **filters)

    def rater_agreement(self, **filters: Any) -> AsyncPages[models.RaterAgreement]:
        return self._list(models.RaterAgreement, "agreement", "raters", **filters)

    def trend(self, **filters: Any) -> AsyncPages[models.Period]:
        return self._list(models.Period, "agreement", "trend", **filters)

    async def disputed(
        self, *, question: str | None = None, weights: str | None = None
    ) -> models.DisputedItems:
        """Return the items on which raters differ most; one of several questions must be named."""
        query = {"question": question, "weights": weights}
        return await self._get(models.DisputedItems, "agreement", "disputed", **query)

    async def decide(
        self, item: str, label: str | None, *, question: str | None = None, reason: str = ""
    ) -> models.Decision:
        """Decide the final label of an item; None withdraws the decision."""
        body = {"item": item, "label": label, "reason": reason}
        body |= {} if question is None else {"question": question}
        return await self._post(models.Decision, "labels", body=body)

    def gates(self) -> AsyncPages[models.Gate]:
        return self._list(models.Gate, "gates")

    async def create_gate(
        self, name: str, rules: Iterable[Mapping[str, Any]], *, question: str | None = None
    ) -> models.Gate:
        body = {"name": name, "rules": [dict(rule) for rule in rules]}
        body |= {} if question is None else {"question": question}
        return await self._post(models.Gate, "gates", body=body)

    async def verdict(self, gate: str, *, as_of: str | None = None) -> models.GateVerdict:
        """Return the verdict of a gate now, or at a past time (``as_of``)."""
        return await self._get(models.GateVerdict, "gates", gate, "verdict", as_of=as_of)

    async def signed_verdict(self, gate: str, *, as_of: str | None = None) -> dict[str, Any]:
        """Return the verdict now, or at a past time (``as_of``), as the JSON that is signed."""
        return await self._get(dict[str, Any], "gates", gate, "verdict", as_of=as_of)

    def webhooks(self) -> AsyncPages[models.Webhook]:
        return self._list(models.Webhook, "webhooks")

    async def create_webhook(
        self, url: str, *, kinds: Iterable[str] = (), with_items: bool = False
    ) -> models.NewWebhook:
        """Create a webhook; its ``secret`` is shown this once."""
        body = {"url": url, "kinds": list(kinds), "with_items": with_items}
        return await self._post(models.NewWebhook, "webhooks", body=body)

    async def import_file(
        self, path: str | Path, *, dry_run: bool = False, **options: Any
    ) -> models.Import:
        """Import a table, or a file of another tool; ``options`` are those of POST .../imports/.

        ``dry_run`` only checks it. A file with a problem, or whose meaning is in doubt, raises
        ApiError, and nothing is stored.
        """
        file = (Path(path).name, Path(path).read_bytes())
        form = {name: value for name, value in options.items() if value is not None}
        form["dry_run"] = str(dry_run).lower()
        call = Call[models.Import](
            "POST", self._build_path("imports"), models.Import, form=form, file=file
        )
        return await self.client.send(call)

    async def download(self, what: str, path: str | Path, **query: Any) -> None:
        """Write a file of the site to ``path``: ``what`` is "export" (all ratings) or "labels".

        ``query`` has the ``format``, which is csv, jsonl or parquet, and filters. Raises ApiError.
        """
        temporary = Path(f"{path}.part")
        async with self.client._http.stream(
            "GET", self._build_path(what), params=build_query(**query), headers={"Accept": "*/*"}
        ) as response:
            if not response.is_success:
                await response.aread()
                raise build_api_error(response)
            with temporary.open("wb") as file:
                async for chunk in response.aiter_bytes():
                    file.write(chunk)
        temporary.replace(path)
