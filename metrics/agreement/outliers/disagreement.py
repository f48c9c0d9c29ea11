"""Rule for raters who agree far less with the others than the team does, from the start.

A rater's level is the mean of the agreement scores (drift/comparisons.py). The bound is the median
of the other raters' levels, less 0.1 or three of their standard deviations where these are more: by
their median absolute deviation, and by the t quantile of as many raters. Raters differ, and the
lowest of many is no outlier. The evidence that the level is below the bound is the one-sided Bayes
factor of drift/evidence.py, at most 1 on average for a rater at the bound or above, so that such a
rater ever gets an alert with a probability of at most 1 / alert_level.
"""

import numpy as np
from scipy import special

from metrics.agreement.counts.clusters import MIN_CLUSTERS
from metrics.agreement.counts.grouping import rank_rows
from metrics.agreement.drift import AGREEMENT, DriftResult
from metrics.agreement.drift.daily_scores import DailyScores, estimate_variances
from metrics.agreement.drift.evidence import bayes_factor
from metrics.agreement.estimate import NORMAL_QUANTILE, Floats

from .finding import MIN_ITEMS_TO_TEST, RATER_DISAGREES, EvidenceSeries, OutlierFinding

MIN_OTHERS = 3
_TAIL_PROBABILITY = float(special.ndtr(-3))  # beyond three standard deviations
MAD_TO_SD = 1.4826  # ratio of standard deviation to median absolute deviation of normal values


def find_disagreeing_raters(drift: DriftResult) -> list[OutlierFinding]:
    """Return findings on raters who agree too little from the start, at most one a rater."""
    data, settings = drift.data, drift.data.settings
    if not data.comparisons.own.size:
        return []
    days = select_before_drift(drift, drift.days[AGREEMENT])
    n_raters = data.ratings.keys.size
    score_variances = estimate_variances(days, n_raters, AGREEMENT, settings)
    weight = 1 / (score_variances.s2[days.rater] / days.n + score_variances.kappa2[days.rater])
    items = np.bincount(days.rater, weights=days.n, minlength=n_raters)
    usable = np.flatnonzero(items >= MIN_ITEMS_TO_TEST)
    total = np.bincount(days.rater, weights=days.total, minlength=n_raters)
    median, limit = compute_medians_and_lower_bounds(
        total[usable] / items[usable], least=settings.tolerated_gap
    )
    starts = np.searchsorted(days.rater, [usable, usable + 1])
    findings = []
    for index in np.flatnonzero(np.isfinite(limit)).tolist():
        rows = slice(int(starts[0][index]), int(starts[1][index]))
        rater_days, day_weights = days.select(rows), weight[rows]
        rater = int(usable[index])
        evidence_path = compute_evidence_below(
            drift, rater, rater_days, day_weights, limit=float(limit[index])
        )
        is_named = evidence_path[-1] >= settings.alert_level
        if is_named and not _is_explained_by_items(drift, rater):
            facts = {"middle": float(median[index]), "bound": float(limit[index])}
            first = int(np.argmax(evidence_path >= settings.alert_level))
            findings.append(
                build_level_finding(
                    RATER_DISAGREES,
                    int(data.ratings.keys[rater]),
                    rater_days,
                    day_weights,
                    evidence_path,
                    first,
                    facts=facts,
                )
            )
    return findings


def _is_explained_by_items(drift: DriftResult, rater: int) -> bool:
    """Return whether other raters also agree that little with each other on the same items.

    Tested is the rater's level less that of the others on the same items. False where less than
    half of the items have two other ratings.
    """
    settings, same_items = drift.data.settings, drift.excess[AGREEMENT]()[1]
    days = select_before_drift(drift, same_items.days)
    all_days = select_before_drift(drift, drift.days[AGREEMENT])
    n_raters = drift.data.ratings.keys.size
    items = np.bincount(days.rater, weights=days.n, minlength=n_raters)
    total = np.bincount(days.rater, weights=days.total, minlength=n_raters)
    compared = np.bincount(all_days.rater, weights=all_days.n, minlength=n_raters)
    if items[rater] < max(MIN_ITEMS_TO_TEST, compared[rater] / 2):
        return False
    others = (items >= MIN_ITEMS_TO_TEST) & (np.arange(n_raters) != rater)
    levels = np.append(total[others] / items[others], 0.0)
    _median, limits = compute_medians_and_lower_bounds(levels, least=settings.tolerated_gap)
    if not np.isfinite(limits[-1]):
        return False
    rater_days, variances = days.select(days.rater == rater), same_items.variances
    weight = 1 / (variances.s2[rater] / rater_days.n + variances.kappa2[rater])
    evidence = compute_evidence_below(drift, rater, rater_days, weight, limit=float(limits[-1]))
    return bool(evidence[-1] < settings.own_evidence)


