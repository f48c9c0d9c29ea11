"""Pages of items sorted by disagreement, number of ratings, or time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from metrics.filtered import item_ranking
from metrics.question_scale import QuestionScale
from projects.models import Item, Question
from ratings.items import item_search
from ratings.items.item_search import ItemFilters

from .item_rows import ITEMS_PER_PAGE, ItemRow, build_rows


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
    """Return a page (from 1) of the matching items in one of item_ranking.ORDERS.

    Ties: the newer item first.
    """
    ranking = item_ranking.rank_items(question, scale, order=order, weights=weights)
    if ranking is None:
        return SortedItems(pending=True)
    ids, n_items = ranking
    matches = _list_matches(question, item_filters, ids, start=(number - 1) * ITEMS_PER_PAGE)
    page = build_rows(question, matches[:ITEMS_PER_PAGE], scale, weights)
    return SortedItems(page, len(ids), n_items, has_more=len(matches) > ITEMS_PER_PAGE)


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
