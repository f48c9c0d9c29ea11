"""Since when, and by how much: the sets that an alarm, or a standing, is told with.

An onset j belongs to the set of onsets when a step or a ramp that begins there explains the days
nearly as well as the best does: their likelihoods, profiled over level and size, differ by a factor
of 40 at most (a likelihood set of a change point: Siegmund 1988, International Statistical
Review 56, 31-48). All onsets are judged by one variance, that of the leading one: each by its own
would favour those too early, whose items scatter less because half of them are from before.

The size is the mean since the onset less the mean before. Its interval is the hull, over the onsets
at which a step alone explains the days so well, of step +- 2.24 standard errors: 97.5 % for the
onset and 97.5 % for the size at it. So it holds for what grew, too: by how much it moved on average
so far. Day and onset were chosen because the evidence was large, so that 1.96 standard errors about
the leading onset hold less often than 95 %; how often these hold is simulated
(benchmarks/alert_intervals.py).
"""

from dataclasses import dataclass

import numpy as np

from metrics.agreement.counts.grouping import Ints
from metrics.agreement.estimate import Floats

from .evidence import Cumulated, Sums, cumulated, onsets_until, ramp_of, spread_caution, step_of
from .settings import Prior

_WITHIN = float(np.log(1 / 0.025))  # of the log-likelihood
_ERRORS = 2.241403  # 97.5 % of a normal distribution lie within so many standard errors


@dataclass(frozen=True)
class Extent:
    """earliest, latest: places of the days between which it began; low, high: 95 % interval of the
    size."""

    earliest: int
    latest: int
    low: float
    high: float


def extent(days: Sums, onset: int, *, s2: float, kappa2: float, side: int, prior: Prior) -> Extent:
    """Of a shift on the last of the days, whose evidence is most for this onset.

    days, s2, kappa2, side and prior: those of evidence().
    """
    n, total, squares = (np.asarray(column, float) for column in days)
    onsets = onsets_until(n, prior)
    sums = cumulated(n, total, squares, 1 / (s2 / n + kappa2))
    before, since = _cut(sums, onsets)
    caution = spread_caution(*_cut(sums, np.array([onset])), s2, prior)
    step, step_spread = step_of(before, since)
    ramp, ramp_spread = ramp_of(before, since, onsets)
    of_step = _explained(step, step_spread / caution, side)
    of_ramp = _explained(ramp, ramp_spread / caution, side)
    best = np.maximum(of_step, of_ramp)
    began = best >= best.max() - _WITHIN
    sized = of_step >= of_step.max() - _WITHIN
    leading = onsets == onset
    began |= leading
    sized |= leading
    margin = _ERRORS * np.sqrt(caution / step_spread)
    return Extent(
        earliest=int(onsets[began].min()),
        latest=int(onsets[began].max()),
        low=float((step - margin)[sized].min()),
        high=float((step + margin)[sized].max()),
    )


def _cut(sums: Floats, onsets: Ints) -> tuple[Cumulated, Cumulated]:
    """The sums before the onsets, and since."""
    before = sums[:, onsets]
    return Cumulated(*before), Cumulated(*(sums[:, -1:] - before))


def _explained(slope: Floats, spread: Floats, side: int) -> Floats:
    """Log-likelihood (P,) above that of no shift; 0 where the shift is to the other side."""
    return np.where(slope * side > 0, slope**2 * spread / 2, 0.0)
