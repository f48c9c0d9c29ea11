"""Items by how far their ratings lie apart, or by how many there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metrics.readings.disputes import disagreement
from metrics.scale import QuestionScale
from projects.models import Item, Question
from ratings.items import finding
from ratings.items.finding import Wanted
from ratings.models import NOTHING, Rating

from .item_list import ITEMS_A_PAGE, ItemRow, counted

# The newest items' ratings, of which the sorted list tells the first: reading them takes a fraction
# of the time that a page may take. Smaller projects are sorted whole.
RATINGS_SORTED = 30_000
ORDERS = ("disagreement", "ratings")


@dataclass(frozen=True)
class Sorted:
    """A page of a sorted list: of the ``n_items`` newest items with ratings; ``whole``: of all."""

    rows: list[ItemRow]
    n_items: int
    whole: bool
    more: bool


def sorted_page(
    question: Question,
    scale: QuestionScale,
    wanted: Wanted,
    *,
    weights: str,
    order: str,
    number: int,
) -> Sorted:
    """The page of this number (from 1) of the items that fit, by one of ORDERS; of equals the newer
    item first."""
    newest = Rating.objects.filter(question=question).order_by("-item_id")
    columns = newest.values_list("item_id", "code")[: RATINGS_SORTED + 1]
    read = np.fromiter(columns.iterator(), [("item", np.int64), ("code", np.int64)])
    whole = len(read) <= RATINGS_SORTED
    if not whole:  # the last item may be cut
        read = read[read["item"] != read["item"][-1]]
    read = read[read["code"] != NOTHING]
    ids, place = np.unique(read["item"], return_inverse=True)
    counts = np.zeros((len(ids), scale.width), np.int64)
    np.add.at(counts, (place, read["code"]), 1)
    counts = scale.ordered(counts)
    fitting = _fitting(question, ids, wanted)
    apart = disagreement(counts, scale.weightings()[weights])
    value = apart if order == "disagreement" else counts.sum(axis=1)
    best = np.lexsort((-ids, -counts.sum(axis=1), -value))
    best = best[fitting[best]]
    start = (number - 1) * ITEMS_A_PAGE
    chosen = best[start : start + ITEMS_A_PAGE]
    items = Item.objects.in_bulk(ids[chosen].tolist())
    kept = [one for one in chosen.tolist() if int(ids[one]) in items]
    page = counted([items[int(ids[one])] for one in kept], counts[kept], scale, weights)
    return Sorted(page, len(ids), whole, more=len(best) > start + ITEMS_A_PAGE)


def _fitting(question: Question, ids: np.ndarray, wanted: Wanted) -> np.ndarray:
    """Which of the items fit. (n,)"""
    if wanted == Wanted(question=wanted.question) or not len(ids):
        return np.ones(len(ids), bool)
    fit = finding.ids_among(question.project, wanted, first=int(ids[0]), last=int(ids[-1]))
    return np.isin(ids, np.fromiter(fit, np.int64))
