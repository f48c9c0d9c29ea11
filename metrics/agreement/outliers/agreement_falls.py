"""Rules for falls of agreement that no single rater causes: of a question or of a pair.

Those of a category are in category_shifts.py. The evidence is that of a rater's drift
(drift/evidence.py), over weeks instead of days: without a shift it grows by at most 1 a week. With
an alert at alert_level / 5 weeks, a question's agreement raises a false alert at most once in
`alert_level` working days. Each of n pairs needs n times as much, and each of k categories in
either of two measures 2 k times as much: so all of them together raise no more false alerts.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from metrics.agreement.counts.grouping import Ints, index_distinct
from metrics.agreement.drift import (
    AGREEMENT,
    DriftResult,
    DriftSettings,
    ShiftEstimate,
    ShiftEvidence,
    ShiftPrior,
    compute_evidence,
    estimate_shift,
)
from metrics.agreement.drift.comparisons import fit_effects
from metrics.agreement.drift.daily_scores import DailyScores, estimate_variances, sum_by_day
from metrics.agreement.drift.evidence import DailySums, bayes_factor
from metrics.agreement.estimate import Floats

from .finding import (
    PAIR_DIVERGED,
    QUESTION_AGREEMENT_FELL,
    EvidenceSeries,
    OutlierFinding,
)

WEEK_DAYS = 7
_MONDAY_OFFSET = 3  # 1970-01-01 was a Thursday
WORKDAYS_PER_WEEK = 5
_AUTOCORRELATION_FACTOR = (
    2.0  # successive weeks are correlated: multiplies the variance of their differences
)
# Weeks needed before the onset, and from it on, so that a single odd week has no effect.
MIN_WEEKS_BEFORE, MIN_WEEKS_SINCE = 4, 2


@dataclass(frozen=True)
class GroupScores:
    """Scores of items or comparisons, each with a group and a day, as parallel arrays (N,)."""

    group: Ints
    day: Ints
    score: Floats


@dataclass(frozen=True)
class LevelFall:
    """A fall of the weekly mean score of one group.

    series, evidence: by week; t: index of the week in which the evidence sufficed; estimate: onset
    range and size interval.
    """

    group: int
    series: EvidenceSeries
    evidence: ShiftEvidence
    t: int
    estimate: ShiftEstimate

    @property
    def onset(self) -> int:
        """The index of the week of the onset."""
        return int(self.evidence.onset[self.t])

    def compute_mean(self, rows: slice) -> float:
        """Return the mean score in a slice of weeks; each score has the same weight."""
        n = self.series.n[rows]
        return float((self.series.mean[rows] * n).sum() / n.sum())

    @property
    def mean_before(self) -> float:
        """The mean score in the weeks before the onset."""
        return self.compute_mean(slice(0, self.onset))

    @property
    def mean_since(self) -> float:
        """The mean score in the weeks from the onset to week t."""
        return self.compute_mean(slice(self.onset, self.t + 1))


def find_question_falls(
    drift: DriftResult, segment_starts: list[int], *, with_drifters: bool = False
) -> list[OutlierFinding]:
    """Return findings on falls of the agreement of all raters, without the raters' own levels.

    segment_starts: days on which other guidelines began; with_drifters: whether the ratings of
    drifting raters since their onset count.
    """
    rows, residuals = _compute_residuals(drift, with_drifters=with_drifters)
    item, item_index = index_distinct(drift.data.ratings.item[drift.data.comparisons.own[rows]])
    score = np.bincount(item_index, weights=residuals) / np.bincount(item_index)
    scored = GroupScores(
        np.zeros(item.size, np.int64), get_last_days(drift, rows, item_index), score
    )
    prior = drift.data.settings.priors[AGREEMENT]
    falls = find_falls(
        scored, 1, prior=prior, settings=drift.data.settings, segment_starts=segment_starts
    )
    return [build_finding(QUESTION_AGREEMENT_FELL, AGREEMENT, (), fall) for fall in falls]


def find_pair_falls(drift: DriftResult, segment_starts: list[int]) -> list[OutlierFinding]:
    """Return findings on pairs whose agreement fell, net of both raters' own levels.

    segment_starts: days on which other guidelines began.
    """
    rows, residuals = _compute_residuals(drift)
    comparisons, ratings = drift.data.comparisons, drift.data.ratings
    is_first = comparisons.own_rater[rows] < comparisons.other_rater[rows]
    rows, residuals = rows[is_first], residuals[is_first]
    pair_keys, group = index_distinct(
        comparisons.own_rater[rows] * ratings.keys.size + comparisons.other_rater[rows]
    )
    prior = drift.data.settings.priors[AGREEMENT]
    has_enough = (
        np.bincount(group, minlength=pair_keys.size) >= prior.least_before + prior.least_since
    )
    used = has_enough[group]
    scored = GroupScores(
        (np.cumsum(has_enough) - 1)[group[used]],
        get_comparison_days(drift, rows[used]),
        residuals[used],
    )
    pair_keys = pair_keys[has_enough]
    findings = []
    settings = drift.data.settings
    for fall in find_falls(
        scored, pair_keys.size, prior=prior, settings=settings, segment_starts=segment_starts
    ):
        pair_key, n_pairs = int(pair_keys[fall.group]), pair_keys.size
        if not _is_beyond_others(drift, rows, residuals, fall, pair_key, n_pairs=n_pairs):
            continue
        g, h = divmod(pair_key, ratings.keys.size)
        raters = int(ratings.keys[g]), int(ratings.keys[h])
        findings.append(build_finding(PAIR_DIVERGED, AGREEMENT, raters, fall))
    return findings


def _is_beyond_others(  # noqa: PLR0917
    drift: DriftResult,
    rows: Ints,
    residuals: Floats,
    fall: LevelFall,
    pair_key: int,
    *,
    n_pairs: int,
) -> bool:
    """Return whether a pair fell beyond each of the sets of _list_reference_sets.

    rows, residuals (C,): comparisons of all pairs, and their agreement net of the raters' levels.
    The Bayes factor of the fall net of a set must be n_pairs times as large as drift needs
    (settings.own_evidence), because the pair that fell most is tested. A set is skipped where it
    covers less than half of the pair's comparisons before the onset, or since.
    """
    settings, day = drift.data.settings, get_comparison_days(drift, rows)
    first, last = int(fall.series.day[0]), int(fall.series.day[fall.t]) + WEEK_DAYS
    comparisons = drift.data.comparisons
    n_raters = drift.data.ratings.keys.size
    keys = comparisons.own_rater[rows] * n_raters + comparisons.other_rater[rows]
    is_own = (keys == pair_key) & (day >= first) & (day < last)
    is_since = day[is_own] >= fall.series.day[fall.onset]
    own = residuals[is_own]
    whole_factor = _compute_fall_factor(own, is_since, settings)
    needed = n_pairs * max(
        settings.own_evidence, min(whole_factor**settings.own_exponent, settings.own_limit)
    )
    for group, is_other in _list_reference_sets(drift, rows, pair_key):
        excess = own - _compute_group_means(group, residuals, is_other)[is_own]
        is_tested = np.isfinite(excess)
        has_enough = all(
            2 * (is_tested & part).sum() >= max(int(part.sum()), 1)
            for part in (is_since, ~is_since)
        )
        if has_enough and (
            _compute_fall_factor(excess[is_tested], is_since[is_tested], settings) < needed
        ):
            return False
    return True


def _list_reference_sets(
    drift: DriftResult, rows: Ints, pair_key: int
) -> list[tuple[Ints, npt.NDArray[np.bool_]]]:
    """Return the sets of comparisons that may explain a pair's fall, as (groups, mask), each (C,).

    A comparison of the pair is compared with the masked ones of its group. The sets are: all other
    pairs in the same week, on the same item, and on items with the same value of each attribute;
    and each of the two raters with third raters in the same week, because a rater who gets hard
    items, or falls with everybody, has not diverged from this one rater.
    """
    comparisons, ratings = drift.data.comparisons, drift.data.ratings
    own, g, h = comparisons.own[rows], comparisons.own_rater[rows], comparisons.other_rater[rows]
    week = (get_comparison_days(drift, rows) + _MONDAY_OFFSET) // WEEK_DAYS
    is_other = g * ratings.keys.size + h != pair_key
    attributes = [column[own] for column in drift.data.attributes]
    return [
        *((group, is_other) for group in (week, ratings.item[own], *attributes)),
        *(
            (week, is_other & ((g == rater) | (h == rater)))
            for rater in divmod(pair_key, ratings.keys.size)
        ),
    ]


def _compute_group_means(group: Ints, score: Floats, mask: npt.NDArray[np.bool_]) -> Floats:
    """Return the mean masked score (C,) of each comparison's group; NaN without a masked one."""
    _groups, index = index_distinct(group)
    n = np.bincount(index, weights=mask)
    total = np.bincount(index, weights=np.where(mask, score, 0.0))
    return np.divide(total, n, out=np.full(n.size, np.nan), where=n > 0)[index]