def compute_medians_and_lower_bounds(
    level: Floats, *, least: float, tail: float = _TAIL_PROBABILITY
) -> tuple[Floats, Floats]:
    """Return the median level of the other raters, and the lower bound, for each rater (R,).

    level (R,): of each rater; least: smallest distance of the bound from the median; tail:
    probability of a level below the bound. Both are -inf with fewer than MIN_OTHERS other raters.
    """
    size = level.size
    median, limit = np.full(size, -np.inf), np.full(size, -np.inf)
    if size - 1 < MIN_OTHERS:
        return median, limit
    multiple = -float(special.stdtrit(size - 2, tail)) * np.sqrt(1 + 1 / (size - 1))
    for index in range(size):
        others = np.delete(level, index) if size < 100 else level
        median[index] = np.median(others)
        robust_sd = MAD_TO_SD * float(np.median(np.abs(others - median[index])))
        limit[index] = median[index] - max(least, multiple * robust_sd)
        if size >= 100:  # leaving out one of so many has no effect
            return np.full(size, median[0]), np.full(size, limit[0])
    return median, limit


def select_before_drift(drift: DriftResult, days: DailyScores) -> DailyScores:
    """Return the daily scores of each rater before the onset of the rater's first alert."""
    first_onset = np.full(drift.data.ratings.keys.size, np.iinfo(np.int64).max)
    index_of_key = {int(key): number for number, key in enumerate(drift.data.ratings.keys)}
    for alert in drift.alerts:
        for key in alert.raters:
            first_onset[index_of_key[key]] = min(first_onset[index_of_key[key]], alert.onset)
    return days.select(days.day < first_onset[days.rater])


def compute_evidence_below(
    drift: DriftResult, rater: int, rater_days: DailyScores, weight: Floats, *, limit: float
) -> Floats:
    """Return the evidence (T,) that a rater's mean is below the limit, after each day.

    rater_days, weight (T,): the rater's days and their weights. The evidence is 0 before
    MIN_ITEMS_TO_TEST items and, where items are in clusters, before MIN_CLUSTERS of them.
    """
    mean = np.cumsum(weight * rater_days.total / rater_days.n) / np.cumsum(weight)
    omega = drift.data.settings.priors[AGREEMENT].omega
    (evidence,) = bayes_factor(limit - mean, 1 / np.cumsum(weight), omega)
    is_tested = np.cumsum(rater_days.n) >= MIN_ITEMS_TO_TEST
    ratings = drift.data.ratings
    if ratings.cluster is not None:
        is_own = (ratings.rater == rater) & ratings.dated
        first, cluster = rank_rows([ratings.cluster[is_own]])
        started = np.full(first.size, np.iinfo(np.int64).max)
        np.minimum.at(started, cluster, ratings.day[is_own])
        n_clusters = np.searchsorted(np.sort(started), rater_days.day, side="right")
        is_tested &= n_clusters >= MIN_CLUSTERS
    return np.where(is_tested, evidence, 0.0)


def build_level_finding(  # noqa: PLR0917
    kind: str,
    key: int,
    rater_days: DailyScores,
    weight: Floats,
    evidence: Floats,
    index: int,
    *,
    facts: dict[str, float],
) -> OutlierFinding:
    """Return the finding on a rater's weighted mean score up to the day with this index.

    key: of the rater; weight, evidence (T,): of each of the rater's days; facts: further figures.
    """
    mean = rater_days.total / rater_days.n
    used_weights = weight[: index + 1]
    level = float((used_weights * mean[: index + 1]).sum() / used_weights.sum())
    margin = NORMAL_QUANTILE / float(np.sqrt(used_weights.sum()))
    return OutlierFinding.since_start(
        kind,
        AGREEMENT,
        (key,),
        EvidenceSeries(rater_days.day, rater_days.n, mean, evidence),
        index,
        (level, level - margin, level + margin),
        facts=facts,
    )
