"""Items with their ratings and counts, for the list, sorted or not, and the page of an item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from metrics.filtered import item_ranking
from metrics.question_scale import QuestionScale
from metrics.results.disputed_items import compute_disagreement, label_counts
from metrics.views.common.number_formats import format_count
from projects.models import Category, GoldAnswer, Item, ItemVersion, Question
from projects.services import gold
from ratings.items import item_search
from ratings.items.item_search import ItemCount, ItemFilters
from ratings.models import NO_CODE, Rating, Revision

ITEMS_PER_PAGE = 50


@dataclass
class ItemRow:
    """An item with the counts of its ratings by category."""

    item: Item
    counts: list[tuple[str, int]] = field(default_factory=list)
    disagreement: float | None = None  # mean distance of two ratings; None with fewer than two

    @property
    def n_ratings(self) -> int:
        return sum(count for _, count in self.counts)

    @property
    def is_unanimous(self) -> bool:
        return len(self.counts) <= 1


def build_rows(
    question: Question, items: Sequence[Item], scale: QuestionScale, weights: str
) -> list[ItemRow]:
    """Return a row for each item: its numbers of ratings by category, and their disagreement.

    ``weights``: weighting of the disagreement.
    """
    index_by_id = {item.pk: number for number, item in enumerate(items)}
    counts = np.zeros((len(items), scale.width), np.int64)
    ratings = Rating.objects.filter(question=question, item__in=list(index_by_id), code__gte=0)
    for item, code in ratings.values_list("item_id", "code"):
        counts[index_by_id[item], code] += 1
    counts = scale.reorder_to_declared(counts)
    distances = compute_disagreement(counts, scale.build_weight_matrices()[weights])
    item_rows = []
    for listed_item, row, distance in zip(items, counts, distances.tolist(), strict=True):
        several = row.sum() > 1
        item_rows.append(
            ItemRow(listed_item, label_counts(row, scale), distance if several else None)
        )
    return item_rows


def list_sort_orders() -> list[tuple[str, str]]:
    """Return (value, label) of the sort orders."""
    return [
        ("", _("order added")),
        ("disagreement", _("most disagreement first")),
        ("ratings", _("most ratings first")),
        ("rated", _("last rated first")),
    ]


def list_states(*, with_gold: bool) -> list[tuple[str, str]]:
    """Return (value, label) of the states to filter by; only leads may filter by gold answers."""
    states = [
        ("", _("All items")),
        ("active", _("open for rating")),
        ("empty", _("no content")),
        ("withdrawn", _("withdrawn")),
        ("flagged", _("flagged by a rater")),
        ("skipped", _("skipped by a rater")),
    ]
    return states + ([("gold", _("with a gold answer"))] if with_gold else [])


def list_answer_filters() -> list[tuple[str, str]]:
    """Return (value, label) of the filters by answers."""
    return [
        ("", _("Any")),
        ("differ", _("answers differ")),
        ("same", _("all agree")),
    ]


# --- one item


@dataclass
class RatingRow:
    """A rating with its label, its history, and the names of the raters who differ.

    ``history``: (label, revision), oldest first.
    """

    rating: Rating
    label: str
    differs_from: list[str]
    history: list[tuple[str, Revision]]

    @property
    def history_text(self) -> str:
        """Return the history as one text, for a file."""
        entries = [
            (
                revision.recorded_at.isoformat(),
                label or _("withdrawn"),
                revision.get_source_display(),
                str(revision.by or ""),
                _("guidelines %(n)s") % {"n": revision.guidelines} if revision.guidelines else "",
            )
            for label, revision in self.history
        ]
        return "; ".join(", ".join(filter(None, entry)) for entry in entries)


@dataclass
class QuestionRatings:
    """The ratings of an item for one question, and how many there are of each category.

    ``counts``: (label, number); ``gold``: None for readers who may not see gold answers.
    """

    question: Question
    ratings: list[RatingRow]
    counts: list[tuple[str, int]]
    gold: ItemGold | None = None


@dataclass
class ItemGold:
    """The gold answer of an item to a question, and the possible answers.

    ``answer`` is None without a gold answer. ``labels``: (label, share), with None as share if the
    answer has no shares. ``options``: (category, whether it is part of the answer).
    """

    answer: GoldAnswer | None
    labels: list[tuple[str, float | None]]
    options: list[tuple[Category, bool]]


def list_item_ratings(
    item: Item, questions: list[Question], *, with_gold: bool, with_history: bool = True
) -> list[QuestionRatings]:
    """Return every rating of an item by question, with its history and the raters who differ.

    Withdrawn ratings come last.
    """
    ratings = list(
        Rating.objects.filter(item=item, question__in=questions)
        .select_related("rater")
        .order_by("rater__key")
    )
    revisions: dict[int, list[Revision]] = {rating.pk: [] for rating in ratings}
    history = (
        Revision.objects.filter(rating__in=list(revisions)).select_related("by").order_by("id")
    )
    for revision in history if with_history else ():
        revisions[revision.rating_id].append(revision)
    answers = []
    for question in questions:
        answer = _build_question_ratings(question, ratings, revisions)
        if with_gold:
            answer.gold = _build_gold(item, question)
        answers.append(answer)
    return answers


def list_previous_versions(item: Item) -> list[ItemVersion]:
    """Return the previous contents of the item, newest first."""
    return list(item.versions.select_related("by").order_by("-number"))


def _build_gold(item: Item, question: Question) -> ItemGold:
    answer = gold.get_gold_in_force(question, [item.pk]).select_related("by").first()
    labels = {category.code: category.label for category in question.categories.all()}
    gold_codes = answer.answer if answer else []
    shares: list[tuple[str, float | None]] = []
    for code in gold_codes:
        share = gold_codes[code] if isinstance(gold_codes, dict) else None
        shares.append((labels.get(int(code), str(code)), share))
    correct_codes = {int(code) for code in gold_codes}
    options = [
        (category_option, category_option.code in correct_codes)
        for category_option in question.active_categories()
    ]
    return ItemGold(answer, shares, options)


def _build_question_ratings(
    question: Question, ratings: list[Rating], revisions: dict[int, list[Revision]]
) -> QuestionRatings:
    labels = {category.code: category.label for category in question.categories.all()}
    labels[NO_CODE] = ""
    question_ratings = sorted(
        (candidate for candidate in ratings if candidate.question_id == question.pk),
        key=lambda rating: rating.code == NO_CODE,
    )
    current_ratings = [rating for rating in question_ratings if rating.code != NO_CODE]
    rows = [
        RatingRow(
            rating,
            labels.get(rating.code, ""),
            [
                str(other_rating.rater)
                for other_rating in current_ratings
                if rating.code not in (NO_CODE, other_rating.code)
            ],
            [(labels.get(revision.code, ""), revision) for revision in revisions[rating.pk]],
        )
        for rating in question_ratings
    ]
    counts = Counter(rating.code for rating in current_ratings)
    scale = QuestionScale.for_question(question)
    ordered = [counts[code] for code in scale.codes.tolist()]
    return QuestionRatings(question, rows, label_counts(ordered, scale))


def list_attributes(item: Item) -> list[tuple[str, Any]]:
    """Return (name, value) of the item's non-empty attributes, which raters never see."""
    attributes = (
        item.attributes if isinstance(item.attributes, dict) else {"attributes": item.attributes}
    )
    return [
        (str(name), value) for name, value in attributes.items() if value not in ("", None, [], {})
    ]


