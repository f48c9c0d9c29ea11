"""Rules on single raters: disagreeing from the start, always the same answer, far too fast.

A rater's level is the mean of the agreement scores (drift/comparisons.py). The bound is the median
of the other raters' levels, less 0.1 or three of their standard deviations where these are more: by
their median absolute deviation, and by the t quantile of as many raters. Raters differ, and the
lowest of many is no outlier. The evidence that the level is below the bound is the one-sided Bayes
factor of drift/evidence.py, at most 1 on average for a rater at the bound or above, so that such a
rater ever gets an alert with a probability of at most 1 / alert_level.

The other two rules count how rarely a rater does what a careful rater does, and test that against a
probability: the mean likelihood ratio over all smaller probabilities
(gold.compute_evidence_from_counts), an e-process for any order of answers. A rater who does it at
least that often ever gets an alert with a probability of at most 1 / alert_level.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement.counts.grouping import Ints, rank_rows
from metrics.agreement.counts.wider_intervals import MIN_CLUSTERS
from metrics.agreement.drift import AGREEMENT, DriftResult
from metrics.agreement.drift.comparisons import Comparisons, DatedRatings
from metrics.agreement.drift.daily_scores import DailyScores, estimate_variances
from metrics.agreement.drift.evidence import bayes_factor
from metrics.agreement.estimate import NORMAL_QUANTILE, Floats, wilson_interval
from metrics.agreement.rater_quality.gold import compute_evidence_from_counts

from .finding import (
    ANSWERS_MEASURE,
    MIN_ITEMS_TO_TEST,
    RATER_DISAGREES,
    RATER_SAME_ANSWER,
    RATER_TOO_FAST,
    EvidenceSeries,
    OutlierFinding,
)

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
    is_tested_other = (items >= MIN_ITEMS_TO_TEST) & (np.arange(n_raters) != rater)
    levels = np.append(total[is_tested_other] / items[is_tested_other], 0.0)
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
        other_levels = np.delete(level, index) if size < 100 else level
        median[index] = np.median(other_levels)
        robust_sd = MAD_TO_SD * float(np.median(np.abs(other_levels - median[index])))
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


_SELDOM_SHARE = 0.25  # share of how often the others leave the category
_LOG_QUARTER = float(np.log(4))  # a quarter of the time of the others, in logarithms
_CAREFUL_SHARE = 0.5  # share of ratings that a careful rater does not rush


def find_constant_raters(drift: DriftResult) -> list[OutlierFinding]:
    """Return findings on raters who use one category where most others use another.

    Tested are a rater's ratings of items where more than half of the others did not give the
    rater's most used category. The evidence is that the rater left it there less than a quarter as
    often as all other raters leave that category on such items.
    """
    ratings, comparisons, alert_level = _select_without_drift(drift)
    n_raters, k = ratings.keys.size, int(ratings.code.max(initial=0)) + 1
    is_tested, has_others = _mask_answered_otherwise(ratings, comparisons, k)
    category_counts = np.zeros((n_raters, k))
    np.add.at(category_counts, (ratings.rater[has_others], ratings.code[has_others]), 1)
    most_used = category_counts.argmax(axis=1)
    findings = []
    for code in range(k):
        has_left = is_tested[code] & (ratings.code != code)
        n_tested = np.bincount(ratings.rater[is_tested[code]], minlength=n_raters)
        n_left = np.bincount(ratings.rater[has_left], minlength=n_raters)
        others_tested, others_left = n_tested.sum() - n_tested, n_left.sum() - n_left
        for rater in np.flatnonzero(
            (most_used == code) & (n_tested >= MIN_ITEMS_TO_TEST) & (others_tested > 0)
        ):
            p0 = _SELDOM_SHARE * others_left[rater] / others_tested[rater]
            n_other = n_tested[rater] - n_left[rater]
            if not 0 < p0 < 1 or (
                compute_evidence_from_counts(n_left[rater], n_other, p0) < alert_level * k
            ):
                continue
            rows = np.flatnonzero(is_tested[code] & (ratings.rater == rater))
            counted = _count_by_day(ratings.day[rows], has_left[rows], p0, alert_level * k)
            if counted is not None:
                facts = {
                    "share": float(category_counts[rater, code] / category_counts[rater].sum()),
                    "others": float(others_left[rater] / others_tested[rater]),
                }
                rule = RATER_SAME_ANSWER, ANSWERS_MEASURE, int(ratings.keys[rater])
                findings.append(_build_finding(*rule, counted, facts=facts, code=code))
    return findings


def _mask_answered_otherwise(
    ratings: DatedRatings, comparisons: Comparisons, k: int
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return two masks of ratings: by category (k, M), and those with other ratings (M,).

    The first has, for each category, the ratings of items to which more than half of the others
    gave another category.
    """
    size = ratings.item.size
    n_others = np.bincount(comparisons.own, minlength=size)
    other_codes = ratings.code[comparisons.other]
    is_tested = np.zeros((k, size), bool)
    for code in range(k):
        n_same = np.bincount(comparisons.own, weights=other_codes == code, minlength=size)
        is_tested[code] = (n_others > 0) & (2 * (n_others - n_same) > n_others)
    return is_tested, n_others > 0


