"""Items by how far their ratings lie apart, by how many there are, or by when they were rated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from metrics.filtered import filtered_jobs
from metrics.filters import EVERYTHING
from metrics.models import CountState, Slice
from metrics.results.disagreement import disputed_items
from metrics.scale import QuestionScale
from projects.models import Item, Question
from ratings.items import item_search
from ratings.items.item_search import Wanted
from ratings.models import NOTHING, Rating

from .item_rows import ITEMS_A_PAGE, ItemRow, rows

# Up to so many ratings are read while the page waits; of more a worker makes the order
# (slice_parts.order). Of those given last the list tells so many.
RATINGS_SORTED = 30_000
ORDERS = ("disagreement", "ratings", "rated")


@dataclass(frozen=True)
class Sorted:
    """A page of a sorted list: of the ``told`` first items, of ``n_items`` with ratings (None: that
    is not known). ``waiting``: a worker is at it."""

    rows: list[ItemRow] = field(default_factory=list)
    told: int = 0
    n_items: int | None = None
    more: bool = False
    waiting: bool = False

    @property
    def whole(self) -> bool:
        return self.told == self.n_items


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
        ids, n_items = _by_time(question)
    elif found := _by_counts(question, scale, order, weights):
        ids, n_items = found
    else:
        return Sorted(waiting=True)
    fitting = _fitting(question, wanted, ids, start=(number - 1) * ITEMS_A_PAGE)
    page = rows(question, fitting[:ITEMS_A_PAGE], scale, weights)
    return Sorted(page, len(ids), n_items, more=len(fitting) > ITEMS_A_PAGE)


def _by_time(question: Question) -> tuple[list[int], int | None]:
    """Ids of items, the one rated last first, and how many items have ratings, where these are
    all."""
    latest = Rating.objects.standing().newest(question)
    read = list(latest.values_list("item_id", flat=True)[: RATINGS_SORTED + 1])
    ids = list(dict.fromkeys(read[:RATINGS_SORTED]))
    return ids, len(ids) if len(read) <= RATINGS_SORTED else None


def _by_counts(
    question: Question, scale: QuestionScale, order: str, weights: str
) -> tuple[list[int], int] | None:
    """The same by disagreement or number of ratings; None while a worker is at it."""
    every = Rating.objects.filter(question=question).order_by()
    columns = every.values_list("item_id", "code")[: RATINGS_SORTED + 1]
    read = np.fromiter(columns.iterator(), [("item", np.int64), ("code", np.int64)])
    if len(read) > RATINGS_SORTED:
        return _made_by_worker(question, order, weights)
    read = read[read["code"] != NOTHING]
    ids, place = np.unique(read["item"], return_inverse=True)
    counts = np.zeros((len(ids), scale.width), np.int64)
    np.add.at(counts, (place, read["code"]), 1)
    counts = scale.ordered(counts)
    total = counts.sum(axis=1)
    apart = disputed_items.disagreement(counts, scale.weightings()[weights])
    first = disputed_items.first(ids, total, apart if order == "disagreement" else total)
    return ids[first].tolist(), len(ids)


def _made_by_worker(question: Question, order: str, weights: str) -> tuple[list[int], int] | None:
    wanted = filtered_jobs.Wanted(Slice.Kind.ORDER, EVERYTHING)
    body = filtered_jobs.ask(question, wanted, version=CountState.version_of(question.pk)).body
    if body is None:
        return None
    ids = body["ratings"] if order == "ratings" else body["disagreement"].get(weights, [])
    return ids, body["n_items"]


def _fitting(question: Question, wanted: Wanted, ids: Sequence[int], *, start: int) -> list[Item]:
    """A page of the items that fit, and one more, from the one at the place ``start`` among
    them."""
    end = start + ITEMS_A_PAGE + 1
    if wanted != Wanted(question=wanted.question):
        return list(islice(item_search.among(question.project, wanted, ids), start, end))
    page = ids[start:end]
    found = Item.objects.in_bulk(page)
    return [found[pk] for pk in page if pk in found]