@dataclass(frozen=True)
class SortedItems:
    """A page of a sorted list.

    ``n_sorted``: number of items in the order; ``n_items``: number of items with ratings, None if
    unknown. ``pending``: a worker is sorting.
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
    """Return the matching items of a page, and the first one of the next page if there is any.

    ``ids``: item ids in the order of the list; ``start``: position of the page among the
    matches.
    """
    end = start + ITEMS_PER_PAGE + 1
    if item_filters != ItemFilters(question=item_filters.question):
        return list(
            islice(item_search.iter_matches(question.project, item_filters, ids), start, end)
        )
    page = ids[start:end]
    item_by_id = Item.objects.in_bulk(page)
    return [item_by_id[pk] for pk in page if pk in item_by_id]


def describe_match_count(number: ItemCount, n_items: int) -> str:
    """Return the text on how many of the project's items match."""
    params = {"fit": format_count(number.items), "all": format_count(n_items)}
    if number.more:
        return _("Over %(fit)s of %(all)s items match") % params
    if number.n_scanned:
        params["looked_at"] = format_count(number.n_scanned)
        return _("%(fit)s of the first %(looked_at)s of %(all)s items match") % params
    return (
        ngettext("1 of %(all)s items matches", "%(fit)s of %(all)s items match", number.items)
        % params
    )


def describe_page_range(
    n_before: int | None, n_rows: int, n_listed: int | None, number: ItemCount | None
) -> str:
    """Return the text on which items a page shows; empty if their position is unknown.

    ``n_before``: number of items on the pages before; ``n_rows``: on this page; ``n_listed``: on
    all pages, None if unknown; ``number``: number of matches, None without a filter.
    """
    if n_before is None:
        return ""
    params = {"first": format_count(n_before + 1), "last": format_count(n_before + n_rows)}
    if n_listed is None or (number and number.n_scanned):
        return _("%(first)s to %(last)s") % params
    params["all"] = format_count(number.items if number else n_listed)
    if number and number.more:
        return _("%(first)s to %(last)s of over %(all)s") % params
    return _("%(first)s to %(last)s of %(all)s") % params


def describe_skip_count(number: int, max_counted: int) -> str:
    """Return the text on how often items were skipped or flagged, counted up to ``max_counted``."""
    if number >= max_counted:
        return _("skipped or flagged %(n)s or more times") % {"n": format_count(number)}
    template = ngettext("skipped or flagged once", "skipped or flagged %(n)s times", number)
    return template % {"n": format_count(number)}
