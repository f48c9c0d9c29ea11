"""The evidence that one rater's scores have shifted, from the sums of the rater's days.

For today t and each possible onset j the day means y_d are regressed on a step (1 from j on) or a
ramp (d - j + 1 from j on), and the slope theta is weighed by a one-sided Bayes factor

    E_j = 2 Phi(theta omega / sqrt(V V')) sqrt(V / V') exp(theta^2 / 2 (1/V - 1/V')),
    V' = V + omega^2,

of a half-normal shift of scale omega against none, the level unknown. The sum over j is an
e-detector (Shin, Ramdas & Rinaldo 2024, New England Journal of Statistics in Data Science 2,
229-260): without a shift its mean grows by at most 1 a day, so that whoever is alarmed at A waits
at least A days on average for a false alarm.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement.counts.grouping import Ints
from metrics.agreement.estimate import Floats

from .settings import Prior

# exp(u^2) of u = 27 is no float. Beyond this u^2 grows as its logarithm, so that it stays a number
# and the order of the onsets stays.
_MOST = 24.0
_BLOCK = 4096  # pairs of days that are weighed at once, so that their sums stay in the cache


@dataclass(frozen=True)
class Evidence:
    """Of one channel, for each active day t of a segment; all (T,).

    total: sum of E_j over the onsets, 0 where there is none
    onset: the onset with the largest E_j, -1 where there is none
    step: how far the mean moved at that onset (0 where there is none), in units of the score
    """

    total: Floats
    onset: Ints
    step: Floats


class Sums(NamedTuple):
    """Of each active day (T,): items (1 or more), sum of their scores, and of the squares."""

    n: npt.ArrayLike
    total: npt.ArrayLike
    squares: npt.ArrayLike


class Cumulated(NamedTuple):
    """Sums over days: of items n, their scores and squares; of the weights w of the days, and of w
    with their number d and their mean y."""

    n: Floats
    s: Floats
    q: Floats
    w: Floats
    wy: Floats
    wd: Floats
    wdd: Floats
    wdy: Floats


def evidence(
    n: npt.ArrayLike,
    total: npt.ArrayLike,
    squares: npt.ArrayLike,
    *,
    s2: float,
    kappa2: float,
    side: int,
    prior: Prior,
) -> Evidence:
    """Evidence for a shift of the scores, day by day.

    n, total, squares (T,): items of each active day (1 or more), sum of their scores, and of the
    squares; s2: variance of an item about its day; kappa2: variance of days about their level;
    side: +1 looks for a rise, -1 for a fall. ValueError names what is wrong.
    """
    days = Sums(n, total, squares)
    return of_sides(days, (side,), s2=s2, kappa2=kappa2, prior=prior)[0]


def of_sides(
    days: Sums, sides: Sequence[int], *, s2: float, kappa2: float, prior: Prior
) -> list[Evidence]:
    """evidence() of each side: what is regressed is the same for both."""
    n, total, squares = (np.asarray(column, float) for column in days)
    _check(n, total, squares, s2=s2, kappa2=kappa2, sides=sides)
    today, onset = _onsets(n, prior)
    sums = cumulated(n, total, squares, 1 / (s2 / n + kappa2))
    parts = []
    for start in range(0, max(today.size, 1), _BLOCK):
        block = slice(start, start + _BLOCK)
        before = np.take(sums, onset[block], axis=1)
        since = np.take(sums, today[block] + 1, axis=1) - before
        cut = Cumulated(*before), Cumulated(*since), today[block], onset[block]
        parts.append(_weighed(*cut, s2=s2, sides=sides, prior=prior))
    step, *of_side = np.concatenate(parts, axis=1)
    # The last place, -1, stands for no onset.
    onset, step = np.append(onset, -1), np.append(step, 0.0)
    told = []
    for found in of_side:
        summed, best = _summed(found, today, n.size)
        told.append(Evidence(summed, onset[best], step[best]))
    return told


def _weighed(
    before: Cumulated,
    since: Cumulated,
    today: Ints,
    onset: Ints,
    *,
    s2: float,
    sides: Sequence[int],
    prior: Prior,
) -> Floats:
    """The slope of the step, and E_j of each side (1 + sides, P)."""
    caution = spread_caution(before, since, s2, prior)
    shrinkage = since.n / (since.n + prior.pseudo)
    step, spread = step_of(before, since)
    variance = caution / spread + prior.tolerance**2
    found = prior.step * bayes_factor(shrinkage * step, variance, prior.omega, sides)
    ramp, spread = ramp_of(before, since, onset)
    variance = caution / spread + (prior.tolerance / (today - onset + 1)) ** 2
    theta = shrinkage * ramp
    for length in prior.ramps:
        share = (1 - prior.step) / len(prior.ramps)
        found += share * bayes_factor(theta, variance, prior.omega / length, sides)
    return np.vstack([step, found])


def bayes_factor(
    theta: Floats, variance: Floats, omega: float, sides: Sequence[int] = (1,)
) -> Floats:
    """E_j (sides, P) of estimated shifts theta with this variance (both (P,)), omega > 0: of shifts
    upwards and downwards.

    With u = theta omega / sqrt(2 V V') its formula is erfc(-u) exp(u^2) sqrt(V / V'). For u > 0
    that is (2 exp(u^2) - erfcx(u)) sqrt(V / V'), where erfcx(u) = erfc(u) exp(u^2) belongs to the
    other side.
    """
    wider = variance + omega**2
    u = theta * (omega / np.sqrt(2 * variance * wider))
    less = special.erfcx(np.abs(u))
    square = u**2
    if square.size and square.max() > _MOST**2:
        beyond = np.log1p(np.maximum(square - _MOST**2, 0))
        square = np.minimum(square, _MOST**2 + beyond)
    more = 2 * np.exp(square) - less
    found = np.array([np.where(side * u > 0, more, less) for side in sides])
    return found * np.sqrt(variance / wider)


def _check(
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


def _onsets(n: Floats, prior: Prior) -> tuple[Ints, Ints]:
    """today and onset (P,) of all pairs that have enough items before the onset and since, in the
    order of days."""
    before = np.concatenate([[0.0], np.cumsum(n)])
    days = np.arange(n.size)
    first = max(1, int(np.searchsorted(before[:-1], prior.least_before)))
    # The last onset with enough items since; day t ends where t + 1 begins.
    last = np.searchsorted(before[:-1], before[1:] - prior.least_since, side="right") - 1
    earliest = np.maximum(first, days - prior.window + 1)
    number = np.maximum(np.minimum(last, days) - earliest + 1, 0)
    today = np.repeat(days, number)
    place = np.arange(today.size) - np.repeat(np.cumsum(number) - number, number)
    return today, np.repeat(earliest, number) + place


def onsets_until(n: Floats, prior: Prior) -> Ints:
    """The onsets (P,) that have enough items before them and since, on the last of the days."""
    before = np.concatenate([[0.0], np.cumsum(n)])
    onset = np.arange(max(1, n.size - prior.window), n.size)
    enough = before[onset] >= prior.least_before
    return onset[enough & (before[-1] - before[onset] >= prior.least_since)]


def cumulated(n: Floats, total: Floats, squares: Floats, w: Floats) -> Floats:
    """The sums over the days before each day (8, T + 1), in the order of Cumulated."""
    y = total / n
    d = np.arange(n.size, dtype=float)
    columns = np.array([n, total, squares, w, w * y, w * d, w * d * d, w * d * y])
    return np.concatenate([np.zeros((len(columns), 1)), np.cumsum(columns, axis=1)], axis=1)


def spread_caution(before: Cumulated, since: Cumulated, s2: float, prior: Prior) -> Floats:
    """F (P,): how much wider than s2 the items since the onset spread, at least 1."""
    mean0, mean1 = before.s / before.n, since.s / since.n
    variance1 = since.q / since.n - mean1**2
    c = variance1 + prior.caution * (mean1 - mean0) ** 2 / (since.n + prior.caution)
    return np.maximum(1, c / s2)


def step_of(before: Cumulated, since: Cumulated) -> tuple[Floats, Floats]:
    """Slope (P,) of the weighted regression on a step, and sum w (f - fbar)^2."""
    slope = since.wy / since.w - before.wy / before.w
    return slope, before.w * since.w / (before.w + since.w)


def ramp_of(before: Cumulated, since: Cumulated, onset: Ints) -> tuple[Floats, Floats]:
    """Slope (P,) of the weighted regression on f = d - j + 1 from the onset j on, and
    sum w (f - fbar)^2."""
    c = 1 - onset
    wf = since.wd + c * since.w
    wff = since.wdd + 2 * c * since.wd + c**2 * since.w
    wfy = since.wdy + c * since.wy
    w, wy = before.w + since.w, before.wy + since.wy
    spread = wff - wf**2 / w
    return (wfy - wf * wy / w) / spread, spread


def _summed(found: Floats, today: Ints, n_days: int) -> tuple[Floats, Ints]:
    """Sum over the onsets (n_days,) of each day, and the place (n_days,) of the largest, -1 for
    none."""
    total = np.bincount(today, weights=found, minlength=n_days).astype(float, copy=False)
    place = np.full(n_days, -1, np.int64)
    if today.size:
        edges = np.flatnonzero(np.diff(today, prepend=-1, append=-1))
        largest = np.maximum.reduceat(found, edges[:-1])
        best = np.flatnonzero(found == np.repeat(largest, np.diff(edges)))
        # Of equal ones the earliest, which is assigned last.
        place[today[best[::-1]]] = best[::-1]
    return total, place
