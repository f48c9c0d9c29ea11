"""Evidence that the scores of one rater have shifted, from daily sums.

For today t and each possible onset j the day means y_d are regressed on a step (1 from j on) or a
ramp (d - j + 1 from j on), and the slope theta is weighed by a one-sided Bayes factor

    E_j = 2 Phi(theta omega / sqrt(V V')) sqrt(V / V') exp(theta^2 / 2 (1/V - 1/V')),
    V' = V + omega^2,

of a half-normal shift of scale omega against none, the level unknown. The sum over j is an
e-detector (Shin, Ramdas & Rinaldo 2024, New England Journal of Statistics in Data Science 2,
229-260): without a shift its mean grows by at most 1 a day, so that the mean time to a false alert
at level A is at least A days.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement.counts.grouping import Ints
from metrics.agreement.estimate import Floats

from .drift_settings import ShiftPrior

# exp(u^2) overflows at u = 27. Beyond this limit u^2 is replaced by a logarithmic growth, which
# stays finite and keeps the order of the onsets.
_MAX_ARGUMENT = 24.0
_MIN_LEVEL = 0.05  # of the others, in kappa units; below it all raters have the same level
_RATIO_LIMITS = 0.5, 2.0  # of a rater's level by that of the others
_BLOCK_SIZE = 4096  # pairs of days computed at once, so that their sums stay in the cache


@dataclass(frozen=True)
class ShiftEvidence:
    """Evidence of one channel on each active day t of a segment; all (T,).

    total: sum of E_j over the onsets, 0 where there is no possible onset
    onset: the onset with the largest E_j, -1 where there is none
    step: shift of the mean at that onset (0 where there is none), in units of the score
    """

    total: Floats
    onset: Ints
    step: Floats


class DailySums(NamedTuple):
    """Items, scores and squared scores, each summed by active day (T,).

    n: number of items, 1 or more; total: sum of their scores; squares: sum of the squared scores.
    """

    n: npt.ArrayLike
    total: npt.ArrayLike
    squares: npt.ArrayLike


class CumulativeSums(NamedTuple):
    """Sums over ranges of days, each (P,).

    n: items; s, q: their scores and squared scores; w: weights of the days; wy, wd, wdd, wdy: w
    times the mean y, the day number d, d^2 and d y.
    """

    n: Floats
    s: Floats
    q: Floats
    w: Floats
    wy: Floats
    wd: Floats
    wdd: Floats
    wdy: Floats


class CommonScores(NamedTuple):
    """The part of a rater's scores that is common to all raters.

    totals (T,): its sum on each active day, as deviation from `level`, the mean of all comparisons.
    A level of 0 means that common shifts are not proportional to a rater's level.
    """

    totals: Floats
    level: float


class CommonShifts(NamedTuple):
    """Step and ramp of the common part at each onset (P,), and the ratio own / others' level."""

    step: Floats
    ramp: Floats
    ratio: Floats


def compute_evidence(
    n: npt.ArrayLike,
    total: npt.ArrayLike,
    squares: npt.ArrayLike,
    *,
    s2: float,
    kappa2: float,
    side: int,
    prior: ShiftPrior,
) -> ShiftEvidence:
    """Return the evidence for a rise or a fall of the mean, up to each active day.

    n, total, squares (T,): items of each active day (1 or more), sum of their scores, and of the
    squares; s2: variance of an item about its day; kappa2: variance of days about their level;
    side: +1 tests for a rise, -1 for a fall. Raises ValueError for columns of unequal length, a day
    without items, a variance that is not positive (s2) or negative (kappa2), and another side.
    """
    days = DailySums(n, total, squares)
    return compute_evidence_by_side(days, (side,), s2=s2, kappa2=kappa2, prior=prior)[0]


def compute_evidence_by_side(
    days: DailySums, sides: Sequence[int], *, s2: float, kappa2: float, prior: ShiftPrior
) -> list[ShiftEvidence]:
    """Return the evidence for each side (+1 rise, -1 fall); one regression serves all sides.

    The arguments and errors are those of compute_evidence.
    """
    n, total, squares = (np.asarray(column, float) for column in days)
    _validate_days(n, total, squares, s2=s2, kappa2=kappa2, sides=sides)
    today, onset = _list_onsets(n, prior)
    sums = compute_cumulative_sums(n, total, squares, 1 / (s2 / n + kappa2))
    parts = []
    for start in range(0, max(today.size, 1), _BLOCK_SIZE):
        block = slice(start, start + _BLOCK_SIZE)
        segments = _take_segments(sums, today[block], onset[block])
        parts.append(
            _weigh_onsets(*segments, today[block], onset[block], s2=s2, sides=sides, prior=prior)
        )
    step, *of_side = np.concatenate(parts, axis=1)
    # The last element, at index -1, means no onset.
    onset, step = np.append(onset, -1), np.append(step, 0.0)
    results = []
    for factors in of_side:
        evidence_sum, index = _sum_onsets(factors, today, n.size)
        results.append(ShiftEvidence(evidence_sum, onset[index], step[index]))
    return results


