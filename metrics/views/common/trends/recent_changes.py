"""What moved lately, in plain sentences with the page that explains it. Read from stored readings
alone."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import numpy as np
from django.urls import reverse
from django.utils.translation import gettext as _

from metrics.scale import weighted
from metrics.views.common import display_names
from metrics.views.common.number_formats import figure
from metrics.views.common.selection import Selection

from .period_comparison import SPANS, Period, clear_change, newest_periods
from .trend_points import Point

RECENT = 24  # the newest weeks and months together in which a move is looked for
BIAS_CLEAR = 3.0  # of the difference of two raters: there are many pairs
BIAS_STEP = 0.15  # a smaller change of it is of no interest, however sure


@dataclass(frozen=True)
class Move:
    """A sentence and where it is explained; an empty address where it is not."""

    text: str
    url: str


def moves(chosen: Selection) -> list[Move]:
    """The last move of agreement, where it is clear; it names nobody. One query. Who moved is told
    by alarms, whose evidence keeps a promise (quality.alerts)."""
    name = chosen.coefficient
    if not name.startswith("fleiss_kappa"):
        name = weighted("fleiss_kappa", chosen.first["weights"])
    found = newest_periods(chosen.question, name, RECENT)
    if not found:
        return []
    agreement = _agreement(chosen, name, [period for period in found if period.firm])
    return [agreement] if agreement else []


# --- agreement


def _agreement(chosen: Selection, name: str, firm: list[Period]) -> Move | None:
    """The move between the last two weeks, or months where there are no two weeks, that rest on
    enough items."""
    by_span = [[period for period in firm if period.span == span][:2] for span in SPANS]
    last = next((two for two in by_span if len(two) == 2), None)
    if last is None:
        return None
    after, before = last
    change = clear_change(before.reading, after.reading)
    if change is None:
        return None
    told = {
        "name": display_names.coefficient(name),
        "before": figure(before.reading["value"]),
        "after": figure(after.reading["value"]),
        "period": after.named,
    }
    if change < 0:
        text = _("%(name)s fell from %(before)s to %(after)s in %(period)s.") % told
    else:
        text = _("%(name)s rose from %(before)s to %(after)s in %(period)s.") % told
    asked = {
        "question": chosen.question.key,
        "weights": name.removeprefix("fleiss_kappa").lstrip("_") or "none",
        "span": after.span,
        "from": before.start.isoformat(),
        "to": after.start.isoformat(),
    }
    return Move(text, f"{reverse('change', args=[chosen.project.pk])}?{urlencode(asked)}")


# --- two raters: the change of their difference


@dataclass(frozen=True)
class Turn:
    """A change of the mean difference: from the first of ``week`` on against before, and its size
    in standard errors."""

    week: datetime.date
    change: float
    z: float


def turn(weeks: Sequence[Period | Point]) -> Turn | None:
    """The clearest change between the weeks before and from some week on; None when none is clear.
    Oldest first."""
    firm = [
        p
        for p in weeks
        if p.firm and p.reading.get("value") is not None and p.reading.get("se") is not None
    ]
    if len(firm) < 2:
        return None
    value, se, n = (
        np.array([p.reading[name] for p in firm], float) for name in ("value", "se", "n_items")
    )
    sums = np.cumsum([n, n * value, (n * se) ** 2], axis=1)
    # of the weeks before and from each but the first
    before, after = sums[:, :-1], sums[:, -1:] - sums[:, :-1]
    change = after[1] / after[0] - before[1] / before[0]
    error = np.sqrt(before[2] / before[0] ** 2 + after[2] / after[0] ** 2)
    z = np.divide(change, error, out=np.copysign(np.inf, change), where=error > 0)
    clear = (np.abs(change) >= BIAS_STEP) & (np.abs(z) > BIAS_CLEAR)
    if not clear.any():
        return None
    best = int(np.argmax(np.where(clear, np.abs(z), 0)))
    return Turn(firm[best + 1].start, float(change[best]), float(z[best]))
