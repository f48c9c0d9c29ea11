"""Items on which raters disagree.

Every query here reads a bounded number of ratings, whatever the size of the project.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import F, OuterRef, Subquery

from metrics.filters import NO_FILTER, RatingFilter
from metrics.question_scale import QuestionScale
from metrics.results.patterns import AllTimePatterns
from projects.models import Item, Question, Rater
from ratings.models import NO_CODE, Rating

# Ratings of the newest items, read backwards along the unique index (question, item, rater): the
# cost is the same in a project of a million. Small projects are covered completely.
MAX_RATINGS_READ = 5_000
MAX_DISPUTED_ITEMS = 10

StoredDisputes = Mapping[str, Any]  # models.Diagnosis.disputes


@dataclass(frozen=True)
class DisputedItem:
    """An item with its counts of ratings by category, and the disagreement of its ratings."""

    item: Item
    counts: list[tuple[str, int]]  # (label, ratings) of the used categories, in declared order
    disagreement: float  # mean distance 1 - w of two ratings of the item

    @property
    def n_ratings(self) -> int:
        """Number of ratings of the item."""
        return sum(count for _, count in self.counts)


@dataclass(frozen=True)
class DisputedItems:
    """The most disputed items among all ``n_items`` rated items.

    ``pending``: a worker is sorting.
    """

    items: list[DisputedItem]
    n_items: int
    pending: bool = False


def find_newest_disputed(all_time: AllTimePatterns) -> StoredDisputes:
    """Return the most disputed of the newest items, by their counted ratings.

    The ratings are those of people where models are separate, unless the lead pooled them. The
    result is that of `find_most_disputed` with ``is_complete``: whether no older item has ratings.
    """
    scale = all_time.scale
    rows = Rating.objects.filter(question_id=all_time.question_id).order_by("-item_id")
    if all_time.is_people_only:
        rows = rows.exclude(rater__in=all_time.model_raters)
    columns = rows.values_list("item_id", "counted")[: MAX_RATINGS_READ + 1]
    ratings = np.fromiter(columns.iterator(), [("item", np.int64), ("code", np.int64)])
    is_complete = len(ratings) <= MAX_RATINGS_READ
    if not is_complete:  # the last item may be incomplete
        ratings = ratings[ratings["item"] != ratings["item"][-1]]
    ratings = ratings[ratings["code"] > NO_CODE]
    items, item_index = np.unique(ratings["item"], return_inverse=True)
    counts = np.zeros((len(items), scale.width), np.int64)
    np.add.at(counts, (item_index, ratings["code"]), 1)
    disputes = find_most_disputed(items, scale.reorder_to_declared(counts), scale)
    return {**disputes, "is_complete": is_complete}


def find_most_disputed(
    items: np.ndarray, counts: np.ndarray, scale: QuestionScale
) -> StoredDisputes:
    """Return {"n_items": n, weighting: [[id, counts, disagreement], ...]}, the most disputed first.

    ``items`` (n,): ids; ``counts`` (n, k): ratings by category in declared order. Each weighting
    lists at most MAX_DISPUTED_ITEMS items that are disputed at all; of equal ones those with more
    ratings come first, then newer ones.
    """
    result: dict[str, object] = {"n_items": len(items)}
    total = counts.sum(axis=1)
    for name, matrix in scale.build_weight_matrices().items():
        distance = compute_disagreement(counts, matrix)
        result[name] = [
            [int(items[index]), counts[index].tolist(), float(distance[index])]
            for index in rank_items(items, total, distance)[:MAX_DISPUTED_ITEMS].tolist()
            if distance[index] > 0
        ]
    return result


def load_disputed_items(
    stored: StoredDisputes, scale: QuestionScale, weights: str
) -> DisputedItems:
    """Return the stored disputed items under one weighting; empty while nothing is stored.

    ``stored``: the result of `find_most_disputed`, of all rated items.
    """
    rows = stored.get(weights, [])
    ids = [item for item, _counts, _distance in rows]
    items = Item.objects.defer("attributes").in_bulk(ids)
    top = [
        DisputedItem(items[item], label_counts(counts, scale), distance)
        for item, counts, distance in rows
        if item in items and len(counts) == scale.k
    ]
    return DisputedItems(top, stored.get("n_items", 0))


def rank_items(items: np.ndarray, total: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Return the indices of the items (n,) by ``value``, highest first.

    Ties: items with more ratings (``total``) first, then newer ones.
    """
    return np.lexsort((-items, -total, -value))


