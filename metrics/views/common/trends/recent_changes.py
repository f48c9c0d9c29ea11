"""Recent changes of agreement as sentences that link to their explanation.

Read from stored results only.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import numpy as np
from django.urls import reverse
from django.utils.translation import gettext as _

from metrics.scale import get_weighted_name
from metrics.views.common import display_names
from metrics.views.common.number_formats import format_number
from metrics.views.common.selection import Selection

from .period_comparison import SPANS, TrendPeriod, compute_clear_change, list_newest_periods
from .trend_points import TrendPoint

RECENT_PERIODS = 24  # newest weeks and months, together, that are searched for a change
MIN_BIAS_Z = 3.0  # standard errors of the difference of two raters: strict, as there are many pairs
MIN_BIAS_CHANGE = (
    0.15  # smaller changes of the difference do not matter, even if they are significant
)


@dataclass(frozen=True)
class RecentChange:
    """A sentence, and the URL of its explanation; empty if there is none."""

    text: str
    url: str


def list_recent_changes(selection: Selection) -> list[RecentChange]:
    """Return the last change of agreement if it is clear: a list of at most one. One query.

    It names no rater: changes of raters are alerts, whose evidence is stricter (quality.alerts).
    """
    name = selection.coefficient
    if not name.startswith("fleiss_kappa"):
        name = get_weighted_name("fleiss_kappa", selection.headline["weights"])
    recent_periods = list_newest_periods(selection.question, name, RECENT_PERIODS)
    if not recent_periods:
        return []
    change = _find_agreement_change(
        selection, name, [period for period in recent_periods if period.has_enough_items]
    )
    return [change] if change else []


# --- agreement


def _find_agreement_change(
    selection: Selection, name: str, firm_periods: list[TrendPeriod]
) -> RecentChange | None:
    """Return the change between the last two weeks with enough items, or else months, or None."""
    by_span = [[period for period in firm_periods if period.span == span][:2] for span in SPANS]
    last_two = next((newest_two for newest_two in by_span if len(newest_two) == 2), None)
    if last_two is None:
        return None
    after, before = last_two
    change = compute_clear_change(before.estimate, after.estimate)
    if change is None:
        return None
    params = {
        "name": display_names.get_coefficient_name(name),
        "before": format_number(before.estimate["value"]),
        "after": format_number(after.estimate["value"]),
        "period": after.label,
    }
    if change < 0:
        text = _("%(name)s fell from %(before)s to %(after)s in %(period)s.") % params
    else:
        text = _("%(name)s rose from %(before)s to %(after)s in %(period)s.") % params
    parameters = {
        "question": selection.question.key,
        "weights": name.removeprefix("fleiss_kappa").lstrip("_") or "none",
        "period": after.span,
        "from": before.start.isoformat(),
        "to": after.start.isoformat(),
    }
    return RecentChange(
        text, f"{reverse('change', args=[selection.project.pk])}?{urlencode(parameters)}"
    )


# --- level shift between two raters


@dataclass(frozen=True)
class LevelShift:
    """A change of the mean difference of two raters.

    The weeks from ``start`` on against those before; ``z``: its size in standard errors.
    """

    start: datetime.date
    change: float
    z: float


def find_level_shift(points: Sequence[TrendPeriod | TrendPoint]) -> LevelShift | None:
    """Return the clearest shift between the weeks before and from some week on, or None.

    ``points``: oldest first.
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
