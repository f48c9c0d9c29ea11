"""Rule for newcomers whose first items agree far less with the others than the team does.

A newcomer began after three other raters had 30 compared items each. The level is the mean of the
agreement scores of the first 30 to 300 compared items, less what the same days meant for all others
(drift/common_changes.py); clear cases are named within 100 items. The bound is the median of the
other raters' levels, less 0.1 or 1.28 of their standard deviations where these are more. The
evidence is that of disagreement.py: a newcomer at the bound or above is ever named with a
probability of at most 1 / 20.
"""

import numpy as np

from metrics.agreement.drift import AGREEMENT, DriftResult
from metrics.agreement.drift.daily_scores import DailyScores
from metrics.agreement.estimate import Floats

from .disagreement import (
    MIN_OTHERS,
    build_level_finding,
    compute_evidence_below,
    compute_medians_and_lower_bounds,
    select_before_drift,
)
from .finding import MIN_ITEMS_TO_TEST, NEWCOMER_BELOW_TEAM, OutlierFinding

MAX_ITEMS = 300  # the first compared items of a newcomer
EVIDENCE_LEVEL = 20.0
_TAIL_PROBABILITY = 0.1  # of a level below the bound


def find_newcomers_below_team(drift: DriftResult) -> list[OutlierFinding]:
    """Return findings on newcomers below the team, at most one a newcomer."""
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
        first = np.cumsum(rater_days.n) - rater_days.n < MAX_ITEMS
        rater_days = rater_days.select(first)
        variances = same_time.variances
        weight = 1 / (variances.s2[rater] / rater_days.n + variances.kappa2[rater])
        limit = float(limits[-1])
        evidence = compute_evidence_below(
            rater_days, weight, limit, settings.priors[AGREEMENT].omega
        )
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
    """Return the day on which each rater reached MIN_ITEMS_TO_TEST items, infinite for never."""
    established_on = np.full(n_raters, np.inf)
    for rater in np.unique(days.rater).tolist():
        rater_days = days.select(slice(*np.searchsorted(days.rater, [rater, rater + 1])))
        reached = np.flatnonzero(np.cumsum(rater_days.n) >= MIN_ITEMS_TO_TEST)
        if reached.size:
            established_on[rater] = rater_days.day[reached[0]]
    return established_on