def find_fast_raters(drift: DriftResult, seconds: npt.ArrayLike) -> list[OutlierFinding]:
    """Return findings on raters who take a small part of the others' time on the same items.

    seconds (N,): for each rating passed to detect_drift, negative for unknown. A rater's pace is
    the time over the geometric mean of the others' on the item. A rating is rushed below a quarter
    of the median rater's pace, or below the bound for raters who differ more (rater_rules.py). The
    evidence is that less than half of a rater's ratings are not rushed.
    """
    ratings, comparisons, alert_level = _select_without_drift(drift)
    rating_seconds = np.asarray(seconds, float)[ratings.row]
    rows, pace, others_mean = _compute_paces(comparisons, rating_seconds)
    if not rows.size:
        return []
    n_raters = ratings.keys.size
    n = np.bincount(ratings.rater[rows], minlength=n_raters)
    usable = np.flatnonzero(n >= MIN_ITEMS_TO_TEST)
    rows = rows[np.lexsort((ratings.day[rows], ratings.rater[rows]))]
    starts = np.searchsorted(ratings.rater[rows], usable)
    rater_rows = [
        rows[start : start + n[rater]] for start, rater in zip(starts, usable, strict=True)
    ]
    level = np.array([float(np.median(pace[own_part])) for own_part in rater_rows])
    _middle, limit = compute_medians_and_lower_bounds(level, least=_LOG_QUARTER)
    findings = []
    for index, own_part in enumerate(rater_rows):
        if not np.isfinite(limit[index]) or level[index] >= limit[index]:
            continue
        counted = _count_by_day(
            ratings.day[own_part], pace[own_part] >= limit[index], _CAREFUL_SHARE, alert_level
        )
        if counted is not None:
            facts = {
                "seconds": float(np.median(rating_seconds[own_part])),
                "usual": float(np.median(np.exp(others_mean[own_part]))),
                "times": float(np.exp(-limit[index])),
            }
            key = int(ratings.keys[usable[index]])
            findings.append(_build_finding(RATER_TOO_FAST, "pace", key, counted, facts=facts))
    return findings


def _compute_paces(comparisons: Comparisons, seconds: Floats) -> tuple[Ints, Floats, Floats]:
    """Return the rows of ratings with timed others, their paces, and the others' mean times.

    seconds (M,): of all ratings, negative where unknown. The paces (M,) are logarithms of the time
    over the others' mean, and the means (M,) are of logarithms of seconds; both are defined in
    these rows only.
    """
    timed = seconds >= 0
    is_timed = timed[comparisons.own] & timed[comparisons.other]
    own_rows, other_rows = comparisons.own[is_timed], comparisons.other[is_timed]
    log_seconds = np.log(np.maximum(seconds, 0.1))
    n_others = np.bincount(own_rows, minlength=seconds.size)
    total = np.bincount(own_rows, weights=log_seconds[other_rows], minlength=seconds.size)
    others_mean = total / np.maximum(n_others, 1)
    return np.flatnonzero(n_others > 0), log_seconds - others_mean, others_mean


def _count_by_day(
    day: Ints, done: npt.NDArray[np.bool_], p0: float, alert_level: float
) -> tuple[EvidenceSeries, int, int, int] | None:
    """Return (evidence by day, index of the day it sufficed, n tested, n done up to it), or None.

    done (M,): whether the rater did what is tested. The evidence is against doing it with a
    probability of p0 or more. None where it never reaches alert_level, or is below it at the end.
    """
    days, day_index = np.unique(day, return_inverse=True)
    n = np.bincount(day_index, minlength=days.size)
    n_done = np.bincount(day_index, weights=done, minlength=days.size)
    cumulative_tested, cumulative_done = np.cumsum(n), np.cumsum(n_done)
    evidence_path = np.where(
        cumulative_tested >= MIN_ITEMS_TO_TEST,
        compute_evidence_from_counts(cumulative_done, cumulative_tested - cumulative_done, p0),
        0.0,
    )
    reached = np.flatnonzero(evidence_path >= alert_level)
    if not reached.size or evidence_path[-1] < alert_level:
        return None
    index = int(reached[0])
    return (
        EvidenceSeries(days, n, n_done / n, evidence_path),
        index,
        int(cumulative_tested[index]),
        int(cumulative_done[index]),
    )


def _build_finding(
    kind: str,
    measure: str,
    rater: int,
    counts: tuple[EvidenceSeries, int, int, int],
    *,
    facts: dict[str, float],
    code: int | None = None,
) -> OutlierFinding:
    series, index, n_tested, n_done = counts
    return OutlierFinding.since_start(
        kind,
        measure,
        (rater,),
        series,
        index,
        (n_done / n_tested, *wilson_interval(n_done, n_tested)),
        facts=facts,
        code=code,
    )


def _select_without_drift(drift: DriftResult) -> tuple[DatedRatings, Comparisons, float]:
    """Return all ratings, the comparisons without ratings since a drift, and the alert level."""
    ratings, comparisons = drift.data.ratings, drift.data.comparisons
    return (
        ratings,
        comparisons.select(
            ~drift.excluded_ratings[comparisons.own] & ~drift.excluded_ratings[comparisons.other]
        ),
        drift.data.settings.alert_level,
    )
