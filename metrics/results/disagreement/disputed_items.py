"""Where raters differ on items. Every query here reads a bounded number of ratings, whatever the
project's size."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import F, OuterRef, Subquery

from metrics.filters import EVERYTHING, Filter
from metrics.scale import QuestionScale
from projects.models import Item, Question, Rater
from ratings.models import NOTHING, Rating

# The newest items' ratings, read backwards along the unique index (question, item, rater): the cost
# is the same in a project of a million. Small projects are covered whole.
RATINGS_READ = 5_000
DISPUTED = 10  # items that are shown


@dataclass(frozen=True)
class Dispute:
    item: Item
    counts: list[tuple[str, int]]  # (label, ratings), declared order, categories that were used
    disagreement: float  # mean distance 1 - w of two ratings of the item

    @property
    def n_ratings(self) -> int:
        return sum(count for _, count in self.counts)


@dataclass(frozen=True)
class Disputes:
    top: list[Dispute]
    n_items: int  # items looked at
    whole: bool  # whether these are all items with ratings


def newest_disputed(question_id: int, scale: QuestionScale) -> dict[str, Any]:
    """`most_disputed` among the newest items, of what is counted of their ratings.

    Adds ``whole``: whether these are all items with ratings.
    """
    rows = Rating.objects.filter(question_id=question_id).order_by("-item_id")
    columns = rows.values_list("item_id", "counted")[: RATINGS_READ + 1]
    read = np.fromiter(columns.iterator(), [("item", np.int64), ("code", np.int64)])
    whole = len(read) <= RATINGS_READ
    if not whole:  # the last item may be cut
        read = read[read["item"] != read["item"][-1]]
    read = read[read["code"] > NOTHING]
    items, place = np.unique(read["item"], return_inverse=True)
    counts = np.zeros((len(items), scale.width), np.int64)
    np.add.at(counts, (place, read["code"]), 1)
    return most_disputed(items, scale.ordered(counts), scale) | {"whole": whole}


def most_disputed(items: np.ndarray, counts: np.ndarray, scale: QuestionScale) -> dict[str, Any]:
    """The items whose ratings lie farthest apart; of equals those with more ratings, then newer
    ones.

    Ids (n,), counts (n, k) -> {"n_items": n, weighting -> [[id, counts, distance], ...]}.
    """
    found: dict[str, Any] = {"n_items": len(items)}
    total = counts.sum(axis=1)
    for name, matrix in scale.weightings().items():
        distance = disagreement(counts, matrix)
        found[name] = [
            [int(items[place]), counts[place].tolist(), float(distance[place])]
            for place in first(items, total, distance)[:DISPUTED].tolist()
            if distance[place] > 0
        ]
    return found


def read(stored: dict[str, Any], scale: QuestionScale, weights: str) -> Disputes:
    """What `most_disputed` found under one weighting, with the items. Empty while nothing is
    stored."""
    rows = stored.get(weights, [])
    ids = [item for item, _counts, _distance in rows]
    items = Item.objects.defer("attributes").in_bulk(ids)
    top = [
        Dispute(items[item], named(counts, scale), distance)
        for item, counts, distance in rows
        if item in items and len(counts) == scale.k
    ]
    return Disputes(top, stored.get("n_items", 0), stored.get("whole", True))


def first(items: np.ndarray, total: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Places of the items (n,) by ``value``, the highest first; of equals those with more ratings
    (``total``), then the newer ones."""
    return np.lexsort((-items, -total, -value))


def disagreement(counts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(n,) mean of 1 - w over the pairs of ratings of each item; 0 with fewer than two ratings."""
    total = counts.sum(axis=1)
    apart = np.einsum("nj,jl,nl->n", counts, 1 - weights, counts)
    return apart / np.maximum(total * (total - 1), 1)


def named(counts: Iterable[int], scale: QuestionScale) -> list[tuple[str, int]]:
    return [(label, int(n)) for label, n in zip(scale.labels, counts, strict=True) if n]


@dataclass(frozen=True)
class Difference:
    """One item on which two raters differ, with what each says."""

    item: Item
    labels: tuple[str, str]


def between(
    question: Question,
    a: Rater,
    b: Rater,
    scale: QuestionScale,
    *,
    part: slice,
    chosen: Filter = EVERYTHING,
) -> list[Difference]:
    """The items of this part of those that both rated and on which they differ; newest item
    first."""
    theirs = chosen.ratings(
        Rating.objects.filter(question=question, item=OuterRef("item"), rater=b)
    )
    rows = (
        chosen.ratings(Rating.objects.filter(question=question, rater=a, code__gte=0))
        .annotate(other=Subquery(theirs.values("code")[:1]))
        .filter(other__gte=0)
        .exclude(code=F("other"))
        # A sum, so that no index is walked through all ratings in search of the few of this rater.
        .order_by((F("item_id") + 0).desc())
        .values_list("item_id", "code", "other")[part]
    )
    items = Item.objects.in_bulk([item for item, _code, _other in rows])
    return [
        Difference(items[item], (label_of(code, scale), label_of(other, scale)))
        for item, code, other in rows
        if item in items
    ]


@dataclass(frozen=True)
class OutOfStep:
    """A rater's own rating beside the others' of the same item."""

    rating: Rating
    label: str
    others: list[tuple[str, int]]
    others_differing: int
    n_others: int


def recent_differences(
    question: Question,
    rater: Rater,
    scale: QuestionScale,
    *,
    chosen: Filter = EVERYTHING,
    limit: int = 10,
) -> list[OutOfStep]:
    """Where most others differ from the rater, among the rater's 300 last changed ratings; newest
    first. What a file brought was changed at one time: there its own times tell."""
    own = list(
        chosen.ratings(Rating.objects.filter(rater=rater, question=question, code__gte=0))
        .select_related("item")
        .order_by("-changed_at", "-rated_at")[:300]
    )
    others: dict[int, np.ndarray] = {
        rating.item_id: np.zeros(scale.width, np.int64) for rating in own
    }
    rows = chosen.ratings(
        Rating.objects.filter(question=question, item_id__in=list(others), code__gte=0)
    )
    rows = rows.exclude(rater=rater)
    for item, code in rows.values_list("item_id", "code"):
        others[item][code] += 1
    found = []
    for rating in own:
        counts = others[rating.item_id]
        total, same = int(counts.sum()), int(counts[rating.code])
        if total and 2 * same < total:
            theirs = named(scale.ordered(counts), scale)
            found.append(
                OutOfStep(rating, label_of(rating.code, scale), theirs, total - same, total)
            )
    return found[:limit]


def label_of(code: int, scale: QuestionScale) -> str:
    """The label of an active category's code; empty for a withdrawn rating or a retired
    category."""
    place = np.flatnonzero(scale.codes == code)
    return scale.labels[int(place[0])] if len(place) else ""
