"""Two periods that a page compares, and sentences on recent changes.

The periods are chosen by the URL, or are those with the latest clear change. All of it is based on
stored results only.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import Any
from urllib.parse import urlencode

import numpy as np
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from metrics import periods
from metrics.agreement.comparison.before_after import compute_difference_margin
from metrics.agreement.estimate import NORMAL_QUANTILE, Value
from metrics.models import Attribution, PeriodUnit, Result
from metrics.question_scale import get_weighted_name
from metrics.results.findings import RECENT_CHANGE
from metrics.results.intervals import QuestionClusters
from metrics.views.common import display_names
from metrics.views.common.number_formats import format_count, format_number
from metrics.views.common.selection import Selection, get_choice
from projects.models import Question

from .trend_points import TrendPoint, format_period

SPANS = (PeriodUnit.WEEK.value, PeriodUnit.MONTH.value)
MAX_PERIODS = 260  # newest weeks and months, together, that can be selected
MAX_SCANNED_PERIODS = (
    53  # newest periods with enough items that are searched for the latest clear change
)
FAMILY_ERROR_RATE = 0.05  # probability that any of these changes is called clear by chance
CLEAR_CHANGE, LAST_TWO = (
    "moved",
    "last",
)  # default of the page: a clear change, or the last two periods


@dataclass(frozen=True)
class TrendPeriod:
    """A week or month with ratings, and its stored estimate."""

    span: str
    start: datetime.date
    estimate: Value

    @property
    def has_enough_items(self) -> bool:
        return periods.has_enough_items(self.estimate)

    @property
    def label(self) -> str:
        return format_period(self.span, self.start)


@dataclass(frozen=True)
class PeriodComparison:
    """The two periods to compare; ``error`` is the error message if there are none.

    ``default_kind``: if the URL selects no periods, CLEAR_CHANGE or LAST_TWO, which were selected
    from ``n_changes`` changes between neighbouring periods with enough items.
    """

    span: str
    periods: list[TrendPeriod]  # of this span, newest first
    before: TrendPeriod | None = None
    after: TrendPeriod | None = None
    error: str | None = None
    default_kind: str = ""
    n_changes: int = 0

    @classmethod
    def from_request(cls, request: HttpRequest, selection: Selection) -> PeriodComparison:
        """Return the periods that the URL selects, or a default.

        The default is the latest clear change between neighbouring periods with enough items, or
        else the last two periods. Raises Http404 for an unknown span.
        """
        all_periods = _list_periods(selection)
        span = get_choice(request.GET, "period", SPANS) or _choose_default_span(all_periods)
        span_periods = [period for period in all_periods if period.span == span]
        if request.GET.get("from") or request.GET.get("to"):
            return _build_requested_comparison(request, span, span_periods)
        firm_periods = [period for period in span_periods if period.has_enough_items][
            :MAX_SCANNED_PERIODS
        ]
        if clear_change_periods := find_latest_change(firm_periods):
            after, before = clear_change_periods
            return cls(
                span,
                span_periods,
                before,
                after,
                default_kind=CLEAR_CHANGE,
                n_changes=len(firm_periods) - 1,
            )
        last_two = (firm_periods if len(firm_periods) > 1 else span_periods)[:2]
        if len(last_two) < 2:
            return cls(span, span_periods)
        after, before = last_two
        return cls(
            span,
            span_periods,
            before,
            after,
            default_kind=LAST_TWO,
            n_changes=max(len(firm_periods) - 1, 0),
        )

    @property
    def attribution_fields(self) -> dict[str, object]:
        """Return the fields of the Attribution that explains the change; empty without periods."""
        if self.before is None or self.after is None:
            return {}
        return {
            "period_unit": self.span,
            "earlier_start": self.before.start,
            "later_start": self.after.start,
        }


def _list_periods(selection: Selection) -> list[TrendPeriod]:
    return list_newest_periods(
        selection.question, get_weighted_name("fleiss_kappa", selection.weights), MAX_PERIODS
    )


def list_newest_periods(question: Question, name: str, limit: int) -> list[TrendPeriod]:
    """Return the newest weeks and months in which the coefficient has comparable items.

    Values are those of people where models are separate, unless the lead pools them.
    """
    rows = Result.objects.filter(question=question, period_unit__in=SPANS).order_by("-start")
    columns = f"coefficients__{name}", f"headline__people__{name}"
    trend_periods = []
    clusters = QuestionClusters.load(question.pk, question.project)
    for span, start, all_estimate, people_estimate in rows.values_list(
        "period_unit", "start", *columns
    )[:limit]:
        estimate = (
            all_estimate if people_estimate is None or question.headline_pooled else people_estimate
        )
        if estimate and estimate["n_items"]:  # other raters have comparisons in other periods
            widened = clusters.widen_interval(name, estimate) if clusters else estimate
            trend_periods.append(TrendPeriod(span, start, widened))
    return trend_periods


def find_latest_change(newest: Sequence[TrendPeriod]) -> tuple[TrendPeriod, TrendPeriod] | None:
    """Return (later, earlier) of the latest neighbouring periods with a clear change, or None.

    A change is clear if it exceeds what chance gives in any of the changes (Bonferroni).
    ``newest``: the newest period first.
    """
    neighbours = list(pairwise(newest))
    critical_z = NormalDist().inv_cdf(1 - FAMILY_ERROR_RATE / 2 / max(len(neighbours), 1))
    for after, before in neighbours:
        if compute_clear_change(before.estimate, after.estimate, z=critical_z) is not None:
            return after, before
    return None


def compute_clear_change(
    before: Mapping[str, Any], after: Mapping[str, Any], *, z: float = NORMAL_QUANTILE
) -> float | None:
    """Return the difference of two estimates, or None if it is undefined or may be chance.

    ``z``: the normal quantile of the level of confidence, by default that of 95 %.
    """
    if before.get("value") is None or after.get("value") is None:
        return None
    change: float = after["value"] - before["value"]
    margin = compute_difference_margin(before, after) * z / NORMAL_QUANTILE
    return change if change and abs(change) > margin else None


def _choose_default_span(all_periods: list[TrendPeriod]) -> str:
    firm_weeks, firm_months = (
        sum(period.has_enough_items for period in all_periods if period.span == span)
        for span in SPANS
    )
    return PeriodUnit.MONTH.value if firm_weeks < 2 <= firm_months else PeriodUnit.WEEK.value


def _build_requested_comparison(
    request: HttpRequest, span: str, span_periods: list[TrendPeriod]
) -> PeriodComparison:
    selected = []
    for name in ("from", "to"):
        text = request.GET.get(name, "")
        try:
            start = datetime.date.fromisoformat(text)
        except ValueError:
            error = _("“%(name)s” must be a date like 2026-03-02, not “%(text)s”.")
            return PeriodComparison(
                span, span_periods, error=error % {"name": name, "text": text[:40]}
            )
        period = next((period for period in span_periods if period.start == start), None)
        if period is None:
            error = _("“%(name)s”: no rated %(span)s starts on %(date)s.")
            params = {
                "name": name,
                "span": display_names.PERIOD_NAMES[span],
                "date": start.isoformat(),
            }
            return PeriodComparison(span, span_periods, error=error % params)
        selected.append(period)
    before, after = selected
    if before.start >= after.start:
        return PeriodComparison(
            span, span_periods, error=_("The first period must be before the second.")
        )
    return PeriodComparison(span, span_periods, before, after)


def find_attribution(comparison: PeriodComparison, selection: Selection) -> Attribution | None:
    """Return the stored explanation of the change; None without one, or without two periods."""
    if not comparison.attribution_fields:
        return None
    rows = Attribution.objects.filter(
        question=selection.question, weights=selection.weights, population=""
    )
    return rows.filter(**comparison.attribution_fields).first()


MIN_SHOWN_CHANGE = 0.005  # a smaller change is shown as 0.00
MIN_BIAS_Z = 3.0  # standard errors of the difference of two raters: strict, as there are many pairs
MIN_BIAS_CHANGE = (
    0.15  # smaller changes of the difference do not matter, even if they are significant
)


@dataclass(frozen=True)
class RecentChange:
    """A sentence on a change, and the URL of its explanation; the URL is empty if there is none."""

    text: str
    url: str
    is_clear: bool = False  # whether the change is more than chance


def find_last_change(
    selection: Selection, findings: Sequence[Mapping[str, Any]]
) -> RecentChange | None:
    """Return the last change of agreement, or None.

    It comes from the stored finding of results.headline.trends, and is said to be a rise
    or fall only if it is more than chance. It names no rater: changes of raters are alerts, whose
    evidence is stricter (quality.alerts).
    """
    name = selection.coefficient
    if not name.startswith("fleiss_kappa"):
        name = get_weighted_name("fleiss_kappa", selection.headline["weights"])
    for finding in findings:
        figures = finding["figures"]
        if finding["name"] == RECENT_CHANGE and name in figures["changes"]:
            before, after, _is_clear = figures["changes"][name]
            if "n_items" not in figures or None in (before, after):  # older releases stored none
                return None
            if abs(after - before) >= MIN_SHOWN_CHANGE:
                return _build_change(selection, name, figures)
    return None


def _build_change(selection: Selection, name: str, figures: Mapping[str, Any]) -> RecentChange:
    before, after, is_clear = figures["changes"][name]
    start = datetime.date.fromisoformat(figures["after"])
    values = (
        _("%(value)s (%(n)s items)") % {"value": format_number(value), "n": format_count(n_items)}
        for value, n_items in zip((before, after), figures["n_items"], strict=True)
    )
    params = {
        "name": display_names.get_coefficient_name(name),
        **dict(zip(("before", "after"), values, strict=True)),
        "period": format_period(figures["span"], start),
    }
    text = _("%(name)s went from %(before)s to %(after)s in %(period)s.") % params
    if not is_clear:
        text = f"{text} {_('This may be chance.')}"
    parameters = {
        "question": selection.question.key,
        "weights": name.removeprefix("fleiss_kappa").lstrip("_") or "none",
        "period": figures["span"],
        "from": figures["before"],
        "to": figures["after"],
    }
    return RecentChange(
        text,
        f"{reverse('change', args=[selection.project.pk])}?{urlencode(parameters)}",
        is_clear,
    )


# --- level shift between two raters


@dataclass(frozen=True)
class LevelShift:
    """A change of the mean difference of two raters from the week ``start`` on.

    ``change``: later weeks minus earlier ones; ``z``: the change in standard errors.
    """

    start: datetime.date
    change: float
    z: float


def find_level_shift(points: Sequence[TrendPeriod | TrendPoint]) -> LevelShift | None:
    """Return the clearest lasting shift of the mean difference of two raters, or None.

    It compares the weeks before each week with those from it on. ``points``: oldest first.
    """
    valid_points = [
        point
        for point in points
        if point.has_enough_items
        and point.estimate.get("value") is not None
        and point.estimate.get("se") is not None
    ]
    if len(valid_points) < 2:
        return None
    value, se, n = (
        np.array([point.estimate[name] for point in valid_points], float)
        for name in ("value", "se", "n_items")
    )
    sums = np.cumsum([n, n * value, (n * se) ** 2], axis=1)
    # sums of the weeks before, and from, each week but the first
    before, after = sums[:, :-1], sums[:, -1:] - sums[:, :-1]
    change = after[1] / after[0] - before[1] / before[0]
    error = np.sqrt(before[2] / before[0] ** 2 + after[2] / after[0] ** 2)
    z = np.divide(change, error, out=np.copysign(np.inf, change), where=error > 0)
    clear = (np.abs(change) >= MIN_BIAS_CHANGE) & (np.abs(z) > MIN_BIAS_Z)
    if not clear.any():
        return None
    best = int(np.argmax(np.where(clear, np.abs(z), 0)))
    return LevelShift(valid_points[best + 1].start, float(change[best]), float(z[best]))