def compute_disagreement(counts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the disagreement (n,) of items: the mean of 1 - weight over their pairs of ratings.

    ``counts`` (n, k), ``weights`` (k, k). It is 0 with fewer than two ratings.
    """
    total = counts.sum(axis=1)
    distance = np.einsum("nj,jl,nl->n", counts, 1 - weights, counts)
    return distance / np.maximum(total * (total - 1), 1)


def label_counts(counts: Iterable[int], scale: QuestionScale) -> list[tuple[str, int]]:
    """Return (label, count) of the categories whose count is not 0, in declared order."""
    return [(label, int(count)) for label, count in zip(scale.labels, counts, strict=True) if count]


@dataclass(frozen=True)
class PairDifference:
    """An item on which two raters differ, with the answer of each."""

    item: Item
    labels: tuple[str, str]


def list_pair_differences(
    question: Question,
    rater_a: Rater,
    rater_b: Rater,
    scale: QuestionScale,
    *,
    page: slice,
    rating_filter: RatingFilter = NO_FILTER,
) -> list[PairDifference]:
    """Return the items on which the two raters' answers differ, newest first.

    ``page``: the slice of the list to return; ``rating_filter``: selects the ratings that count.
    """
    ratings_of_b = rating_filter.filter_ratings(
        Rating.objects.filter(question=question, item=OuterRef("item"), rater=rater_b)
    )
    rows = (
        rating_filter.filter_ratings(
            Rating.objects.filter(question=question, rater=rater_a, code__gte=0)
        )
        .annotate(other_code=Subquery(ratings_of_b.values("code")[:1]))
        .filter(other_code__gte=0)
        .exclude(code=F("other_code"))
        # Sorted by an expression, so that no index is scanned over all ratings to find the few of
        # this rater.
        .order_by((F("item_id") + 0).desc())
        .values_list("item_id", "code", "other_code")[page]
    )
    items = Item.objects.in_bulk([item for item, _code, _other_code in rows])
    return [
        PairDifference(items[item], (get_label(code, scale), get_label(other_code, scale)))
        for item, code, other_code in rows
        if item in items
    ]


@dataclass(frozen=True)
class PeerDifference:
    """A rater's rating, and (label, count) of the others' ratings of the item."""

    rating: Rating
    label: str
    other_counts: list[tuple[str, int]]
    n_differing: int
    n_others: int


N_RECENT_RATINGS = 300  # of a rater, searched for recent differences
MAX_SORTED_RATINGS = 20_000  # of a rater, sorted by time in a request


def list_recent_differences(
    question: Question,
    rater: Rater,
    scale: QuestionScale,
    *,
    rating_filter: RatingFilter = NO_FILTER,
    limit: int = 10,
) -> list[PeerDifference]:
    """Return recent ratings of the rater from which most others differ, newest first.

    At most ``limit``, among the N_RECENT_RATINGS that the rater gave last.
    """
    own_ratings = _load_recent_ratings(question, rater, rating_filter)
    item_ids = [rating.item_id for rating in own_ratings]
    all_ratings = Rating.objects.filter(question=question, item_id__in=item_ids, code__gte=0)
    rows = rating_filter.filter_ratings(all_ratings.exclude(rater=rater))
    counts_by_item = {item_id: np.zeros(scale.width, np.int64) for item_id in item_ids}
    for item, code in rows.values_list("item_id", "code"):
        counts_by_item[item][code] += 1
    differences = []
    for rating in own_ratings:
        counts = counts_by_item[rating.item_id]
        total, n_equal = int(counts.sum()), int(counts[rating.code])
        if total and 2 * n_equal < total:
            other_counts = label_counts(scale.reorder_to_declared(counts), scale)
            differences.append(
                PeerDifference(
                    rating, get_label(rating.code, scale), other_counts, total - n_equal, total
                )
            )
    return differences[:limit]


def _load_recent_ratings(
    question: Question, rater: Rater, rating_filter: RatingFilter
) -> list[Rating]:
    """Return the N_RECENT_RATINGS that the rater gave last, the newest first.

    Of more than MAX_SORTED_RATINGS ratings, only those that changed last are searched for these.
    """
    ratings = rating_filter.filter_ratings(
        Rating.objects.filter(rater=rater, question=question, code__gte=0)
    )
    # An import stores ratings in the order of its file, so that the last changed are not the
    # latest.
    last_changed = ratings.order_by("-changed_at").values("pk")[:MAX_SORTED_RATINGS]
    recent = Rating.objects.filter(pk__in=last_changed).select_related("item")
    return list(recent.order_by("-rated_at", "-pk")[:N_RECENT_RATINGS])


def get_label(code: int, scale: QuestionScale) -> str:
    """Return the label of an active category; "" for a withdrawn rating or retired category."""
    indices = np.flatnonzero(scale.codes == code)
    return scale.labels[int(indices[0])] if len(indices) else ""