def compute_bayes_factors_beyond_common(
    days: DailySums,
    today: Ints,
    onset: Ints,
    *,
    side: int,
    s2: float,
    kappa2: float,
    prior: ShiftPrior,
    common: CommonScores | None = None,
) -> Floats:
    """Return the Bayes factors E_j (P,) of a rater's shift beyond the shift common to all.

    today, onset (P,): indices of days, 0 < onset <= today; side: +1 rise, -1 fall; common: the part
    already removed from the scores because it is common to all, None for none. A rater is expected
    to follow a common shift in proportion to the own level before the onset, with a standard
    deviation of prior.common_tolerance times that shift.
    """
    n, total, squares = (np.asarray(column, float) for column in days)
    weights = 1 / (s2 / n + kappa2)
    before, since = _take_segments(
        compute_cumulative_sums(n, total, squares, weights), today, onset
    )
    shifts = None
    if common is not None:
        common_sums = compute_cumulative_sums(n, common.totals, squares, weights)
        shifts = _fit_common_shifts(common_sums, before, today, onset, common)
    segments = before, since, today, onset
    _step, factors = _weigh_onsets(*segments, s2=s2, sides=(side,), prior=prior, common=shifts)
    return factors


def _take_segments(sums: Floats, today: Ints, onset: Ints) -> tuple[CumulativeSums, CumulativeSums]:
    """Return the sums over the days before each onset, and from it to `today`, each (P,)."""
    before = np.take(sums, onset, axis=1)
    return CumulativeSums(*before), CumulativeSums(*(np.take(sums, today + 1, axis=1) - before))


def _fit_common_shifts(  # noqa: PLR0917
    sums: Floats, before: CumulativeSums, today: Ints, onset: Ints, common: CommonScores
) -> CommonShifts:
    """Return the common shift at each onset (P,), and the rater's level relative to the others'.

    sums: cumulative sums of the common part; before: of the rater's remaining scores before the
    onset.
    """
    common_before, common_since = _take_segments(sums, today, onset)
    step, _spread = fit_step(common_before, common_since)
    ramp, _spread = fit_ramp(common_before, common_since, onset)
    others = common.level + common_before.s / common_before.n
    own = (before.s + common_before.s) / before.n
    is_level = (others > _MIN_LEVEL) & (common.level > 0)
    ratio = np.where(is_level, own / np.where(is_level, others, 1.0), 1.0)
    return CommonShifts(step, ramp, np.clip(ratio, *_RATIO_LIMITS))


def _weigh_onsets(
    before: CumulativeSums,
    since: CumulativeSums,
    today: Ints,
    onset: Ints,
    *,
    s2: float,
    sides: Sequence[int],
    prior: ShiftPrior,
    common: CommonShifts | None = None,
) -> Floats:
    """Return the fitted steps (row 0), and E_j of each side (further rows): (1 + sides, P).

    before, since: sums before each onset and from it to today; common: shifts that are expected of
    all raters, None for none.
    """
    step_deviation = ramp_deviation = np.zeros(today.size)
    inflation = variance_inflation(before, since, s2, prior)
    shrinkage = since.n / (since.n + prior.pseudo)
    step, spread = fit_step(before, since)
    if common is not None:
        step -= (common.ratio - 1) * common.step
        step_deviation = prior.common_tolerance * common.step
    variance = inflation / spread + prior.tolerance**2 + step_deviation**2
    factors = prior.step * bayes_factor(shrinkage * step, variance, prior.omega, sides)
    ramp, spread = fit_ramp(before, since, onset)
    if common is not None:
        ramp -= (common.ratio - 1) * common.ramp
        ramp_deviation = prior.common_tolerance * common.ramp
    tolerance = prior.tolerance / (today - onset + 1)
    variance = inflation / spread + tolerance**2 + ramp_deviation**2
    theta = shrinkage * ramp
    for length in prior.ramps:
        share = (1 - prior.step) / len(prior.ramps)
        factors += share * bayes_factor(theta, variance, prior.omega / length, sides)
    return np.vstack([step, factors])


def bayes_factor(
    theta: Floats, variance: Floats, omega: float, sides: Sequence[int] = (1,)
) -> Floats:
    """Return the Bayes factors E_j (sides, P) of shifts theta (P,) with variance (P,), omega > 0.

    sides: 1 for shifts upwards, -1 downwards. With u = theta omega / sqrt(2 V V') the formula is
    erfc(-u) exp(u^2) sqrt(V / V'). For u > 0 that is (2 exp(u^2) - erfcx(u)) sqrt(V / V'), where
    erfcx(u) = erfc(u) exp(u^2) is the factor of the other side.
    """
    wider = variance + omega**2
    u = theta * (omega / np.sqrt(2 * variance * wider))
    opposite_factor = special.erfcx(np.abs(u))
    square = u**2
    if square.size and square.max() > _MAX_ARGUMENT**2:
        excess = np.log1p(np.maximum(square - _MAX_ARGUMENT**2, 0))
        square = np.minimum(square, _MAX_ARGUMENT**2 + excess)
    favoured_factor = 2 * np.exp(square) - opposite_factor
    factors = np.array([np.where(side * u > 0, favoured_factor, opposite_factor) for side in sides])
    return factors * np.sqrt(variance / wider)


