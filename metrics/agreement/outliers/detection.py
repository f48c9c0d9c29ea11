"""Run all outlier rules and select their findings, so that one cause raises one alert."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
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
from metrics.agreement.drift.daily_scores import DailyScores
from metrics.agreement.estimate import Floats
from metrics.agreement.outliers import rater_rules
from metrics.agreement.outliers.rater_rules import (
    MIN_OTHERS,
    build_level_finding,
    compute_evidence_below,
    compute_medians_and_lower_bounds,
    select_before_drift,
)

from ..outliers import agreement_falls, category_shifts, copies
from .finding import MIN_ITEMS_TO_TEST, NEWCOMER_BELOW_TEAM, OutlierFinding

MAX_NEWCOMER_ITEMS = 300  # the first compared items of a newcomer
EVIDENCE_LEVEL = 20.0
_TAIL_PROBABILITY = 0.1  # of a level below the bound


def find_newcomers_below_team(drift: DriftResult) -> list[OutlierFinding]:
    """Return findings on newcomers whose level is below that of the raters before them."""
    data, settings = drift.data, drift.data.settings
    if not drift.excess:
        return []
    same_time = drift.excess[AGREEMENT]()[0]
    days = select_before_drift(drift, same_time.days)
    n_raters = data.ratings.keys.size
    items = np.bincount(days.rater, weights=days.n, minlength=n_raters)
    total = np.bincount(days.rater, weights=days.total, minlength=n_raters)
    established_on = _compute_established_days(days, n_raters)
    findings = []
    for rater in np.flatnonzero(items >= MIN_ITEMS_TO_TEST).tolist():
        rater_days = days.select(slice(*np.searchsorted(days.rater, [rater, rater + 1])))
        others = (established_on < rater_days.day[0]) & (np.arange(n_raters) != rater)
        if others.sum() < MIN_OTHERS:
            continue
        levels = np.append(total[others] / items[others], 0.0)
        medians, limits = compute_medians_and_lower_bounds(
            levels, least=settings.tolerated_gap, tail=_TAIL_PROBABILITY
        )
        first = np.cumsum(rater_days.n) - rater_days.n < MAX_NEWCOMER_ITEMS
        rater_days = rater_days.select(first)
        variances = same_time.variances
        weight = 1 / (variances.s2[rater] / rater_days.n + variances.kappa2[rater])
        limit = float(limits[-1])
        evidence = compute_evidence_below(drift, rater, rater_days, weight, limit=limit)
        reached = np.flatnonzero(evidence >= EVIDENCE_LEVEL)
        if reached.size:
            facts = {"middle": float(medians[-1]), "bound": limit, "chance": EVIDENCE_LEVEL}
            key = int(data.ratings.keys[rater])
            findings.append(
                build_level_finding(
                    NEWCOMER_BELOW_TEAM,
                    key,
                    rater_days,
                    weight,
                    evidence,
                    int(reached[0]),
                    facts=facts,
                )
            )
    return findings


def _compute_established_days(days: DailyScores, n_raters: int) -> Floats:
    """Return the day (R,) on which each rater reached MIN_ITEMS_TO_TEST items, inf for never."""
    established_on = np.full(n_raters, np.inf)
    for rater in np.unique(days.rater).tolist():
        rater_days = days.select(slice(*np.searchsorted(days.rater, [rater, rater + 1])))
        reached = np.flatnonzero(np.cumsum(rater_days.n) >= MIN_ITEMS_TO_TEST)
        if reached.size:
            established_on[rater] = rater_days.day[reached[0]]
    return established_on


@dataclass
class OutlierResult:
    """Findings of all outlier rules.

    findings: those that raise an alert; explained: indices of drift alerts that are replaced by a
    finding on the question, because two raters cannot be distinguished and its agreement fell.
    """

    findings: list[OutlierFinding] = field(default_factory=list)
    explained: set[int] = field(default_factory=set)


def detect_alerted_raters(
    items: npt.ArrayLike,
    raters: npt.ArrayLike,
    codes: npt.ArrayLike,
    days: npt.ArrayLike,
    *,
    categories: int,
    ordered: bool,
    attributes: Sequence[Ints] = (),
    clusters: Ints | None = None,
) -> set[int]:
    """Detect drift and outliers, and return the keys of all raters whom an alert names.

    items, raters, codes, days (M,): as for detect_drift; categories: their number; attributes:
    columns (M,) with numbers of the items' attribute values; clusters (M,): cluster of each
    rating's item, None where items are independent.
    """
    context = DriftContext(attributes=attributes, clusters=clusters)
    drift = detect_drift(items, raters, codes, days, categories, ordered, context=context)
    return get_alerted_raters(drift, detect_outliers(drift, categories))


def get_alerted_raters(drift: DriftResult, outliers: OutlierResult) -> set[int]:
    """Return the keys of raters named by a finding, or by a drift alert that none explains."""
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

    k: number of categories; segment_starts: days on which other guidelines began; seconds (N,): for
    each rating passed to detect_drift, negative for unknown, or None.

    Only the first finding on a rater counts, in this order: drift, the same answer, too fast, below
    the team as a newcomer, disagreement, copies. Of findings on a question with common days the
    first counts, too: its agreement, a pair, a category. A question's agreement is that without the
    ratings since a drift. Where two raters cannot be distinguished and the agreement of all ratings
    fell, that finding replaces their alert.
    """
    result = OutlierResult()
    if not drift.data.comparisons.own.size:
        return result
    starts = list(segment_starts)
    _merge_alerts_of_indistinguishable_pair(
        drift, agreement_falls.find_question_falls(drift, starts, with_drifters=True), result
    )
    for finding in agreement_falls.find_question_falls(
        drift, starts
    ) + agreement_falls.find_pair_falls(drift, starts):
        _add_finding(result, finding)
    for finding in category_shifts.find_category_falls(drift, starts, k):
        _add_finding(result, finding)
    result.findings = _find_rater_outliers(drift, seconds) + result.findings
    return result


def _find_rater_outliers(drift: DriftResult, seconds: npt.ArrayLike | None) -> list[OutlierFinding]:
    alerted_raters = {key for alert in drift.alerts for key in alert.raters}
    rules: list[Callable[[], list[OutlierFinding]]] = [
        lambda: rater_rules.find_constant_raters(drift)
    ]
    if seconds is not None:
        rules.append(lambda: rater_rules.find_fast_raters(drift, seconds))
    rules += [
        lambda: find_newcomers_below_team(drift),
        lambda: rater_rules.find_disagreeing_raters(drift),
        lambda: copies.find_copies(drift, excluded_raters=alerted_raters),
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
    """Replace alerts on two indistinguishable raters by one on the question, in `result`.

    falls: findings on the question's agreement, with all ratings.
    """
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
    """Add a finding unless an earlier one in `result` has days in common with it."""
    if not any(_has_common_days(finding, existing) for existing in result.findings):
        result.findings.append(finding)


def _has_common_days(finding: OutlierFinding, other: OutlierFinding | DriftAlert) -> bool:
    return finding.onset <= other.day and other.onset <= finding.day
