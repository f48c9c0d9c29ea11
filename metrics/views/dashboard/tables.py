"""Tables of the dashboard: other statistics, weightings, coverage, pairs, and a page of raters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _

from core.hooks import Hook
from metrics.agreement import registry
from metrics.agreement.headline import COHEN, FLEISS
from metrics.agreement.weights import WEIGHTINGS, get_weighted_name
from metrics.results import pair_results
from metrics.results.pair_results import MIN_COMPARED_ITEMS
from metrics.results.question_agreement import QuestionAgreement
from metrics.results.rater_results import RaterAgreement
from metrics.results.stored_values import ResultDetails, Value
from metrics.views.common.rater_columns import (
    COLUMNS,
    SORTABLE_COLUMNS,
    RaterColumn,
    Sparkline,
)
from metrics.views.common.selection import Selection, get_choice, get_page_number
from metrics.views.common.sources.base import ProjectSource
from projects.models import Question, Rater

MAX_COVERAGE_ROWS = 11  # numbers of ratings with a row of their own
MAX_MATRIX_RATERS = 20  # a wider table is unreadable; the list of pairs replaces it


def list_other_statistics(
    selection: Selection, agreement: QuestionAgreement | None
) -> list[tuple[str, Value]]:
    """Return (name, estimate) of the coefficients shown next to the headline."""
    if agreement is None:
        return []
    estimates = (
        agreement.displayed_coefficients
        | agreement.headline.get("values", {})
        | agreement.pairwise_means
    )
    if unweighted := agreement.get_unweighted(agreement.headline.get("name", "")):
        estimates |= dict([unweighted])
    names = [
        *agreement.headline.get("companions", []),
        *registry.list_secondary_names(selection.scale.kind),
    ]
    names.insert(0, get_weighted_name("fleiss_kappa", agreement.headline.get("weights", "none")))
    names += [name for name in agreement.headline.get("values", {}) if name not in names]
    names.append(get_weighted_name(registry.MEAN_BY_ITEMS, selection.weights))
    headline_name = selection.requested_coefficient or agreement.headline.get("name")
    selected = [
        name for name in dict.fromkeys(names) if name != headline_name and name in estimates
    ]
    # The mean over one pair repeats that pair's kappa, with another interval.
    return [(name, estimates[name]) for name in selected if estimates[name].get("n_pairs") != 1]


def compare_weightings(
    agreement: QuestionAgreement | None, source: ProjectSource, raters: list[Rater]
) -> tuple[str, list[tuple[str, Value]]]:
    """Return the name of a kappa, and (weighting, estimate) under each weighting of the scale.

    It is Cohen's kappa if the headline is, else Fleiss' kappa. The list is empty without an
    agreement.
    """
    if agreement is None:
        return FLEISS, []
    names = [(weights, get_weighted_name(FLEISS, weights)) for weights in WEIGHTINGS]
    fleiss = [
        (weights, agreement.displayed_coefficients[name])
        for weights, name in names
        if name in agreement.displayed_coefficients
    ]
    if not agreement.headline.get("name", "").startswith(COHEN):
        return FLEISS, fleiss
    people = [rater for rater in raters if rater.kind == Rater.Kind.HUMAN]
    two_raters = people if len(people) == 2 else raters
    return COHEN, [
        (weights, pair.kappa)
        for weights, _estimate in fleiss
        for pair in source.list_pairs_among(two_raters, weights)
    ]


@dataclass(frozen=True)
class Coverage:
    """Numbers of items by their number of ratings, and of comparable items.

    ``rows``: (number of ratings, items); ``more``: items with ``more_from`` ratings or more, which
    have no row; ``n_complete_items``: items with at least the project's overlap of ratings.
    """

    total: int
    rated: int
    unrated: int
    single: int
    pairable: int
    n_complete_items: int
    rows: list[tuple[int, int]]
    more_from: int | None
    more: int
    uneven: bool


def summarize_coverage(
    selection: Selection, agreement: QuestionAgreement | None, total: int
) -> Coverage:
    """Return how many of ``total`` items have how many ratings."""
    details: ResultDetails = agreement.details if agreement else {}
    by_ratings = {
        int(number): items
        for number, items in details.get("by_ratings", {}).items()
        if int(number) > 0
    }
    rated = sum(by_ratings.values())
    rows = [(number, by_ratings[number]) for number in sorted(by_ratings)]
    rows, tail = rows[:MAX_COVERAGE_ROWS], rows[MAX_COVERAGE_ROWS:]
    unrated = max(total - rated, 0)
    overlap = selection.project.overlap
    return Coverage(
        total=total,
        rated=rated,
        unrated=unrated,
        single=by_ratings.get(1, 0),
        pairable=details.get("with_two_or_more", 0),
        n_complete_items=sum(items for number, items in by_ratings.items() if number >= overlap),
        rows=[(0, unrated), *rows] if unrated else rows,
        more_from=tail[0][0] if tail else None,
        more=sum(items for _number, items in tail),
        uneven=len([number for number in by_ratings if number >= 2]) > 1,
    )


def build_matrix_rows(
    raters: list[Rater], matrix: list[pair_results.PairAgreement]
) -> list[tuple[Rater, list[pair_results.PairAgreement | None]]]:
    """Return the pairs as a square table: (rater, cells) for each of ``raters``, in their order.

    A cell is None where two raters share no item, and on the diagonal. Empty for more than
    MAX_MATRIX_RATERS raters.
    """
    if len(raters) > MAX_MATRIX_RATERS:
        return []
    pair_by_ids = {(pair.rater_a.pk, pair.rater_b.pk): pair for pair in matrix}
    return [
        (
            row,
            [
                pair_by_ids.get((row.pk, column.pk)) or pair_by_ids.get((column.pk, row.pk))
                for column in raters
            ],
        )
        for row in raters
    ]


RATERS_PER_PAGE = 10  # the page "Raters" lists all of them

# Annotations of a question's raters for a user with a role: {rater id: [(text, URL), ...]}.
# Packages above register functions that return them at startup.
RaterAnnotations = Mapping[int, Sequence[tuple[str, str]]]
ANNOTATION_SOURCES: Hook[Callable[[Question, Collection[int], str], RaterAnnotations]] = Hook(
    "annotations_of_raters"
)


@dataclass(frozen=True)
class RaterCell:
    show: str
    value: Any


@dataclass(frozen=True)
class RaterLine:
    rater: Rater
    cells: list[RaterCell]
    annotations: list[tuple[str, str]]


@dataclass(frozen=True)
class RaterTable:
    """A page of the table of raters.

    ``sort``: the sort column; a leading minus means descending. ``min_items``: raters with fewer
    compared items come after the others in this order; 0: no such limit.
    """

    page: Page
    sort: str
    columns: list[RaterColumn]
    lines: list[RaterLine]
    raters: list[RaterAgreement]
    min_items: int = 0

    @property
    def n_raters(self) -> int:
        return self.page.paginator.count


def build_rater_table(
    request: HttpRequest, selection: Selection, source: ProjectSource
) -> RaterTable:
    """Return the page of the table that the URL selects.

    Raises Http404 for an unknown column or page.
    """
    allowed = [*SORTABLE_COLUMNS, *(f"-{key}" for key in SORTABLE_COLUMNS)]
    sort = get_choice(request.GET, "sort", allowed) or "-ratings"
    column = SORTABLE_COLUMNS[sort.removeprefix("-")]
    refs = source.list_rater_refs(column, descending=sort.startswith("-"))
    paginator = Paginator(refs, RATERS_PER_PAGE)
    number = get_page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("Page not found."))
    page = paginator.page(number)
    raters = source.load_raters(list(page.object_list))
    columns = [column for column in COLUMNS if column.is_applicable(selection, raters)]
    annotations = _get_annotations(selection, [row.rater.pk for row in raters])
    sparklines = source.get_sparklines(raters)
    lines = [
        RaterLine(
            row.rater,
            _build_cells(row, columns, selection, sparklines.get(row.rater.pk, [])),
            annotations.get(row.rater.pk, []),
        )
        for row in raters
    ]
    min_items = MIN_COMPARED_ITEMS if column.is_agreement(selection) else 0
    return RaterTable(page, sort, columns, lines, raters, min_items)


def _get_annotations(selection: Selection, raters: list[int]) -> dict[int, list[tuple[str, str]]]:
    """Return {rater id: [(text, URL), ...]} of the marks of higher packages on raters.

    Empty with a filter, because they concern all ratings.
    """
    annotations: dict[int, list[tuple[str, str]]] = {}
    for get_annotations in ANNOTATION_SOURCES if raters and not selection.filter else ():
        role = getattr(selection.project, "role", "")
        for rater, rater_annotations in get_annotations(selection.question, raters, role).items():
            annotations.setdefault(rater, []).extend(rater_annotations)
    return annotations


def _build_cells(
    row: RaterAgreement, columns: list[RaterColumn], selection: Selection, sparkline: Sparkline
) -> list[RaterCell]:
    return [
        RaterCell(
            column.show,
            sparkline if column.show == "sparkline" else column.get_value(row, selection),
        )
        for column in columns
    ]
