"""Order of a question's items by disagreement, number of ratings, or time."""

from __future__ import annotations

import functools

import numpy as np

from metrics.filters import NO_FILTER, RatingFilter
from metrics.models import CountState, FilteredResult
from metrics.question_scale import QuestionScale
from metrics.results import disputed_items
from metrics.results.disputed_items import DisputedItems, StoredDisputes
from metrics.results.headline.trends import get_headline_weighting
from projects.models import Question, Rater
from ratings.items.item_search import ITEM_RANKINGS
from ratings.models import NO_CODE, Rating

from . import filtered_jobs

# Up to so many ratings are sorted within the request; with more, a worker sorts. The order by time
# always covers the newest so many ratings.
MAX_SORTED_RATINGS = 30_000
ORDERS = ("disagreement", "ratings", "rated")

# Ids of the sorted items, and the number of items with ratings (None: more than these).
Ranking = tuple[list[int], int | None]


def register_rankings() -> None:
    """Register the orders by the names of the API's fields, for item lists of lower packages."""
    for order in ORDERS:
        name = "rated_at" if order == "rated" else order
        ITEM_RANKINGS.register(functools.partial(_list_ids, order), name)


def _list_ids(order: str, question: Question) -> list[int] | None:
    """Return the ids of rated items in this order; None while a worker is sorting."""
    scale = QuestionScale.for_question(question)
    weights = get_headline_weighting(question, scale)
    ranking = rank_items(question, scale, order=order, weights=weights)
    return None if ranking is None else ranking[0]


def rank_items(
    question: Question, scale: QuestionScale, *, order: str, weights: str
) -> Ranking | None:
    """Return the ids of rated items in this order, one of ORDERS, and the number of rated items.

    Ties: the newer item first. None while a worker is sorting.
    """
    if order == "rated":
        return _rank_by_time(question)
    return _rank_by_counts(question, scale, order, weights)


def _rank_by_time(question: Question) -> Ranking:
    """Return the item ids, last rated first, and the number of items with ratings.

    The number is None if more than MAX_SORTED_RATINGS ratings exist; then older items are left out.
    """
    latest = Rating.objects.current().newest_for_question(question)
    item_ids = list(latest.values_list("item_id", flat=True)[: MAX_SORTED_RATINGS + 1])
    ids = list(dict.fromkeys(item_ids[:MAX_SORTED_RATINGS]))
    return ids, len(ids) if len(item_ids) <= MAX_SORTED_RATINGS else None


def find_disputed_items(
    question: Question, stored: StoredDisputes, scale: QuestionScale, weights: str
) -> DisputedItems:
    """Return the most disputed of all rated items, in the order of `rank_items`.

    ``stored``: those of the newest items (Diagnosis.disputes), which are all items of a small
    question. Models are left out where they are separate.
    """
    if stored.get("is_complete", True):
        return disputed_items.load_disputed_items(stored, scale, weights)
    rating_filter = NO_FILTER
    if CountState.objects.get(pk=question.pk).model_raters and not scale.pooled:
        rating_filter = RatingFilter(kind=Rater.Kind.HUMAN)
    ranking = _rank_by_counts(question, scale, "disagreement", weights, rating_filter=rating_filter)
    if ranking is None:
        return DisputedItems([], 0, pending=True)
    ids, n_items = ranking
    top = np.sort(np.array(ids[: disputed_items.MAX_DISPUTED_ITEMS], np.int64))
    ratings = Rating.objects.filter(question=question, item__in=top.tolist(), code__gt=NO_CODE)
    rows = rating_filter.filter_ratings(ratings).values_list("item_id", "code")
    counts = np.zeros((len(top), scale.width), np.int64)
    for item, code in rows:
        counts[np.searchsorted(top, item), code] += 1
    disputes = disputed_items.find_most_disputed(top, scale.reorder_to_declared(counts), scale)
    return disputed_items.load_disputed_items({**disputes, "n_items": n_items}, scale, weights)


def _rank_by_counts(
    question: Question,
    scale: QuestionScale,
    order: str,
    weights: str,
    *,
    rating_filter: RatingFilter = NO_FILTER,
) -> tuple[list[int], int] | None:
    """Return the item ids by disagreement or number of ratings; None while a worker is sorting."""
    all_ratings = rating_filter.filter_ratings(Rating.objects.filter(question=question)).order_by()
    columns = all_ratings.values_list("item_id", "code")[: MAX_SORTED_RATINGS + 1]
    rows_read = np.fromiter(columns.iterator(), [("item", np.int64), ("code", np.int64)])
    if len(rows_read) > MAX_SORTED_RATINGS:
        return _get_or_request_ranking(question, order, weights, rating_filter)
    rows_read = rows_read[rows_read["code"] != NO_CODE]
    ids, index = np.unique(rows_read["item"], return_inverse=True)
    counts = np.zeros((len(ids), scale.width), np.int64)
    np.add.at(counts, (index, rows_read["code"]), 1)
    counts = scale.reorder_to_declared(counts)
    total = counts.sum(axis=1)
    distances = disputed_items.compute_disagreement(counts, scale.build_weight_matrices()[weights])
    ranking = disputed_items.rank_items(ids, total, distances if order == "disagreement" else total)
    return ids[ranking].tolist(), len(ids)


def _get_or_request_ranking(
    question: Question, order: str, weights: str, rating_filter: RatingFilter
) -> tuple[list[int], int] | None:
    """Return the ids of a stored order and the number of rated items; request it if there is none.

    Returns None until a worker has sorted.
    """
    filtered_request = filtered_jobs.FilteredRequest(FilteredResult.Kind.ITEM_ORDER, rating_filter)
    body = filtered_jobs.get_or_request_filtered_result(
        question, filtered_request, version=CountState.get_version(question.pk)
    ).body
    if body is None:
        return None
    ids = body["ratings"] if order == "ratings" else body["disagreement"].get(weights, [])
    return ids, body["n_items"]
