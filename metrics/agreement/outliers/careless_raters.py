"""Rules for careless raters: always the same answer, or far faster than all others.

Both rules count how rarely a rater does what a careful rater does, and test that against a
probability: the mean likelihood ratio over all smaller probabilities
(gold.compute_evidence_from_counts), an e-process for any order of answers. A rater who does it at
least that often ever gets an alert with a probability of at most 1 / alert_level.
"""

import numpy as np
import numpy.typing as npt

from metrics.agreement.counts.grouping import Ints
from metrics.agreement.drift import DriftResult
from metrics.agreement.drift.comparisons import Comparisons, DatedRatings
from metrics.agreement.estimate import wilson_interval
from metrics.agreement.rater_quality.gold import compute_evidence_from_counts

from .disagreement import compute_medians_and_lower_bounds
from .finding import (
    ANSWERS_MEASURE,
    MIN_ITEMS_TO_TEST,
    RATER_SAME_ANSWER,
    RATER_TOO_FAST,
    EvidenceSeries,
    OutlierFinding,
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
    size, n_raters = ratings.item.size, ratings.keys.size
    k = int(ratings.code.max(initial=0)) + 1
    n_others = np.bincount(comparisons.own, minlength=size)
    # (k, M): for each rating, the number of others who give each category.
    others_by_code = [
        np.bincount(
            comparisons.own, weights=ratings.code[comparisons.other] == code, minlength=size
        )
        for code in range(k)
    ]
    is_tested = np.array(
        [(n_others > 0) & (2 * (n_others - n_same) > n_others) for n_same in others_by_code]
    )
    category_counts = np.zeros((n_raters, k))
    has_others = n_others > 0
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
            if (
                not 0 < p0 < 1
                or compute_evidence_from_counts(n_left[rater], n_tested[rater] - n_left[rater], p0)
                < alert_level * k
            ):
                continue
            rows = np.flatnonzero(is_tested[code] & (ratings.rater == rater))
            counted = _count_by_day(ratings.day[rows], has_left[rows], p0, alert_level * k)
            if counted is not None:
                facts = {
                    "share": float(category_counts[rater, code] / category_counts[rater].sum()),
                    "others": float(others_left[rater] / others_tested[rater]),
                }
                key = int(ratings.keys[rater])
                findings.append(
                    _build_finding(
                        RATER_SAME_ANSWER, ANSWERS_MEASURE, key, counted, facts=facts, code=code
                    )
                )
    return findings


def find_fast_raters(drift: DriftResult, seconds: npt.ArrayLike) -> list[OutlierFinding]:
    """Return findings on raters who take a small part of the others' time on the same items.

    seconds (N,): for each rating passed to detect_drift, negative for unknown. A rater's pace is
    the time over the geometric mean of the others' on the item. A rating is rushed below a quarter
    of the median rater's pace, or below the bound for raters who differ more (disagreement.py). The
    evidence is that less than half of a rater's ratings are not rushed.
    """
    ratings, comparisons, alert_level = _select_without_drift(drift)
    rating_seconds = np.asarray(seconds, float)[ratings.row]
    timed = rating_seconds >= 0
    is_timed = timed[comparisons.own] & timed[comparisons.other]
    own_rows, other_rows = comparisons.own[is_timed], comparisons.other[is_timed]
    if not own_rows.size:
        return []
    log_seconds = np.log(np.maximum(rating_seconds, 0.1))
    size, n_raters = ratings.item.size, ratings.keys.size
    n_others = np.bincount(own_rows, minlength=size)
    others_mean = np.bincount(
        own_rows, weights=log_seconds[other_rows], minlength=size
    ) / np.maximum(n_others, 1)
    pace = log_seconds - others_mean
    rows = np.flatnonzero(n_others > 0)
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
