"""Where raters differ on items. Every query here reads a bounded number of ratings, whatever the
project's size."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from django.db.models import F, OuterRef, Subquery

from metrics.filters import EVERYTHING, Filter
from metrics.scale import QuestionScale
from projects.models import Item, Question, Rater
from ratings.models import Rating

# The newest items' ratings, read backwards along the unique index (question, item, rater): the cost
# is the same in a project of a million. Small projects are covered whole.
RATINGS_READ = 5_000


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


def most_disputed(
    question: Question, scale: QuestionScale, weights: str, *, limit: int = 10
) -> Disputes:
    """The newest items whose ratings lie farthest apart; of equals those with more ratings, then
    newer ones."""
    rows = (
        Rating.objects.filter(question=question).order_by("-item_id").values_list("item_id", "code")
    )
    read = np.fromiter(
        rows[: RATINGS_READ + 1].iterator(), [("item", np.int64), ("code", np.int64)]
    )
    whole = len(read) <= RATINGS_READ
    if not whole:  # the last item may be cut
        read = read[read["item"] != read["item"][-1]]
    read = read[read["code"] >= 0]
    items, where = np.unique(read["item"], return_inverse=True)
    counts = np.zeros((len(items), scale.width), np.int64)
    np.add.at(counts, (where, read["code"]), 1)
    counts = scale.ordered(counts)
    distance = disagreement(counts, scale.weightings()[weights])
    order = [i for i in np.lexsort((-items, -counts.sum(axis=1), -distance)) if distance[i] > 0][
        :limit
    ]
    found = Item.objects.defer("body", "attributes").in_bulk([int(items[i]) for i in order])
    top = [
        Dispute(found[int(items[i])], named(counts[i], scale), float(distance[i]))
        for i in order
        if items[i] in found
    ]
    return Disputes(top, len(items), whole)


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
    first."""
    own = list(
        chosen.ratings(Rating.objects.filter(rater=rater, question=question, code__gte=0))
        .select_related("item")
        .order_by("-changed_at")[:300]
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
