"""How much evidence rings, in words, from few alarms and sure ones to many and early ones; and what
that means for a project's own raters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import transaction
from django.utils.translation import gettext as _

from core import security_log
from metrics.agreement import drift
from metrics.agreement.drift.daily_scores import variances
from projects.models import Project
from quality.models import AlarmRules, DriftRun, Sensitivity

# Evidence that rings. At A the mean time to a false alarm is A working days of a rater at least
# (docs/statistics.md).
LEVELS: dict[str, float] = {
    Sensitivity.SURE: 5_000.0,
    Sensitivity.MIDDLE: 1_000.0,
    Sensitivity.EARLY: 250.0,
}
USUAL = LEVELS[Sensitivity.SURE]
# At 5,000 an alarm takes so many times s2 / delta^2 of own compared items, and less as the
# logarithm of the evidence does (benchmarks/alarms.md).
TIMES = 30.0
YEAR = 250  # working days
LATELY = 90  # days that tell the volume
SHIFT = {drift.AGREEMENT: 0.15, drift.BIAS: 0.3}  # what a delay is told of


class Refused(ValueError):
    """No such sensitivity."""


def level_of(project_id: int) -> float:
    """The evidence that rings in a project."""
    return LEVELS[chosen(project_id)]


def chosen(project_id: int) -> str:
    stored = AlarmRules.objects.filter(project=project_id).values_list("sensitivity", flat=True)
    return stored.first() or Sensitivity.SURE


@transaction.atomic
def choose(*, project: Project, sensitivity: str, by: Any) -> None:
    """Set it; the next sweep looks at all questions anew. Refused names what may be chosen."""
    if sensitivity not in Sensitivity.values:
        raise Refused(_("one of %(known)s") % {"known": ", ".join(Sensitivity.values)})
    row, _new = AlarmRules.objects.select_for_update().get_or_create(project=project)
    if row.sensitivity == sensitivity:
        return
    before, row.sensitivity = row.sensitivity, sensitivity
    row.save(update_fields=["sensitivity"])
    security_log.event(
        "alarm_sensitivity_changed",
        project_id=project.pk,
        by=by.pk,
        before={"sensitivity": before},
        after={"sensitivity": sensitivity},
    )


# --- what that means here


def volume(found: drift.Drift) -> dict[str, float]:
    """Of the newest 90 days of a question: raters, their working days together, compared items a
    day, and of each score the variance that an item counts for: its own, and its part of the
    wobble of days."""
    days = next(iter(found.days.values()), None)
    if days is None or not days.day.size:
        return {}
    lately = days.day > days.day.max() - LATELY
    span = float(days.day.max() - max(days.day.min(), days.day.max() - LATELY + 1) + 1)
    n = days.n[lately]
    told = {
        "raters": float(np.unique(days.rater[lately]).size),
        "rater_days": float(lately.sum()),
        "span": span,
        "a_day": float(np.median(n)),
    }
    for score, of_score in found.days.items():
        spread = variances(
            of_score, found.material.ratings.keys.size, score, found.material.settings
        )
        at_work = np.unique(days.rater[lately])
        s2, kappa2 = np.median(spread.s2[at_work]), np.median(spread.kappa2[at_work])
        told[f"s2_{score}"] = float(s2 + kappa2 * told["a_day"])
    return told


@dataclass(frozen=True)
class Expected:
    """At one sensitivity. a_year: false alarms a year at most, of the raters of now, None while
    nothing is known of them; items: own compared items until an alarm for a shift of ``shift`` in
    ``measure``; days: of work, for these."""

    sensitivity: str
    label: str
    level: float
    years: float
    a_year: float | None
    measure: str
    shift: float
    items: float | None
    days: float | None


def expected(project: Project) -> list[Expected]:
    """Of each sensitivity, for the questions of a project: false alarms add up, delays are those of
    the question with the most ratings."""
    runs = DriftRun.objects.filter(question__project=project).order_by("-n_ratings")
    volumes = [run.volume for run in runs if run.volume]
    return [_expected(value, str(label), volumes) for value, label in Sensitivity.choices]


def _expected(value: str, label: str, volumes: list[dict[str, float]]) -> Expected:
    level = LEVELS[value]
    largest = volumes[0] if volumes else {}
    measure = drift.BIAS if f"s2_{drift.BIAS}" in largest else drift.AGREEMENT
    items = days = a_year = None
    if largest:
        times = TIMES * math.log(level) / math.log(USUAL)
        items = times * largest[f"s2_{measure}"] / SHIFT[measure] ** 2
        days = max(1.0, items / max(1.0, largest["a_day"]))
        worked = sum(one["rater_days"] * 365 / max(one["span"], 7) for one in volumes)
        a_year = worked / level
    return Expected(
        sensitivity=value,
        label=label,
        level=level,
        years=level / YEAR,
        a_year=a_year,
        measure=measure,
        shift=SHIFT[measure],
        items=items,
        days=days,
    )
