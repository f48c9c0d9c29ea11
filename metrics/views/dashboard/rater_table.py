"""One page of the table of raters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _

from metrics.results.pairs.pair_results import LEAST_ITEMS
from metrics.views.common.rater_columns import COLUMNS, SORTED_BY, Column, RaterRow
from metrics.views.common.selection import Selection, one_of, page_number
from metrics.views.common.sources.base import ProjectNumbers
from projects.models import Question, Rater

RATERS_A_PAGE = 10  # the page of raters shows all of them

# What higher rooms have to mark at raters of a question, for somebody of this role: rater id ->
# words, and the page that says more.
Marks = Mapping[int, Sequence[tuple[str, str]]]
MARKS: list[Callable[[Question, Collection[int], str], Marks]] = []


@dataclass(frozen=True)
class Cell:
    show: str
    value: Any


@dataclass(frozen=True)
class Line:
    rater: Rater
    cells: list[Cell]
    marks: list[tuple[str, str]]


@dataclass(frozen=True)
class RaterTable:
    """``sort``: the column that the table is sorted by; a minus before it turns the order round.
    ``floor``: of compared items, below which raters come last in this order; 0: in none."""

    page: Page
    sort: str
    columns: list[Column]
    lines: list[Line]
    rows: list[RaterRow]
    floor: int = 0

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
    marks = _marks(chosen, [row.reading.rater_id for row in rows])
    lines = []
    for row in rows:
        rater = row.reading.rater
        lines.append(Line(rater, _cells(row, columns, chosen), marks.get(rater.pk, [])))
    floor = LEAST_ITEMS if column.is_agreement(chosen) else 0
    return RaterTable(page, sort, columns, lines, rows, floor)


def _marks(chosen: Selection, raters: list[int]) -> dict[int, list[tuple[str, str]]]:
    """Of all ratings: a table of some of them says nothing of cases."""
    found: dict[int, list[tuple[str, str]]] = {}
    for marks in MARKS if raters and not chosen.filter else ():
        role = getattr(chosen.project, "role", "")
        for rater, those in marks(chosen.question, raters, role).items():
            found.setdefault(rater, []).extend(those)
    return found


def _cells(row: RaterRow, columns: list[Column], chosen: Selection) -> list[Cell]:
    return [Cell(column.show, column.value(row, chosen)) for column in columns]
