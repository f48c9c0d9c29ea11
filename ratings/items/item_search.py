"""Search of items by content, answers and number of ratings.

Results come one page at a time, at a bounded cost in a project with a million items.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.db.models import Count, Exists, F, Max, Min, OuterRef, QuerySet, Subquery, TextField
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce

from core.hooks import Hook
from projects import selectors
from projects.models import (
    AVAILABLE,
    WITHDRAWN,
    WITHOUT_CONTENT,
    GoldAnswer,
    Item,
    Project,
    Question,
)
from ratings.models import Assignment, Rating

MAX_ITEMS_SCANNED = 20_000  # items that one page scans for matches
FIRST_CHUNK, MAX_CHUNK = 200, 5_000  # sizes of the first and of later chunks of a list of ids
ITEMS_PER_READ = 1_000  # items whose texts Python reads at a time
MAX_COUNTED = 10_000  # matches are counted up to this number,
MAX_COUNTED_TEXTS = 1_000  # or up to this number where Python reads their texts
STATES = ("active", "empty", "withdrawn", "flagged", "skipped", "gold")
STATE_CONDITIONS = {"active": AVAILABLE, "empty": WITHOUT_CONTENT, "withdrawn": WITHDRAWN}
ANSWER_FILTERS = ("differ", "same")
# Order -> function that returns the ids of a question's items in this order, the first ones of
# those with ratings; None while a worker sorts them.
ITEM_RANKINGS: Hook[Callable[[Question], list[int] | None]] = Hook("item_rankings")


@dataclass(frozen=True, kw_only=True)
class ItemFilters:
    """Conditions of an item search; an empty field imposes none.

    ``search`` is a text in the key or the body. ``attributes`` are (name, value as text).
    ``min_ratings`` and ``max_ratings`` limit the number of current ratings: of ``question`` (an id)
    if given, else of all questions. ``since`` is the earliest time of the last change. ``state`` is
    one of STATES.

    Conditions on the answers to ``question``: ``answers``: they "differ", or are the "same" (two or
    more); ``given_codes``: each of these codes was given by some rater; ``rater`` (an id): this
    rater has answered.
    """

    search: str = ""
    attributes: Sequence[tuple[str, str]] = ()
    min_ratings: int | None = None
    max_ratings: int | None = None
    question: int | None = None
    since: datetime.datetime | None = None
    state: str = ""
    answers: str = ""
    given_codes: Sequence[int] = ()
    rater: int | None = None

    @property
    def needs_scan(self) -> bool:
        """Return whether items must be scanned, because no index serves a condition."""
        return bool(
            self.search
            or self.attributes
            or self.since
            or self.max_ratings is not None
            or (self.min_ratings or 0) > 0
            or self.answers
            or self.given_codes
            or self.rater is not None
        )


@dataclass(frozen=True)
class ItemPage:
    """Matching items in the order of their ids.

    ``after``: continue after this id; None at the end. ``is_cut``: the search stopped before it had
    found the requested number of items.
    """

    items: list[Item]
    after: int | None
    is_cut: bool = False


@dataclass(frozen=True)
class ItemCount:
    """Number of matching items.

    ``more``: there are more than ``items``. ``n_scanned``: number of items that were checked; None
    if all were.
    """

    items: int
    more: bool = False
    n_scanned: int | None = None


def is_attribute_name(name: str) -> bool:
    """Return whether an attribute of this name can be searched for.

    A whole number cannot, because the databases would take it for a position in a list.
    """
    return 0 < len(name) <= 100 and "\0" not in name and not name.lstrip("+-").isdecimal()


def search_item_page(project: Project, filters: ItemFilters, *, after: int, size: int) -> ItemPage:
    """Return up to ``size`` matching items after the id ``after``.

    At most MAX_ITEMS_SCANNED items are scanned. With a rater who has rated no more items than that,
    all of the rater's items are searched.
    """
    rated_ids = _list_rated_ids(filters)
    if rated_ids is not None:
        page = list(
            islice(iter_matches(project, filters, [pk for pk in rated_ids if pk > after]), size + 1)
        )
        return ItemPage(page[:size], page[size - 1].pk if len(page) > size else None)
    rows = _filter_after(build_query(project, filters), filters, after)
    last_id = None
    if filters.needs_scan:
        last_id = _get_scan_end(project, after)
        rows = rows if last_id is None else rows.filter(pk__lte=last_id)
    matches: list[Item] = []
    for item in _iter_rows(rows, filters, after, size + 1):
        if len(matches) == size:
            return ItemPage(matches, matches[-1].pk)
        matches.append(item)
    return ItemPage(matches, last_id, is_cut=last_id is not None)


def search_sorted_page(
    project: Project, filters: ItemFilters, rows: QuerySet[Item], *, size: int
) -> tuple[list[Item], Item | None]:
    """Return up to ``size`` matching items of the sorted ``rows``, and where to continue.

    The second value is the item after which the search continues; None at the end of ``rows``. At
    most MAX_ITEMS_SCANNED rows are scanned.
    """
    limit = size + 1 if filters == ItemFilters() else MAX_ITEMS_SCANNED
    ids = list(rows.values_list("pk", flat=True)[:limit])
    page = list(islice(iter_matches(project, filters, ids), size + 1))
    if len(page) > size:
        return page[:size], page[size - 1]
    return page, Item.objects.get(pk=ids[-1]) if len(ids) == limit else None


def iter_matches(project: Project, filters: ItemFilters, ids: Sequence[int]) -> Iterator[Item]:
    """Yield the items among ``ids`` that match, in this order; they are read in growing chunks."""
    start, size = 0, FIRST_CHUNK
    while start < len(ids):
        chunk = ids[start : start + size]
        rows = build_query(project, filters).filter(pk__in=chunk)
        matches = {item.pk: item for item in rows if selectors.contains_text(item, filters.search)}
        yield from (matches[pk] for pk in chunk if pk in matches)
        start, size = start + size, min(2 * size, MAX_CHUNK)


def count_matches(project: Project, filters: ItemFilters) -> ItemCount:
    """Return the number of matching items among those that a page would search.

    These are the first MAX_ITEMS_SCANNED items, or all if an index serves the conditions, or the
    rater's. Beyond MAX_COUNTED (for a text search MAX_COUNTED_TEXTS) matches are not counted.
    """
    rated_ids = _list_rated_ids(filters)
    rows = build_query(project, filters)
    last_id = _get_scan_end(project, 0) if filters.needs_scan and rated_ids is None else None
    if last_id is not None:
        rows = rows.filter(pk__lte=last_id)
    if filters.search:
        matches = (
            _iter_rows(rows, filters, 0, ITEMS_PER_READ)
            if rated_ids is None
            else iter_matches(project, filters, rated_ids)
        )
        n_items = sum(1 for _item in islice(matches, MAX_COUNTED_TEXTS + 1))
        limit = MAX_COUNTED_TEXTS
    elif rated_ids is not None:
        chunks = (
            rated_ids[start : start + MAX_CHUNK] for start in range(0, len(rated_ids), MAX_CHUNK)
        )
        n_items = sum(rows.filter(pk__in=chunk).count() for chunk in chunks)
        limit = MAX_ITEMS_SCANNED
    else:
        n_items, limit = rows[: MAX_COUNTED + 1].count(), MAX_COUNTED
    if n_items > limit:
        return ItemCount(limit, more=True)
    return ItemCount(n_items, n_scanned=None if last_id is None else MAX_ITEMS_SCANNED)


def iter_all_matches(project: Project, filters: ItemFilters) -> Iterator[Item]:
    """Yield all matching items, reading one page at a time, for streamed responses."""
    after: int | None = 0
    while after is not None:
        page = search_item_page(project, filters, after=after, size=ITEMS_PER_READ)
        yield from page.items
        after = page.after


def build_query(project: Project, filters: ItemFilters) -> QuerySet[Item]:
    """Return the matching items in the order of their ids.

    A text search may also return some that do not match (see build_text_filter).
    """
    rows = Item.objects.filter(project=project).order_by("pk")
    rows = _filter_by_state(rows, project, filters.state)
    for index, (name, value) in enumerate(filters.attributes):
        value_text = Cast(KeyTextTransform(name, F("attributes")), TextField())
        rows = rows.alias(**{f"attribute_{index}": value_text}).filter(
            **{f"attribute_{index}": value}
        )
    if filters.since is not None:
        rows = rows.filter(changed_at__gte=filters.since)
    if (filters.min_ratings or 0) > 0 or filters.max_ratings is not None:
        rows = rows.alias(n_ratings=_build_rating_count(filters.question))
        if filters.min_ratings is not None:
            rows = rows.filter(n_ratings__gte=filters.min_ratings)
        if filters.max_ratings is not None:
            rows = rows.filter(n_ratings__lte=filters.max_ratings)
    if filters.search:
        rows = rows.alias(text=Cast("body", TextField())).filter(
            selectors.build_text_filter(filters.search)
        )
    return _filter_by_answers(rows, filters)


def count_ratings_by_item(item_ids: Iterable[int]) -> dict[int, int]:
    """Return item id -> number of current ratings, without items that have none.

    Only for a limited number of items.
    """
    rows = Rating.objects.current().filter(item__in=list(item_ids)).order_by()
    return dict(rows.values_list("item_id").annotate(Count("id")))


def _filter_by_state(rows: QuerySet[Item], project: Project, state: str) -> QuerySet[Item]:
    if state in STATE_CONDITIONS:
        return rows.filter(STATE_CONDITIONS[state])
    if state == "flagged":
        # served by the small partial index of skipped and flagged assignments
        flagged = Assignment.objects.skipped_or_flagged().filter(flagged=True)
        return rows.filter(pk__in=flagged.values("item_id"))
    if state == "skipped":
        skipped = Assignment.objects.skipped_or_flagged().filter(state=Assignment.State.SKIPPED)
        return rows.filter(pk__in=skipped.values("item_id"))
    if state == "gold":
        gold = GoldAnswer.objects.in_force().filter(question__project=project)
        return rows.filter(pk__in=gold.values("item_id"))
    return rows


def _filter_by_answers(rows: QuerySet[Item], filters: ItemFilters) -> QuerySet[Item]:
    lowest, highest = (
        _build_rating_aggregate(filters.question, aggregate("code")) for aggregate in (Min, Max)
    )
    if filters.answers == "differ":
        rows = rows.alias(lowest=lowest, highest=highest).filter(highest__gt=F("lowest"))
    if filters.answers == "same":
        n_answers = _build_rating_aggregate(filters.question, Count("pk"))
        rated_twice = rows.alias(n_said=n_answers).filter(n_said__gt=1)
        rows = rated_twice.alias(lowest=lowest, highest=highest).filter(highest=F("lowest"))
    answers = Rating.objects.current().filter(question=filters.question, item=OuterRef("pk"))
    for code in filters.given_codes:
        rows = rows.filter(Exists(answers.filter(code=code)))
    if filters.rater is not None:
        rows = rows.filter(Exists(answers.filter(rater=filters.rater)))
    return rows


def _list_rated_ids(filters: ItemFilters) -> list[int] | None:
    """Return ids of the items that the filter's rater rated, ascending.

    None without a rater, or if there are more than MAX_ITEMS_SCANNED.
    """
    if filters.rater is None:
        return None
    ratings = Rating.objects.current().filter(rater=filters.rater, question=filters.question)
    # served by the index of the rater's own ratings
    ids = list(
        ratings.order_by("-changed_at").values_list("item_id", flat=True)[: MAX_ITEMS_SCANNED + 1]
    )
    return sorted(ids) if len(ids) <= MAX_ITEMS_SCANNED else None


def _filter_after(rows: QuerySet[Item], filters: ItemFilters, after: int) -> QuerySet[Item]:
    """Return the rows with an id greater than ``after``.

    For withdrawn items and items without content, which are few, the condition is on the expression
    id + 0, so that SQLite uses their own small index and does not scan all items.
    """
    if filters.state in ("empty", "withdrawn"):
        return rows.alias(place=F("pk") + 0).filter(place__gt=after)
    return rows.filter(pk__gt=after)


def _build_rating_count(question_id: int | None) -> Any:
    return Coalesce(_build_rating_aggregate(question_id, Count("pk")), 0)


def _build_rating_aggregate(question_id: int | None, value: Any) -> Subquery:
    """Return a subquery of an aggregate over an item's current ratings, of one question or all.

    ``value`` is the aggregate; ``question_id`` None means all questions.
    """
    ratings = Rating.objects.current().filter(item=OuterRef("pk"))
    if question_id is not None:
        ratings = ratings.filter(question=question_id)
    return Subquery(ratings.order_by().values("item").annotate(of=value).values("of"))


def _get_scan_end(project: Project, after: int) -> int | None:
    """Return the id of the last item to scan after ``after``; None if that would be all of them."""
    following = Item.objects.filter(project=project, pk__gt=after).order_by("pk")
    return following.values_list("pk", flat=True)[MAX_ITEMS_SCANNED - 1 : MAX_ITEMS_SCANNED].first()


def _iter_rows(rows: QuerySet[Item], filters: ItemFilters, after: int, size: int) -> Iterator[Item]:
    """Yield the matching rows, without false matches of a text search.

    Without a text search at most ``size`` rows are yielded; otherwise the caller stops when it has
    enough.
    """
    if not filters.search:
        yield from rows[:size]
        return
    while True:
        chunk = list(rows.filter(pk__gt=after)[:ITEMS_PER_READ])
        yield from (item for item in chunk if selectors.contains_text(item, filters.search))
        if len(chunk) < ITEMS_PER_READ:
            return
        after = chunk[-1].pk
