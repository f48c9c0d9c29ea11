"""Run all outlier rules and select their findings, so that one cause raises one alert."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy.typing as npt

from metrics.agreement.counts.grouping import Ints
from metrics.agreement.drift import (
    AGREEMENT,
    CANNOT_TELL_WHO,
    DriftAlert,
    DriftContext,
    DriftResult,
    detect_drift,
)

from . import careless_raters, category_shifts, copies, disagreement, level_shifts, newcomers
from .finding import OutlierFinding


@dataclass
class OutlierResult:
    """Findings of all outlier rules.

    findings: those that raise an alert besides drift; explained: indices of the drift alerts that
    do not, because two raters cannot be told apart and the question's agreement fell.
    """

    findings: list[OutlierFinding] = field(default_factory=list)
    explained: set[int] = field(default_factory=set)


def name_raters(
    items: npt.ArrayLike,
    raters: npt.ArrayLike,
    codes: npt.ArrayLike,
    days: npt.ArrayLike,
    *,
    categories: int,
    ordered: bool,
    attributes: Sequence[Ints] = (),
) -> set[int]:
    """Return the raters whom alerts name, by drift or any other rule.

    items, raters, codes, days (M,): as for detect_drift; categories: their number; attributes:
    columns (M,) that describe the items.
    """
    context = DriftContext(attributes=attributes)
    drift = detect_drift(items, raters, codes, days, categories, ordered, context=context)
    return list_named_raters(drift, detect_outliers(drift, categories))


def list_named_raters(drift: DriftResult, outliers: OutlierResult) -> set[int]:
    """Return the raters of the drift alerts that are raised, and of the findings."""
    named = {rater for finding in outliers.findings for rater in finding.raters}
    for index, alert in enumerate(drift.alerts):
        if index not in outliers.explained:
            named |= set(alert.raters)
    return {int(rater) for rater in named}


def detect_outliers(
    drift: DriftResult,
    k: int,
    *,
    segment_starts: Sequence[int] = (),
    seconds: npt.ArrayLike | None = None,
) -> OutlierResult:
    """Return the outliers besides drifting raters.

    k: number of categories; segment_starts: days on which other guidelines began; seconds (N,): of
    the ratings that drift detection was given, negative for unknown. Of a rater the first of:
    drift, the same answer, too fast, below the team as a newcomer, disagreement, copies. Of a
    question, among findings with common days, the first of: its agreement, a pair, a category. The
    agreement of a question is that without the ratings of drifting raters. Where two raters cannot
    be told apart and it fell, that finding replaces their alert.
    """
    result = OutlierResult()
    if not drift.data.comparisons.own.size:
        return result
    starts = list(segment_starts)
    _merge_alerts_of_indistinguishable_pair(
        drift, level_shifts.find_question_falls(drift, starts, with_drifters=True), result
    )
    for finding in level_shifts.find_question_falls(drift, starts) + level_shifts.find_pair_falls(
        drift, starts
    ):
        _add_finding(result, finding)
    for finding in category_shifts.find_category_falls(drift, starts, k):
        _add_finding(result, finding)
    result.findings = _find_rater_outliers(drift, seconds) + result.findings
    return result


def _find_rater_outliers(drift: DriftResult, seconds: npt.ArrayLike | None) -> list[OutlierFinding]:
    alerted_raters = {key for alert in drift.alerts for key in alert.raters}
    rules: list[Callable[[], list[OutlierFinding]]] = [
        lambda: careless_raters.find_constant_raters(drift)
    ]
    if seconds is not None:
        rules.append(lambda: careless_raters.find_fast_raters(drift, seconds))
    rules += [
        lambda: newcomers.find_newcomers_below_team(drift),
        lambda: disagreement.find_disagreeing_raters(drift),
        lambda: copies.find_copies(drift),
    ]
    findings: list[OutlierFinding] = []
    for rule in rules:
        new_findings = [finding for finding in rule() if not alerted_raters & set(finding.raters)]
        alerted_raters |= {key for finding in new_findings for key in finding.raters}
        findings += new_findings
    return findings


def _merge_alerts_of_indistinguishable_pair(
    drift: DriftResult, falls: Sequence[OutlierFinding], result: OutlierResult
) -> None:
    """Replace alerts on both of two raters, who cannot be told apart, by one on the question."""
    for fall in falls:
        alert_indices = {
            index
            for index, alert in enumerate(drift.alerts)
            if alert.channel == AGREEMENT
            and alert.reason == CANNOT_TELL_WHO
            and _has_common_days(fall, alert)
        }
        if alert_indices:
            result.explained |= alert_indices
            _add_finding(result, fall)


def _add_finding(result: OutlierResult, finding: OutlierFinding) -> None:
    """Add a finding unless an earlier finding on the question has days in common with it."""
    if not any(_has_common_days(finding, existing) for existing in result.findings):
        result.findings.append(finding)


def _has_common_days(finding: OutlierFinding, other: OutlierFinding | DriftAlert) -> bool:
    return finding.onset <= other.day and other.onset <= finding.day
