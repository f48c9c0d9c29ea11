"""Items by how far their ratings lie apart, by how many there are, or by when they were rated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from metrics.readings.disputes import disagreement
from metrics.scale import QuestionScale
from projects.models import Item, Question
from ratings.items import finding
from ratings.items.finding import Wanted
from ratings.models import NOTHING, Rating

from .item_list import ITEMS_A_PAGE, ItemRow, rows

# The newest items' ratings (or the latest ratings), of which the sorted list tells the first:
# reading them takes a fraction of the time that a page may take. Smaller projects are sorted whole.
RATINGS_SORTED = 30_000
ORDERS = ("disagreement", "ratings", "rated")


@dataclass(frozen=True)
class Sorted:
    """A page of a sorted list: of the ``n_items`` newest items with ratings, or those rated last;
    ``whole``: of all."""

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
    if order == "rated":
        ids, whole = _by_time(question)
    else:
        ids, whole = _by_counts(question, scale, order, weights)
    fitting = _fitting(question, wanted, ids, start=(number - 1) * ITEMS_A_PAGE)
    page = rows(question, fitting[:ITEMS_A_PAGE], scale, weights)
    return Sorted(page, len(ids), whole, more=len(fitting) > ITEMS_A_PAGE)


def _by_time(question: Question) -> tuple[list[int], bool]:
    """Ids of items, the one rated last first, and whether these are all with ratings."""
    latest = Rating.objects.standing().newest(question)
    read = list(latest.values_list("item_id", flat=True)[: RATINGS_SORTED + 1])
    return list(dict.fromkeys(read[:RATINGS_SORTED])), len(read) <= RATINGS_SORTED


def _by_counts(
    question: Question, scale: QuestionScale, order: str, weights: str
) -> tuple[list[int], bool]:
    """The same by disagreement or number of ratings, of the newest items."""
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
    apart = disagreement(counts, scale.weightings()[weights])
    value = apart if order == "disagreement" else counts.sum(axis=1)
    best = np.lexsort((-ids, -counts.sum(axis=1), -value))
    return ids[best].tolist(), whole


def _fitting(question: Question, wanted: Wanted, ids: Sequence[int], *, start: int) -> list[Item]:
    """A page of the items that fit, and one more, from the one at the place ``start`` among
    them."""
    end = start + ITEMS_A_PAGE + 1
    if wanted != Wanted(question=wanted.question):
        return list(islice(finding.among(question.project, wanted, ids), start, end))
    page = ids[start:end]
    found = Item.objects.in_bulk(page)
    return [found[pk] for pk in page if pk in found]
