"""Columns of the table of raters, defined once for pages and files.

A column holds the path of its value in a RaterResult and in a RaterAgreement. The same path serves
the database, which sorts all raters by it, and a loaded row, whose cell shows it. To add a column,
add a line to COLUMNS, and a result that computes the value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, F, IntegerField, QuerySet, Value, When
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from metrics.agreement.registry import MEAN_PAIRWISE
from metrics.models import RaterResult, build_number_expression
from metrics.question_scale import get_weighted_name
from metrics.results.pair_results import MIN_COMPARED_ITEMS
from metrics.results.rater_results import RaterAgreement

from .selection import Selection

COEFFICIENT_PREFIX = "coefficients__"


Sparkline = Sequence[float | None]  # values of weeks, oldest first


def _is_always_applicable(_selection: Selection, _raters: Sequence[RaterAgreement]) -> bool:
    return True


@dataclass(frozen=True)
class RaterColumn:
    """A column of the table of raters.

    ``path``: where the value is stored, as in a query: "n_ratings", "coefficients__vs_peers".
    ``show``: how a cell is rendered (templates/metrics/dashboard/_raters.html). ``first_sort``: the
    sort order of the first click; empty if the column cannot be sorted. ``hidden``: the heading is
    for screen readers only.
    """

    key: str
    heading: str | Promise
    path: Callable[[Selection], str]
    show: str
    first_sort: str = ""
    hidden: bool = False
    help_term: str = ""  # its term in the glossary (metrics.agreement.glossary)
    is_applicable: Callable[[Selection, Sequence[RaterAgreement]], bool] = _is_always_applicable

    @property
    def is_number(self) -> bool:
        """Return whether the column holds numbers."""
        return self.is_plain_number or self.show in ("estimate", "signed")

    @property
    def is_plain_number(self) -> bool:
        """Return whether the column holds numbers without an interval and a number of items."""
        return self.show in ("count", "tenths")

    def is_agreement(self, selection: Selection) -> bool:
        """Return whether the column holds a coefficient, which may be based on too few items."""
        return self.path(selection).startswith(COEFFICIENT_PREFIX)

    def get_value(self, rater: RaterAgreement, selection: Selection) -> Any:
        """Return the value that the cell shows."""
        return _get_at_path(rater, self.path(selection))

    def sort_queryset(
        self, rows: QuerySet[RaterResult], selection: Selection, *, descending: bool
    ) -> QuerySet[RaterResult]:
        """Sort in the database; ties by key.

        In either order, values based on too few items come after the others, because among few
        items the lowest or highest value is often chance. Rows without a value come last.
        """
        path = self.path(selection)
        column, leading = F(path), []
        if self.is_agreement(selection):
            rows = rows.annotate(
                compared=build_number_expression(f"{path}__n_items"),
                sorted_by=build_number_expression(f"{path}__value"),
            ).annotate(
                few=Case(
                    When(sorted_by__isnull=True, then=Value(2)),
                    When(compared__gte=MIN_COMPARED_ITEMS, then=Value(0)),
                    default=Value(1),
                    output_field=IntegerField(),
                ),
            )
            column, leading = F("sorted_by"), ["few"]
        order = column.desc(nulls_last=True) if descending else column.asc(nulls_last=True)
        return rows.order_by(*leading, order, "rater__key")

    def sort_rows(
        self, rows: Sequence[RaterAgreement], selection: Selection, *, descending: bool
    ) -> list[RaterAgreement]:
        """Sort loaded rows as `sort_queryset` does."""
        path = value = self.path(selection)
        if self.is_agreement(selection):
            value = f"{path}__value"
        by_key = sorted(rows, key=lambda row: row.rater.key)
        defined = [row for row in by_key if _get_at_path(row, value) is not None]
        defined.sort(key=lambda row: _get_at_path(row, value), reverse=descending)
        if self.is_agreement(selection):
            defined.sort(
                key=lambda row: (_get_at_path(row, f"{path}__n_items") or 0) < MIN_COMPARED_ITEMS
            )
        return defined + [row for row in by_key if _get_at_path(row, value) is None]


def _get_at_path(row: RaterAgreement, path: str) -> Any:
    """Return the value of a row at a path such as "coefficients__vs_peers", or None."""
    value: Any = row
    for name in path.split("__"):
        value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
    return value


def _get_vs_peers_lookup(selection: Selection) -> str:
    return f"{COEFFICIENT_PREFIX}{selection.vs_peers}"


def _get_mean_pairwise_lookup(selection: Selection) -> str:
    return f"{COEFFICIENT_PREFIX}{get_weighted_name(MEAN_PAIRWISE, selection.weights)}"


def _is_ordered(selection: Selection, _raters: Sequence[RaterAgreement]) -> bool:
    return selection.ordered


def _has_seconds(_selection: Selection, raters: Sequence[RaterAgreement]) -> bool:
    """Return whether the seconds of any rater on the page are known."""
    return any(rater.seconds is not None for rater in raters)


COLUMNS = (
    RaterColumn("rater", _("Rater"), lambda _chosen: "rater__key", "rater", first_sort="rater"),
    RaterColumn(
        "ratings", _("Ratings"), lambda _chosen: "n_ratings", "count", first_sort="-ratings"
    ),
    RaterColumn(
        "vs_peers",
        _("Kappa with peers"),
        _get_vs_peers_lookup,
        "estimate",
        first_sort="vs_peers",
        help_term="vs_peers",
    ),
    RaterColumn(
        "vs_peers_scale", _("Interval"), _get_vs_peers_lookup, "interval_chart", hidden=True
    ),
    RaterColumn("trend", _("Trend by week"), _get_vs_peers_lookup, "sparkline"),
    RaterColumn(
        "pairwise",
        _("Mean pairwise kappa"),
        _get_mean_pairwise_lookup,
        "estimate",
        first_sort="pairwise",
        help_term="mean_pairwise_kappa",
    ),
    RaterColumn(
        "bias",
        _("Bias"),
        lambda _chosen: f"{COEFFICIENT_PREFIX}vs_peers_bias",
        "signed",
        first_sort="-bias",
        help_term="vs_peers_bias",
        is_applicable=_is_ordered,
    ),
    RaterColumn(
        "seconds",
        _("Seconds per item"),
        lambda _chosen: "seconds",
        "tenths",
        first_sort="-seconds",
        help_term="seconds",
        is_applicable=_has_seconds,
    ),
)
SORTABLE_COLUMNS = {column.key: column for column in COLUMNS if column.first_sort}
