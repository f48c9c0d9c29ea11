"""Pages of items sorted by disagreement, number of ratings, or time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from metrics.filtered import filtered_jobs
from metrics.filters import NO_FILTER
from metrics.models import CountState, FilteredResult
from metrics.results.disagreement import disputed_items
from metrics.scale import QuestionScale
from projects.models import Item, Question
from ratings.items import item_search
from ratings.items.item_search import ItemFilters
from ratings.models import NO_CODE, Rating

from .item_rows import ITEMS_PER_PAGE, ItemRow, build_rows

# Up to so many ratings are sorted within the request; with more, a worker sorts. The order by time
# always covers the newest so many ratings.
MAX_SORTED_RATINGS = 30_000
ORDERS = ("disagreement", "ratings", "rated")


@dataclass(frozen=True)
class SortedItems:
    """A page of a sorted list.

    The order covers the first ``n_sorted`` items, of ``n_items`` with ratings (None: unknown).
    ``pending``: a worker is sorting.
    """

    rows: list[ItemRow] = field(default_factory=list)
    n_sorted: int = 0
    n_items: int | None = None
    has_more: bool = False
    pending: bool = False

    @property
    def is_complete(self) -> bool:
        return self.n_sorted == self.n_items


def get_sorted_page(
    question: Question,
    scale: QuestionScale,
    item_filters: ItemFilters,
    *,
    weights: str,
    order: str,
    number: int,
) -> SortedItems:
    """Return a page (from 1) of the matching items in one of ORDERS.

    Ties: the newer item first.
    """
    if order == "rated":
        ids, n_items = _rank_by_time(question)
    elif ranking := _rank_by_counts(question, scale, order, weights):
        ids, n_items = ranking
    else:
        return SortedItems(pending=True)
    matches = _list_matches(question, item_filters, ids, start=(number - 1) * ITEMS_PER_PAGE)
    page = build_rows(question, matches[:ITEMS_PER_PAGE], scale, weights)
    return SortedItems(page, len(ids), n_items, has_more=len(matches) > ITEMS_PER_PAGE)


def _rank_by_time(question: Question) -> tuple[list[int], int | None]:
    """Return the item ids, last rated first, and the number of items with ratings.

    The number is None where these are not all.
    """
    latest = Rating.objects.current().newest_for_question(question)
    item_ids = list(latest.values_list("item_id", flat=True)[: MAX_SORTED_RATINGS + 1])
    ids = list(dict.fromkeys(item_ids[:MAX_SORTED_RATINGS]))
    return ids, len(ids) if len(item_ids) <= MAX_SORTED_RATINGS else None


def _rank_by_counts(
    question: Question, scale: QuestionScale, order: str, weights: str
) -> tuple[list[int], int] | None:
    """Return the item ids by disagreement or number of ratings; None while a worker is sorting."""
    all_ratings = Rating.objects.filter(question=question).order_by()
    columns = all_ratings.values_list("item_id", "code")[: MAX_SORTED_RATINGS + 1]
    rows_read = np.fromiter(columns.iterator(), [("item", np.int64), ("code", np.int64)])
    if len(rows_read) > MAX_SORTED_RATINGS:
        return _get_worker_ranking(question, order, weights)
    rows_read = rows_read[rows_read["code"] != NO_CODE]
    ids, index = np.unique(rows_read["item"], return_inverse=True)
    counts = np.zeros((len(ids), scale.width), np.int64)
    np.add.at(counts, (index, rows_read["code"]), 1)
    counts = scale.reorder_to_declared(counts)
    total = counts.sum(axis=1)
    distances = disputed_items.compute_disagreement(counts, scale.build_weight_matrices()[weights])
    ranking = disputed_items.rank_items(ids, total, distances if order == "disagreement" else total)
    return ids[ranking].tolist(), len(ids)


def _get_worker_ranking(
    question: Question, order: str, weights: str
) -> tuple[list[int], int] | None:
    filtered_request = filtered_jobs.FilteredRequest(FilteredResult.Kind.ITEM_ORDER, NO_FILTER)
    body = filtered_jobs.get_or_request_filtered_result(
        question, filtered_request, version=CountState.get_version(question.pk)
    ).body
    if body is None:
        return None
    ids = body["ratings"] if order == "ratings" else body["disagreement"].get(weights, [])
    return ids, body["n_items"]


def _list_matches(
    question: Question, item_filters: ItemFilters, ids: Sequence[int], *, start: int
) -> list[Item]:
    """Return a page of the matching items and one more, from position ``start`` among them."""
    end = start + ITEMS_PER_PAGE + 1
    if item_filters != ItemFilters(question=item_filters.question):
        return list(
            islice(item_search.iter_matches(question.project, item_filters, ids), start, end)
        )
    page = ids[start:end]
    item_by_id = Item.objects.in_bulk(page)
    return [item_by_id[pk] for pk in page if pk in item_by_id]