def _validate_days(
    n: Floats, total: Floats, squares: Floats, *, s2: float, kappa2: float, sides: Sequence[int]
) -> None:
    if not (n.ndim == 1 and n.shape == total.shape == squares.shape):
        raise ValueError("n, total and squares must be three columns of equal length")
    if not (n > 0).all():
        raise ValueError(f"day {int(np.argmin(n > 0))}: an active day has at least one item")
    if not (s2 > 0 and kappa2 >= 0):
        raise ValueError(f"s2 must be positive and kappa2 not negative, not {s2} and {kappa2}")
    for side in sides:
        if side not in {1, -1}:
            raise ValueError(f"side must be 1 or -1, not {side}")


def _list_onsets(n: Floats, prior: ShiftPrior) -> tuple[Ints, Ints]:
    """Return all pairs (today, onset), each (P,), with enough items and days before and since."""
    before = np.concatenate([[0.0], np.cumsum(n)])
    days = np.arange(n.size)
    first = max(prior.least_days_before, int(np.searchsorted(before[:-1], prior.least_before)))
    # The last onset with enough items since; day t ends where t + 1 begins.
    last = np.searchsorted(before[:-1], before[1:] - prior.least_since, side="right") - 1
    earliest = np.maximum(first, days - prior.window + 1)
    n_onsets = np.maximum(np.minimum(last, days + 1 - prior.least_days_since) - earliest + 1, 0)
    today = np.repeat(days, n_onsets)
    offset = np.arange(today.size) - np.repeat(np.cumsum(n_onsets) - n_onsets, n_onsets)
    return today, np.repeat(earliest, n_onsets) + offset


def list_last_onsets(n: Floats, prior: ShiftPrior) -> Ints:
    """Return the onsets (P,), as seen from the last day, with enough items before and since."""
    before = np.concatenate([[0.0], np.cumsum(n)])
    onset = np.arange(max(1, n.size - prior.window), n.size)
    is_preceded = before[onset] >= prior.least_before
    return onset[is_preceded & (before[-1] - before[onset] >= prior.least_since)]


def compute_cumulative_sums(n: Floats, total: Floats, squares: Floats, w: Floats) -> Floats:
    """Return the sums over the days before each day (8, T + 1); rows as in CumulativeSums."""
    y = total / n
    d = np.arange(n.size, dtype=float)
    columns = np.array([n, total, squares, w, w * y, w * d, w * d * d, w * d * y])
    return np.concatenate([np.zeros((len(columns), 1)), np.cumsum(columns, axis=1)], axis=1)


def variance_inflation(
    before: CumulativeSums, since: CumulativeSums, s2: float, prior: ShiftPrior
) -> Floats:
    """Return how many times s2 the items vary since each onset, F (P,), at least 1."""
    mean0, mean1 = before.s / before.n, since.s / since.n
    variance1 = since.q / since.n - mean1**2
    c = variance1 + prior.skew_prior_items * (mean1 - mean0) ** 2 / (
        since.n + prior.skew_prior_items
    )
    return np.maximum(1, c / s2)


def fit_step(before: CumulativeSums, since: CumulativeSums) -> tuple[Floats, Floats]:
    """Return slope and spread (P,) of the weighted regression on a step f.

    The step is 1 from the onset on, 0 before. The spread is sum w (f - fbar)^2; 1 / spread is the
    variance of the slope.
    """
    slope = since.wy / since.w - before.wy / before.w
    return slope, before.w * since.w / (before.w + since.w)


def fit_ramp(before: CumulativeSums, since: CumulativeSums, onset: Ints) -> tuple[Floats, Floats]:
    """Return slope and spread (P,) of the weighted regression on a ramp.

    The ramp is f = d - j + 1 from the onset j on, 0 before; the spread is sum w (f - fbar)^2.
    """
    c = 1 - onset
    wf = since.wd + c * since.w
    wff = since.wdd + 2 * c * since.wd + c**2 * since.w
    wfy = since.wdy + c * since.wy
    w, wy = before.w + since.w, before.wy + since.wy
    spread = wff - wf**2 / w
    return (wfy - wf * wy / w) / spread, spread


def _sum_onsets(factors: Floats, today: Ints, n_days: int) -> tuple[Floats, Ints]:
    """Return each day's sum of the factors (P,), and the index of its largest factor.

    today (P,): the day of each factor. Both results are (n_days,); the index is -1 for a day
    without factors.
    """
    total = np.bincount(today, weights=factors, minlength=n_days).astype(float, copy=False)
    index = np.full(n_days, -1, np.int64)
    if today.size:
        edges = np.flatnonzero(np.diff(today, prepend=-1, append=-1))
        largest = np.maximum.reduceat(factors, edges[:-1])
        largest_rows = np.flatnonzero(factors == np.repeat(largest, np.diff(edges)))
        # Of equal factors the earliest one remains, because it is assigned last.
        index[today[largest_rows[::-1]]] = largest_rows[::-1]
    return total, index
