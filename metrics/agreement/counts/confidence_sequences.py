"""Confidence sequences: intervals that hold at all numbers of items together.

A 95% interval is right in 95% of the cases where it is computed once. If it is computed after every
batch, until one lies above a limit, it is wrong far more often. A confidence sequence is
right at all n together, in 95% of all sequences. Here it is that of the normal mixture (Robbins
1970, Annals of Mathematical Statistics 41, 1397-1409; Howard, Ramdas, McAuliffe & Sekhon 2021,
Annals of Statistics 49, 1055-1080, proposition 5) for a coefficient whose errors of the items add
up to nearly normal ones (asymptotic confidence sequences: Waudby-Smith, Arbour, Sinha, Kennedy &
Ramdas 2024, Annals of Statistics 52, 2613-2640):

    z_n = sqrt((1 + rho / n) (log(1 + n / rho) - 2 log(alpha)))

standard errors in place of 1.96; rho makes it narrowest near TIGHTEST_ITEMS items. The ends of the
interval shown move z_n / 1.96 times as far away, as those of items in clusters do (clusters.py).
"""

import math

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement.counts.clusters import move_ends
from metrics.agreement.estimate import CONFIDENCE_LEVEL, NORMAL_QUANTILE, Floats, Value

ALPHA = 1 - CONFIDENCE_LEVEL  # share of sequences that miss the coefficient at any n
TIGHTEST_ITEMS = 200


def _compute_rho() -> float:
    """Return the rho that minimises z_n at n = TIGHTEST_ITEMS."""
    return TIGHTEST_ITEMS / (-float(special.lambertw(-(ALPHA**2) / math.e, -1).real) - 1)


RHO = _compute_rho()


def compute_quantile(n: npt.ArrayLike) -> Floats:
    """Return z_n (...) for numbers of items n >= 1 (...)."""
    share = RHO / np.asarray(n, float)
    quantile = np.sqrt((1 + share) * (np.log1p(1 / share) - 2 * math.log(ALPHA)))
    return np.asarray(quantile)


def compute_factor(n: npt.ArrayLike) -> Floats:
    """Return z_n / 1.96 (...): the width of the sequence relative to a 95% interval."""
    return np.asarray(compute_quantile(n) / NORMAL_QUANTILE)


def widen_to_sequence(value: Value) -> Value:
    """Return a value whose interval is the confidence sequence at its number of items.

    A value without an interval or items is returned unchanged.
    """
    point, low, high, n_items = value["value"], value["low"], value["high"], value["n_items"]
    if point is None or low is None or high is None or not n_items:
        return value
    factor = float(compute_factor(n_items))
    low, high = move_ends(point, low, high, factor=factor, expected=value["expected"])
    return {**value, "low": low, "high": high}
