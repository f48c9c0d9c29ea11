"""Alert candidates: findings of any kind with the fields of their row, matched with stored alerts.

Every scan finds the candidates of the complete history, not only the new ones. They are matched
with stored alerts, so that one cause alerts once. Further ratings may shift a day or an onset a
little. A candidate therefore matches the stored alert of the same kind and rater (or pair, or
category) whose period, from onset to detection, overlaps or is close.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from metrics.agreement import drift, outliers
from metrics.question_scale import QuestionScale
from quality.models import AlertKind, AlertMeasure
from ratings.services.rating_timestamps import date_from_day

MAX_GAP_DAYS = 14  # days between two periods that may still have one cause
OPEN_END = 2**31  # day number after every real day


def build_pair_subject(raters: Sequence[int]) -> tuple[int, ...]:
    """Return the number of a pair of raters, in a 1-tuple as ``AlertPeriod.about`` needs it.

    ``raters``: two ids, in any order.
    """
    low, high = sorted(raters)
    return (low * 2**40 + high,)


class AlertPeriod(NamedTuple):
    """The subject of an alert, and the days on which its change began and was detected.

    ``about``: ids of raters, or a 1-tuple: a pair's number, a category's code, or 0 for the
    question. ``onset`` and ``day`` (of the detection) count from 1970-01-01.
    """

    about: tuple[int, ...]
    onset: int
    day: int

    def count_days_to(self, other: AlertPeriod) -> int:
        """Return the number of days between two periods; 0 where they overlap."""
        return max(0, other.onset - self.day, self.onset - other.day)


@dataclass(frozen=True)
class PeriodMatches:
    """The matches of candidates and stored alerts: {index of the candidate: index of the alert}."""

    alert_index_of: dict[int, int]

    def is_new(self, index: int) -> bool:
        """Return whether the candidate matches no stored alert."""
        return index not in self.alert_index_of


def match_periods(
    candidates: Sequence[AlertPeriod], alerts: Sequence[AlertPeriod]
) -> PeriodMatches:
    """Match candidates with stored alerts one to one, those with the fewest days between first.

    Only periods with a common subject and at most MAX_GAP_DAYS between them are matched.
    """
    close_pairs = []
    for index, candidate in enumerate(candidates):
        for alert_index, alert in enumerate(alerts):
            if not set(candidate.about) & set(alert.about):
                continue
            gap = candidate.count_days_to(alert)
            if gap <= MAX_GAP_DAYS:
                close_pairs.append((gap, abs(candidate.day - alert.day), index, alert_index))
    alert_index_of: dict[int, int] = {}
    matched_alerts: set[int] = set()
    for _gap, _detected, index, alert_index in sorted(close_pairs):
        if index not in alert_index_of and alert_index not in matched_alerts:
            alert_index_of[index] = alert_index
            matched_alerts.add(alert_index)
    return PeriodMatches(alert_index_of)


CHART_DIGITS = 4  # decimals of the values of a chart


@dataclass(frozen=True)
class AlertCandidate:
    """A finding that may become an alert: its kind, its period and the fields of its row."""

    kind: str
    period: AlertPeriod
    fields: dict[str, object]


def build_drift_candidate(drift_alert: drift.DriftAlert, level: float) -> AlertCandidate:
    """Return the candidate for a rater's drift.

    ``level``: the evidence threshold that it reached, which the alert's texts state.
    """
    measure = drift.SCORE_OF_CHANNEL[drift_alert.channel]
    other_raters = [rater for rater in drift_alert.raters if rater != drift_alert.rater]
    return AlertCandidate(
        kind=AlertKind.RATER_DRIFT,
        period=AlertPeriod(drift_alert.raters, drift_alert.onset, drift_alert.day),
        fields={
            "rater_id": drift_alert.rater,
            "other_rater_id": other_raters[0] if other_raters else None,
            "measure": AlertMeasure(measure),
            **_build_common_fields(drift_alert),
            "n": drift_alert.n_since,
            "reason": drift_alert.reason or "",
            "facts": {"level": level},
            "chart": build_chart(
                drift_alert.chart.day,
                drift_alert.chart.n,
                drift_alert.chart.compute_means(measure),
                drift_alert.chart.evidence,
            ),
        },
    )


def _build_common_fields(finding: drift.DriftAlert | outliers.OutlierFinding) -> dict[str, object]:
    """Return dates, size, interval and evidence of a finding as fields of an alert."""
    return {
        "since": date_from_day(finding.onset),
        "since_earliest": date_from_day(finding.earliest),
        "since_latest": date_from_day(finding.latest),
        "detected_on": date_from_day(finding.day),
        "size": finding.size,
        "low": finding.low,
        "high": finding.high,
        "n_before": finding.n_before,
        "evidence": finding.evidence,
    }


def build_outlier_candidate(
    finding: outliers.OutlierFinding, scale: QuestionScale, level: float
) -> AlertCandidate:
    """Return the candidate for an outlier.

    ``level``: the evidence threshold at which it was detected, which the alert's texts state.
    """
    about, code = finding.raters or (0,), None
    facts: dict[str, object] = {**finding.facts, "level": level}
    if len(finding.raters) == 2:
        about = build_pair_subject(finding.raters)
    if finding.code is not None:
        code = int(scale.codes[finding.code])
        facts["category"] = scale.labels[finding.code]
        about = about if finding.raters else (code,)
    series = finding.series
    return AlertCandidate(
        kind=finding.kind,
        period=AlertPeriod(about, finding.onset, finding.day),
        fields={
            "rater_id": finding.raters[0] if finding.raters else None,
            "other_rater_id": finding.raters[1] if len(finding.raters) == 2 else None,
            "code": code,
            "measure": finding.measure,
            **_build_common_fields(finding),
            "n": finding.n,
            "facts": facts,
            "chart": build_chart(series.day, series.n, series.mean, series.evidence),
        },
    )


def build_chart(
    day: npt.NDArray[np.int64],
    n: npt.NDArray[np.int64],
    means: npt.NDArray[np.float64],
    evidence: npt.NDArray[np.float64],
) -> dict[str, list[Any]]:
    """Return the daily values of a chart as JSON lists: days, numbers of items, means and evidence.

    All arrays have an entry for each day, which counts from 1970-01-01. Means are rounded to
    CHART_DIGITS decimals, evidence to six significant digits.
    """
    return {
        "days": day.tolist(),
        "n": n.tolist(),
        "means": np.round(means, CHART_DIGITS).tolist(),
        "evidence": [float(f"{value:.6g}") for value in evidence.tolist()],
    }


def build_count_candidate(
    kind: AlertKind, n: int, *, since: int, now: int, facts: Mapping[str, object]
) -> AlertCandidate:
    """Return the candidate for an alert that only counts items, as of those without enough ratings.

    ``n``: the number of items; ``since``, ``now``: days of onset and detection, counted from
    1970-01-01; ``facts``: further figures for the alert's texts.
    """
    return AlertCandidate(
        kind=kind,
        period=AlertPeriod((0,), now, now),
        fields={
            "measure": AlertMeasure.ITEMS,
            "since": date_from_day(since),
            "since_earliest": date_from_day(since),
            "since_latest": date_from_day(since),
            "detected_on": date_from_day(now),
            "size": n,
            "low": n,
            "high": n,
            "n": n,
            "n_before": 0,
            "evidence": 0.0,
            "facts": facts,
        },
    )
