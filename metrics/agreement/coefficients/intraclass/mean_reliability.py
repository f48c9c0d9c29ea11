"""Reliability of the mean of m raters, from the variance components of items, raters and the rest.

Mean squared differences of two values v of the same item by different raters, of the same rater on
different items, and of both different, with Q = sum over groups of (n sum v^2 - (sum v)^2):

    D_i = 2 (s_r + s_e),   D_r = 2 (s_i + s_e),   D_o = 2 (s_i + s_r + s_e)
    s_i = (D_o - D_i) / 2,   s_r = (D_o - D_r) / 2,   s_e = (D_i + D_r - D_o) / 2

Any ratings may be missing; of complete data these are the components of the two-way analysis of
variance, and the reliabilities are ICC(A,1), ICC(C,1), ICC(A,m), ICC(C,m):

    absolute  Phi_m = s_i / (s_i + (s_r + s_e) / m)      raters change from item to item
    relative  Erho2_m = s_i / (s_i + s_e / m)            every item has the same raters

Shrout & Fleiss 1979, Psychological Bulletin 86, 420-428; Brennan 2001, Generalizability Theory.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.agreement.counts.grouping import Ints, index_distinct
from metrics.agreement.estimate import Floats

from . import icc
from .mean_squares import spearman_brown

NOT_CROSSED = "needs_crossed_ratings"
NO_RELIABILITY = "no_reliability"
NO_VARIANCE = "zero_variance"
NEEDS_BOOTSTRAP = "needs_bootstrap"


@dataclass(frozen=True)
class VarianceComponents:
    """Estimated variance of items, of raters (their severity), and residual variance `rest`.

    They may be negative; what is computed from them takes negative ones as 0. All are None, with
    the reason, where they cannot be separated.
    """

    item: float | None
    rater: float | None
    rest: float | None
    reason: str | None = None

    @property
    def negative(self) -> tuple[str, ...]:
        """The names of the components that were estimated as negative, in order."""
        components = {"item": self.item, "rater": self.rater, "rest": self.rest}
        return tuple(name for name, value in components.items() if value is not None and value < 0)

    @property
    def shares(self) -> dict[str, float] | None:
        """Name -> share of the component in their sum; None where undefined or all 0."""
        if self.reason is not None:
            return None
        item, rater, residual = _clip_negative(self)
        total = item + rater + residual
        if total == 0:
            return None
        return {"item": item / total, "rater": rater / total, "rest": residual / total}


@dataclass(frozen=True)
class MeanReliability:
    """Absolute and relative reliability of the mean of m raters; None with a reason."""

    absolute: float | None
    relative: float | None
    absolute_reason: str | None = None
    relative_reason: str | None = None


@dataclass(frozen=True)
class RatersNeeded:
    """Raters per item for a target reliability, absolute and relative; None with a reason."""

    absolute: int | None
    relative: int | None
    absolute_reason: str | None = None
    relative_reason: str | None = None


def estimate_components(
    item: npt.ArrayLike, rater: npt.ArrayLike, value: npt.ArrayLike
) -> VarianceComponents:
    """Return the variance components of ratings in long form (M,), at most one per item and rater.

    value (M,): the ratings as numbers. Undefined, with a reason, where items and raters are not
    crossed.
    """
    v = np.asarray(value, float)
    if v.size == 0:
        return VarianceComponents(None, None, None, NOT_CROSSED)
    v = v - v.mean()  # squares of large values would lose digits
    item_squares, item_pairs = _sum_squared_differences(index_distinct(item)[1], v)
    rater_squares, rater_pairs = _sum_squared_differences(index_distinct(rater)[1], v)
    total_squares, pairs = _sum_squared_differences(np.zeros(v.size, np.int64), v)
    other_pairs = pairs - item_pairs - rater_pairs
    if not (item_pairs and rater_pairs and other_pairs):
        return VarianceComponents(None, None, None, NOT_CROSSED)
    d_item = item_squares / item_pairs
    d_rater = rater_squares / rater_pairs
    d_other = (total_squares - item_squares - rater_squares) / other_pairs
    # Rounding errors are not variance.
    estimates = np.array([d_other - d_item, d_other - d_rater, d_item + d_rater - d_other]) / 2
    estimates[np.abs(estimates) < 1e-12 * max(float(np.mean(v**2)), 1e-300)] = 0.0
    return VarianceComponents(float(estimates[0]), float(estimates[1]), float(estimates[2]))


def _sum_squared_differences(group: Ints, value: Floats) -> tuple[float, int]:
    """Return the sum of squared differences over the pairs in all groups, and their number."""
    n = np.bincount(group)
    sums, square_sums = np.bincount(group, value), np.bincount(group, value**2)
    total = float((n * square_sums - sums**2).sum())
    return total, int((n * (n - 1) // 2).sum())


def compute_reliability(components: VarianceComponents, m: int) -> MeanReliability:
    """Return the reliability of the mean of m raters; raise ValueError for m < 1."""
    if m < 1:
        raise ValueError(f"a mean needs one rater at least, not {m}")
    if components.reason is not None:
        return MeanReliability(None, None, components.reason, components.reason)
    item, rater, residual = _clip_negative(components)
    absolute, absolute_reason = compute_share(item, (rater + residual) / m)
    relative, relative_reason = compute_share(item, residual / m)
    return MeanReliability(absolute, relative, absolute_reason, relative_reason)


def compute_raters_needed(components: VarianceComponents, target: float) -> RatersNeeded:
    """Return the number of raters per item at which the mean's reliability reaches `target`.

    By the Spearman-Brown formula; raise ValueError unless 0 < target < 1.
    """
    if not 0 < target < 1:
        raise ValueError(f"the target must lie between 0 and 1, not {target:g}")
    single = compute_reliability(components, 1)
    absolute, absolute_reason = _count_raters_needed(
        single.absolute, single.absolute_reason, target
    )
    relative, relative_reason = _count_raters_needed(
        single.relative, single.relative_reason, target
    )
    return RatersNeeded(absolute, relative, absolute_reason, relative_reason)


def _clip_negative(components: VarianceComponents) -> tuple[float, float, float]:
    """Return the variances of items, raters and residual, with negative ones as 0."""
    item, rater, residual = (
        max(part or 0.0, 0.0) for part in (components.item, components.rater, components.rest)
    )
    return item, rater, residual


def compute_share(item: float, error: float) -> tuple[float | None, str | None]:
    """Return item / (item + error) and None; where both are 0, None and the reason."""
    if item + error == 0:
        return None, NO_VARIANCE
    return item / (item + error), None


def _count_raters_needed(
    single_reliability: float | None, reason: str | None, target: float
) -> tuple[int | None, str | None]:
    if single_reliability is None:
        return None, NO_RELIABILITY if reason == NO_VARIANCE else reason
    if single_reliability <= 0:
        return None, NO_RELIABILITY
    exact = target * (1 - single_reliability) / (single_reliability * (1 - target))
    return max(1, math.ceil(exact * (1 - 1e-12))), None


@dataclass(frozen=True)
class ReliabilityLimits:
    """95 % limits of the absolute and relative reliability of a mean; None with a reason."""

    absolute: tuple[float, float] | None
    relative: tuple[float, float] | None
    reason: str | None = None


def compute_limits(
    item: npt.ArrayLike, rater: npt.ArrayLike, value: npt.ArrayLike, m: int = 1
) -> ReliabilityLimits:
    """Return the 95 % F limits for the reliability of a mean of m raters.

    item, rater, value (M,): ratings in long form. Undefined where some item lacks a rater: then
    only the bootstrap over items gives an interval.
    """
    items, rows = index_distinct(item)
    raters, columns = index_distinct(rater)
    values = np.asarray(value, float)
    if values.size != items.size * raters.size or raters.size < 2 or items.size < 2:
        return ReliabilityLimits(None, None, NEEDS_BOOTSTRAP)
    table = np.full((items.size, raters.size), np.nan)
    table[rows, columns] = values
    iccs = icc.icc(table)
    absolute = _apply_spearman_brown(iccs["icc2"], m)
    relative = _apply_spearman_brown(iccs["icc3"], m)
    reason = NEEDS_BOOTSTRAP if absolute is None or relative is None else None
    return ReliabilityLimits(absolute, relative, reason)


def _apply_spearman_brown(coefficient: icc.Icc, m: int) -> tuple[float, float] | None:
    """Return both confidence limits of a correlation, stepped up to the mean of m raters.

    None where one of them is outside the range of the Spearman-Brown formula.
    """
    low, high = spearman_brown(coefficient.ci_low, m), spearman_brown(coefficient.ci_high, m)
    return None if low is None or high is None else (low, high)