def _compute_fall_factor(
    score: Floats, is_since: npt.NDArray[np.bool_], settings: DriftSettings
) -> float:
    """Return the Bayes factor of a lower mean score (N,) since the onset than before it."""
    before, since = score[~is_since], score[is_since]
    s2 = max(float(score.var()), settings.min_item_variance[AGREEMENT])
    prior = settings.priors[AGREEMENT]
    variance = s2 * (1 / before.size + 1 / since.size) + prior.tolerance**2
    ((factor,),) = bayes_factor(
        np.array([before.mean() - since.mean()]), np.array([variance]), prior.omega
    )
    return float(factor)


def _compute_residuals(drift: DriftResult, *, with_drifters: bool = False) -> tuple[Ints, Floats]:
    """Return indices of dated comparisons (C,), and their agreement net of the raters' levels.

    Ratings of drifting raters since their onset are left out unless `with_drifters`.
    """
    comparisons, ratings = drift.data.comparisons, drift.data.ratings
    differences = drift.data.differences[AGREEMENT]
    excluded = drift.excluded_ratings & (not with_drifters)
    rows = np.flatnonzero(~excluded[comparisons.own] & ~excluded[comparisons.other])
    rows = rows[ratings.dated[comparisons.own[rows]] & ratings.dated[comparisons.other[rows]]]
    g, h = comparisons.own_rater[rows], comparisons.other_rater[rows]
    ridge = drift.data.settings.ridge
    rater_effects = fit_effects(
        AGREEMENT, differences[rows], g, h, n_raters=ratings.keys.size, ridge=ridge
    )
    return rows, rater_effects.compute_residuals(differences[rows], g, h)


