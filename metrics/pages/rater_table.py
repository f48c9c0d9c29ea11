"""One page of the table of raters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _

from projects.models import Rater

from .rater_columns import COLUMNS, SORTED_BY, Column, RaterRow
from .selection import Selection, one_of, page_number
from .sources.source import ProjectNumbers

RATERS_A_PAGE = 50


@dataclass(frozen=True)
class Cell:
    show: str
    value: Any


@dataclass(frozen=True)
class Line:
    rater: Rater
    cells: list[Cell]


@dataclass(frozen=True)
class RaterTable:
    """``sort``: the column that the table is sorted by; a minus before it turns the order round."""

    page: Page
    sort: str
    columns: list[Column]
    lines: list[Line]
    rows: list[RaterRow]

    @property
    def n_raters(self) -> int:
        return self.page.paginator.count

    @property
    def timed(self) -> bool:
        """Whether the seconds of any rater on the page are known."""
        return any(column.key == "seconds" for column in self.columns)


def rater_table(request: HttpRequest, chosen: Selection, numbers: ProjectNumbers) -> RaterTable:
    """The page that the address asks for. Raises Http404 for an unknown column or page."""
    allowed = [*SORTED_BY, *(f"-{key}" for key in SORTED_BY)]
    sort = one_of(request.GET, "sort", allowed) or "-ratings"
    column = SORTED_BY[sort.removeprefix("-")]
    raters = numbers.raters(column, descending=sort.startswith("-"))
    paginator = Paginator(raters, RATERS_A_PAGE)
    number = page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("No such page."))
    page = paginator.page(number)
    rows = numbers.rater_rows(list(page.object_list))
    columns = [column for column in COLUMNS if column.applies(chosen, rows)]
    lines = [Line(row.reading.rater, _cells(row, columns, chosen)) for row in rows]
    return RaterTable(page, sort, columns, lines, rows)


def _cells(row: RaterRow, columns: list[Column], chosen: Selection) -> list[Cell]:
    return [Cell(column.show, column.value(row, chosen)) for column in columns]
