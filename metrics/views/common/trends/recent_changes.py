"""Sentences on recent changes of agreement, with links to their explanation.

They are based on stored results only.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import numpy as np
from django.urls import reverse
from django.utils.translation import gettext as _

from metrics.question_scale import get_weighted_name
from metrics.results.findings import RECENT_CHANGE
from metrics.views.common import display_names
from metrics.views.common.number_formats import format_number
from metrics.views.common.selection import Selection

from .period_comparison import TrendPeriod, format_period
from .trend_points import TrendPoint

MIN_SHOWN_CHANGE = 0.005  # a smaller change is shown as 0.00
MIN_BIAS_Z = 3.0  # standard errors of the difference of two raters: strict, as there are many pairs
MIN_BIAS_CHANGE = (
    0.15  # smaller changes of the difference do not matter, even if they are significant
)


@dataclass(frozen=True)
class RecentChange:
    """A sentence, and the URL of its explanation; empty if there is none.

    ``is_clear``: whether the change is more than chance.
    """

    text: str
    url: str
    is_clear: bool = False


def list_recent_changes(
    selection: Selection, findings: Sequence[Mapping[str, Any]]
) -> list[RecentChange]:
    """Return the last change of agreement, in a list of at most one.

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
            if None not in (before, after) and abs(after - before) >= MIN_SHOWN_CHANGE:
                return [_build_change(selection, name, figures)]
    return []


def _build_change(selection: Selection, name: str, figures: Mapping[str, Any]) -> RecentChange:
    before, after, is_clear = figures["changes"][name]
    start = datetime.date.fromisoformat(figures["after"])
    params = {
        "name": display_names.get_coefficient_name(name),
        "before": format_number(before),
        "after": format_number(after),
        "period": format_period(figures["span"], start),
    }
    if not is_clear:
        text = (
            _("%(name)s went from %(before)s to %(after)s in %(period)s; this may be chance.")
            % params
        )
    elif after < before:
        text = _("%(name)s fell from %(before)s to %(after)s in %(period)s.") % params
    else:
        text = _("%(name)s rose from %(before)s to %(after)s in %(period)s.") % params
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
    """Return the clearest shift between the weeks before and from one week on, None without any.

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