def get_comparison_days(drift: DriftResult, rows: Ints) -> Ints:
    """Return the day of each comparison (C,), which is the later of its ratings' days."""
    day, comparisons = drift.data.ratings.day, drift.data.comparisons
    return np.maximum(day[comparisons.own[rows]], day[comparisons.other[rows]])


def get_last_days(drift: DriftResult, rows: Ints, item_index: Ints) -> Ints:
    """Return the day (N,) of the last comparison of each item.

    rows, item_index (C,): the comparisons, and the index of the item of each.
    """
    last = np.full(int(item_index.max(initial=-1)) + 1, np.iinfo(np.int64).min)
    np.maximum.at(last, item_index, get_comparison_days(drift, rows))
    return last


def find_falls(
    scored: GroupScores,
    groups: int,
    *,
    prior: ShiftPrior,
    settings: DriftSettings,
    segment_starts: list[int],
    multiple: int = 0,
) -> list[LevelFall]:
    """Return the falls of the mean score in each of the groups.

    Each needs `multiple` times the evidence of a single test; 0 means as many times as there are
    groups.
    """
    level = settings.alert_level / WORKDAYS_PER_WEEK * max(1, multiple or groups)
    # Each segment between guideline changes is a group of its own.
    edges = np.array(sorted(segment_starts), np.int64)
    segment = np.searchsorted(edges, scored.day, side="right")
    group = scored.group * (edges.size + 1) + segment
    weeks = sum_by_day(group, (scored.day + _MONDAY_OFFSET) // WEEK_DAYS, scored.score)
    score_variances = estimate_variances(weeks, groups * (edges.size + 1), AGREEMENT, settings)
    ends = np.flatnonzero(np.diff(weeks.rater, prepend=-1, append=-1))
    falls = []
    for start, end in pairwise(ends.tolist()):
        segment_group = int(weeks.rater[start])
        s2 = float(score_variances.s2[segment_group])
        kappa2 = _AUTOCORRELATION_FACTOR * float(score_variances.kappa2[segment_group])
        remaining = weeks.select(slice(start, end))
        while (
            fall := _find_first_fall(remaining, level, s2=s2, kappa2=kappa2, prior=prior)
        ) is not None:
            falls.append(replace(fall, group=segment_group // (edges.size + 1)))
            remaining = remaining.select(slice(fall.t + 1, None))
    return falls


def _find_first_fall(
    weeks: DailyScores, level: float, *, s2: float, kappa2: float, prior: ShiftPrior
) -> LevelFall | None:
    if weeks.n.size < MIN_WEEKS_BEFORE + MIN_WEEKS_SINCE:
        return None
    lasting = replace(prior, least_days_before=MIN_WEEKS_BEFORE, least_days_since=MIN_WEEKS_SINCE)
    evidence_by_week = compute_evidence(
        weeks.n, weeks.total, weeks.squares, s2=s2, kappa2=kappa2, side=-1, prior=lasting
    )
    reached = np.flatnonzero(evidence_by_week.total >= level)
    if not reached.size:
        return None
    index = int(reached[0])
    weeks_until = weeks.select(slice(index + 1))
    estimate = estimate_shift(
        DailySums(weeks_until.n, weeks_until.total, weeks_until.squares),
        int(evidence_by_week.onset[index]),
        s2=s2,
        kappa2=kappa2,
        side=-1,
        prior=prior,
    )
    series = EvidenceSeries(
        weeks.day * WEEK_DAYS - _MONDAY_OFFSET,
        weeks.n,
        weeks.total / weeks.n,
        evidence_by_week.total,
    )
    return LevelFall(0, series, evidence_by_week, index, estimate)


def build_finding(
    kind: str, measure: str, raters: tuple[int, ...], fall: LevelFall, *, code: int | None = None
) -> OutlierFinding:
    series, fall_evidence, index = fall.series, fall.evidence, fall.t
    return OutlierFinding(
        kind=kind,
        measure=measure,
        raters=raters,
        code=code,
        day=int(series.day[index]) + WEEK_DAYS - 1,
        onset=int(series.day[fall.onset]),
        earliest=int(series.day[fall.estimate.earliest]),
        latest=int(series.day[fall.estimate.latest]) + WEEK_DAYS - 1,
        size=float(fall_evidence.step[index]),
        low=fall.estimate.low,
        high=fall.estimate.high,
        n=int(series.n[fall.onset : index + 1].sum()),
        n_before=int(series.n[: fall.onset].sum()),
        evidence=float(fall_evidence.total[index]),
        series=series,
        facts={"was": fall.mean_before, "is": fall.mean_since},
    )
