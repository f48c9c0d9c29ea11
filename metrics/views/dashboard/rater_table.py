"""The table of raters on the dashboard, one page of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _

from core.hooks import Hook
from metrics.results.pair_results import MIN_COMPARED_ITEMS
from metrics.results.rater_results import RaterAgreement
from metrics.views.common.rater_columns import (
    COLUMNS,
    SORTABLE_COLUMNS,
    RaterColumn,
    Sparkline,
)
from metrics.views.common.selection import Selection, get_choice, get_page_number
from metrics.views.common.sources.base import ProjectSource
from projects.models import Question, Rater

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

    ``sort``: the sort column; a leading minus means descending. ``min_items``: number of compared
    items below which raters come last in this order; 0: no such limit.
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
    """Return {rater id: [(text, URL), ...]}; {} with a filter, as alerts are of all ratings."""
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
