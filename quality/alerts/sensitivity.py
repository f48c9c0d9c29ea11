"""Sensitivity of alerts: evidence thresholds, and the alerts a project can expect from each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import transaction
from django.utils.translation import gettext as _

from core import security_log
from metrics.agreement import drift
from metrics.agreement.drift.daily_scores import estimate_variances
from projects.models import Project
from quality.models import AlertScan, AlertSettings, Sensitivity

# Evidence thresholds. At threshold A the mean time to a false alert is at least A working days of
# one rater (docs/statistics.md).
EVIDENCE_LEVELS: dict[str, float] = {
    Sensitivity.LOW: 5_000.0,
    Sensitivity.MEDIUM: 1_000.0,
    Sensitivity.HIGH: 250.0,
}
DEFAULT_LEVEL = EVIDENCE_LEVELS[Sensitivity.LOW]
# At threshold 5,000 an alert needs this many times s2 / delta^2 compared items of the rater; the
# factor falls with the logarithm of the threshold (benchmarks/alerts.md).
ITEMS_FACTOR = 30.0
WORKING_DAYS_PER_YEAR = 250
VOLUME_DAYS = 90  # newest days from which the volume is computed
REFERENCE_SHIFTS = {drift.AGREEMENT: 0.15, drift.BIAS: 0.3}  # shift whose detection delay is shown


class InvalidSensitivity(ValueError):
    """The sensitivity is not one of the choices."""


def get_evidence_threshold(project_id: int) -> float:
    """Return the evidence threshold of a project."""
    return EVIDENCE_LEVELS[get_sensitivity(project_id)]


def get_sensitivity(project_id: int) -> str:
    """Return the sensitivity of a project; the default where none was chosen."""
    stored = AlertSettings.objects.filter(project=project_id).values_list("sensitivity", flat=True)
    return stored.first() or Sensitivity.LOW


@transaction.atomic
def set_sensitivity(*, project: Project, sensitivity: str, by: Any) -> None:
    """Set the sensitivity of a project's alerts; the next sweep rescans all its questions.

    Records a security event. Raises InvalidSensitivity.
    """
    if sensitivity not in Sensitivity.values:
        raise InvalidSensitivity(_("one of %(known)s") % {"known": ", ".join(Sensitivity.values)})
    alert_settings, _created = AlertSettings.objects.select_for_update().get_or_create(
        project=project
    )
    if alert_settings.sensitivity == sensitivity:
        return
    before, alert_settings.sensitivity = alert_settings.sensitivity, sensitivity
    alert_settings.save(update_fields=["sensitivity"])
    security_log.log_event(
        "alert_sensitivity_changed",
        project_id=project.pk,
        by=by.pk,
        before={"sensitivity": before},
        after={"sensitivity": sensitivity},
    )


# --- expected alerts


def compute_rating_volume(drift_result: drift.DriftResult) -> dict[str, float]:
    """Return the volume of ratings in the newest 90 days, for the expected alerts; {} without any.

    Keys: ``raters``: number of raters; ``rater_days``: days on which they worked, summed over
    raters; ``span``: days covered; ``items_per_day``: median of compared items per rater and day;
    ``s2_<score>``: variance that one item contributes to a score, its own plus its part of the
    variation between days.
    """
    days = next(iter(drift_result.days.values()), None)
    if days is None or not days.day.size:
        return {}
    in_window = days.day > days.day.max() - VOLUME_DAYS
    span = float(days.day.max() - max(days.day.min(), days.day.max() - VOLUME_DAYS + 1) + 1)
    n = days.n[in_window]
    values = {
        "raters": float(np.unique(days.rater[in_window]).size),
        "rater_days": float(in_window.sum()),
        "span": span,
        "items_per_day": float(np.median(n)),
    }
    for score, score_days in drift_result.days.items():
        spread = estimate_variances(
            score_days, drift_result.data.ratings.keys.size, score, drift_result.data.settings
        )
        rater_indexes = np.unique(days.rater[in_window])
        s2, kappa2 = np.median(spread.s2[rater_indexes]), np.median(spread.kappa2[rater_indexes])
        values[f"s2_{score}"] = float(s2 + kappa2 * values["items_per_day"])
    return values


@dataclass(frozen=True)
class ExpectedAlerts:
    """False alerts and detection delay at one sensitivity.

    ``years_per_false_alert``: lower limit of the years that one rater works per false alert.
    ``false_alerts_per_year``: upper limit for all current raters together; None without data.
    ``items``: compared items until a shift of ``shift`` in ``measure`` is detected; None without
    data.
    """

    sensitivity: str
    label: str
    level: float
    years_per_false_alert: float
    false_alerts_per_year: float | None
    measure: str
    shift: float
    items: float | None


def list_expected_alerts(project: Project) -> list[ExpectedAlerts]:
    """Return the expected alerts of a project's questions, at each sensitivity.

    False alerts are summed over questions; delays are those of the question with the most ratings.
    """
    runs = AlertScan.objects.filter(question__project=project).order_by("-n_ratings")
    volumes = [run.volume for run in runs if run.volume]
    return [
        _compute_expected_alerts(value, str(label), volumes) for value, label in Sensitivity.choices
    ]


def _compute_expected_alerts(
    value: str, label: str, volumes: list[dict[str, float]]
) -> ExpectedAlerts:
    level = EVIDENCE_LEVELS[value]
    largest = volumes[0] if volumes else {}
    measure = drift.BIAS if f"s2_{drift.BIAS}" in largest else drift.AGREEMENT
    items = per_year = None
    if largest:
        factor = ITEMS_FACTOR * math.log(level) / math.log(DEFAULT_LEVEL)
        items = factor * largest[f"s2_{measure}"] / REFERENCE_SHIFTS[measure] ** 2
        rater_days_per_year = sum(
            volume["rater_days"] * 365 / max(volume["span"], 7) for volume in volumes
        )
        per_year = rater_days_per_year / level
    return ExpectedAlerts(
        sensitivity=value,
        label=label,
        level=level,
        years_per_false_alert=level / WORKING_DAYS_PER_YEAR,
        false_alerts_per_year=per_year,
        measure=measure,
        shift=REFERENCE_SHIFTS[measure],
        items=items,
    )
