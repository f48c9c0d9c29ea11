"""Confidence sets for the onset and the size of a shift.

An onset j belongs to the set of onsets when a step or a ramp that begins there explains the days
nearly as well as the best does: their likelihoods, profiled over level and size, differ by a factor
of 40 at most (a likelihood set of a change point: Siegmund 1988, International Statistical
Review 56, 31-48). All onsets are evaluated with one variance, that of the leading one: with their
own variances, onsets that are too early would be favoured, because half of their items are from
before the shift and scatter less.

The size is the mean since the onset less the mean before. Its interval is the hull, over the onsets
at which a step alone explains the days that well, of step +- 2.24 standard errors: 97.5 % for the
onset and 97.5 % for the size at it. So it also holds for gradual shifts: for the average shift so
far. Day and onset were selected because the evidence was large, so that 1.96 standard errors about
the leading onset cover less often than 95 %; the coverage of these sets is simulated
(benchmarks/alert_intervals.py).
"""

from dataclasses import dataclass

import numpy as np

from metrics.agreement.counts.grouping import Ints
from metrics.agreement.estimate import Floats

from .drift_settings import ShiftPrior
from .evidence import (
    CumulativeSums,
    DailySums,
    compute_cumulative_sums,
    fit_ramp,
    fit_step,
    list_last_onsets,
    variance_inflation,
)

_LOG_LIKELIHOOD_MARGIN = float(np.log(1 / 0.025))  # largest difference of the log-likelihood
_INTERVAL_QUANTILE = 2.241403  # two-sided 97.5 % quantile of the normal distribution


@dataclass(frozen=True)
class ShiftEstimate:
    """Confidence sets for the onset and the size of a shift.

    earliest, latest: indices of the first and last day in the set of onsets; low, high: 95 %
    interval of the size.
    """

    earliest: int
    latest: int
    low: float
    high: float


def estimate_shift(
    days: DailySums, onset: int, *, s2: float, kappa2: float, side: int, prior: ShiftPrior
) -> ShiftEstimate:
    """Return the confidence sets for onset and size of a shift, as seen from the last day.

    onset: index of the leading onset, which both sets include; the other arguments as for
    compute_evidence.
    """
    n, total, squares = (np.asarray(column, float) for column in days)
    onsets = list_last_onsets(n, prior)
    sums = compute_cumulative_sums(n, total, squares, 1 / (s2 / n + kappa2))
    before, since = _split_sums(sums, onsets)
    inflation = variance_inflation(*_split_sums(sums, np.array([onset])), s2, prior)
    step, step_spread = fit_step(before, since)
    ramp, ramp_spread = fit_ramp(before, since, onsets)
    step_gain = _log_likelihood_gain(step, step_spread / inflation, side)
    ramp_gain = _log_likelihood_gain(ramp, ramp_spread / inflation, side)
    best = np.maximum(step_gain, ramp_gain)
    in_onset_set = best >= best.max() - _LOG_LIKELIHOOD_MARGIN
    in_size_set = step_gain >= step_gain.max() - _LOG_LIKELIHOOD_MARGIN
    leading = onsets == onset
    in_onset_set |= leading
    in_size_set |= leading
    margin = _INTERVAL_QUANTILE * np.sqrt(inflation / step_spread)
    return ShiftEstimate(
        earliest=int(onsets[in_onset_set].min()),
        latest=int(onsets[in_onset_set].max()),
        low=float((step - margin)[in_size_set].min()),
        high=float((step + margin)[in_size_set].max()),
    )


def _split_sums(sums: Floats, onsets: Ints) -> tuple[CumulativeSums, CumulativeSums]:
    """Return the sums over the days before each onset, and from it on."""
    before = sums[:, onsets]
    return CumulativeSums(*before), CumulativeSums(*(sums[:, -1:] - before))


def _log_likelihood_gain(slope: Floats, spread: Floats, side: int) -> Floats:
    """Return the gain in log-likelihood (P,) over no shift; 0 for a shift to the other side."""
    return np.where(slope * side > 0, slope**2 * spread / 2, 0.0)
