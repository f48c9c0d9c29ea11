"""The table of raters: its columns, written once, and one page of it.

A column says where its value stands in a RaterReading. The same path serves the database, which
sorts all raters by it, and a row in hand, of which a cell shows it. To add a column: a line in
COLUMNS, and a reading that computes the value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, F, IntegerField, QuerySet, Value, When
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from metrics.agreement.registry import MEAN_PAIRWISE
from metrics.models import RaterReading, number_at
from metrics.results.pairs.pair_results import LEAST_ITEMS
from metrics.scale import weighted

from .selection import Selection

COEFFICIENTS = "coefficients__"


@dataclass(frozen=True)
class RaterRow:
    """A rater's reading, and the values of the sparkline by week."""

    reading: RaterReading
    spark: list[float | None]


def _always(_chosen: Selection, _rows: Sequence[RaterRow]) -> bool:
    return True


@dataclass(frozen=True)
class Column:
    """``path``: where the value stands, as in a query: "n_ratings", "coefficients__vs_peers".

    ``show``: how a cell is drawn (templates/metrics/dashboard/_raters.html). ``first``: the order of the
    first click; empty: the table is not sorted by it. ``hidden``: the heading is read aloud only.
    """

    key: str
    heading: str | Promise
    path: Callable[[Selection], str]
    show: str
    first: str = ""
    hidden: bool = False
    about: str = ""  # what explains it (metrics.agreement.glossary)
    applies: Callable[[Selection, Sequence[RaterRow]], bool] = _always

    @property
    def is_number(self) -> bool:
        return self.is_one or self.show in ("reading", "signed")

    @property
    def is_one(self) -> bool:
        """A number alone, without an interval and what it rests on."""
        return self.show in ("whole", "tenths")

    def is_agreement(self, chosen: Selection) -> bool:
        """Whether it compares with the others, on items of which there may be too few."""
        return self.path(chosen).startswith(COEFFICIENTS)

    def value(self, row: RaterRow, chosen: Selection) -> Any:
        """What the cell shows."""
        return row.spark if self.show == "spark" else _at(row.reading, self.path(chosen))

    def sorted_rows(
        self, rows: QuerySet[RaterReading], chosen: Selection, *, descending: bool
    ) -> QuerySet[RaterReading]:
        """By the database; what has no value comes last, equals by key. Before them, in either
        order, comes what rests on too few items: of five one is the worst or the best by chance."""
        path = self.path(chosen)
        column, first = F(path), []
        if self.is_agreement(chosen):
            rows = rows.annotate(
                compared=number_at(f"{path}__n_items"),
                sorted_by=number_at(f"{path}__value"),
            ).annotate(
                few=Case(
                    When(sorted_by__isnull=True, then=Value(2)),
                    When(compared__gte=LEAST_ITEMS, then=Value(0)),
                    default=Value(1),
                    output_field=IntegerField(),
                ),
            )
            column, first = F("sorted_by"), ["few"]
        order = column.desc(nulls_last=True) if descending else column.asc(nulls_last=True)
        return rows.order_by(*first, order, "rater__key")

    def sorted_list(
        self, rows: Sequence[RaterReading], chosen: Selection, *, descending: bool
    ) -> list[RaterReading]:
        """The same of rows in hand."""
        path = value = self.path(chosen)
        if self.is_agreement(chosen):
            value = f"{path}__value"
        by_key = sorted(rows, key=lambda row: row.rater.key)
        known = [row for row in by_key if _at(row, value) is not None]
        known.sort(key=lambda row: _at(row, value), reverse=descending)
        if self.is_agreement(chosen):
            known.sort(key=lambda row: (_at(row, f"{path}__n_items") or 0) < LEAST_ITEMS)
        return known + [row for row in by_key if _at(row, value) is None]


def _at(row: RaterReading, path: str) -> Any:
    """What stands at a path; None where nothing does."""
    found: Any = row
    for name in path.split("__"):
        found = found.get(name) if isinstance(found, dict) else getattr(found, name, None)
    return found


def _vs_peers(chosen: Selection) -> str:
    return f"{COEFFICIENTS}{chosen.vs_peers}"


def _pairwise(chosen: Selection) -> str:
    return f"{COEFFICIENTS}{weighted(MEAN_PAIRWISE, chosen.weights)}"


def _ordered(chosen: Selection, _rows: Sequence[RaterRow]) -> bool:
    return chosen.ordered


def _timed(_chosen: Selection, rows: Sequence[RaterRow]) -> bool:
    """Whether the seconds of any rater on the page are known."""
    return any(row.reading.seconds is not None for row in rows)


COLUMNS = (
    Column("rater", _("Rater"), lambda _chosen: "rater__key", "rater", first="rater"),
    Column("ratings", _("Ratings"), lambda _chosen: "n_ratings", "whole", first="-ratings"),
    Column(
        "vs_peers", _("Kappa with peers"), _vs_peers, "reading", first="vs_peers", about="vs_peers"
    ),
    Column("vs_peers_scale", _("On a scale"), _vs_peers, "whisker", hidden=True),
    Column("trend", _("Trend by week"), _vs_peers, "spark"),
    Column(
        "pairwise",
        _("Mean pairwise kappa"),
        _pairwise,
        "reading",
        first="pairwise",
        about="mean_pairwise_kappa",
    ),
    Column(
        "bias",
        _("Bias"),
        lambda _chosen: f"{COEFFICIENTS}vs_peers_bias",
        "signed",
        first="-bias",
        about="vs_peers_bias",
        applies=_ordered,
    ),
    Column(
        "seconds",
        _("Seconds per item"),
        lambda _chosen: "seconds",
        "tenths",
        first="-seconds",
        about="seconds",
        applies=_timed,
    ),
)
SORTED_BY = {column.key: column for column in COLUMNS if column.first}
