"""Reliability of the mean of m raters: how much of the variance is items, raters, and the rest.

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

from metrics.agreement.counts.grouping import Ints, compact
from metrics.agreement.estimate import Floats

from . import icc

NOT_CROSSED = "needs_crossed_ratings"
NO_RELIABILITY = "no_reliability"
NO_VARIANCE = "zero_variance"
NEEDS_BOOTSTRAP = "needs_bootstrap"


@dataclass(frozen=True)
class Components:
    """Variance of items, of raters (their severity) and the rest, as estimated: a negative one
    counts as 0 in what is made of them. None, with the reason, where they cannot be told apart."""

    item: float | None
    rater: float | None
    rest: float | None
    reason: str | None = None

    @property
    def negative(self) -> tuple[str, ...]:
        """The components that came out negative."""
        named = {"item": self.item, "rater": self.rater, "rest": self.rest}
        return tuple(name for name, value in named.items() if value is not None and value < 0)

    @property
    def shares(self) -> dict[str, float] | None:
        """Each component's share of the variance, None where there is none."""
        if self.reason is not None:
            return None
        item, rater, rest = _kept(self)
        total = item + rater + rest
        if total == 0:
            return None
        return {"item": item / total, "rater": rater / total, "rest": rest / total}


@dataclass(frozen=True)
class Reliability:
    """Of the mean of m raters; None with a reason where undefined."""

    absolute: float | None
    relative: float | None
    absolute_reason: str | None = None
    relative_reason: str | None = None


@dataclass(frozen=True)
class RatersNeeded:
    """How many raters an item reach the target; None with a reason where no number does."""

    absolute: int | None
    relative: int | None
    absolute_reason: str | None = None
    relative_reason: str | None = None


def components(item: npt.ArrayLike, rater: npt.ArrayLike, value: npt.ArrayLike) -> Components:
    """Ratings in long form (M,), at most one an item and rater; values as numbers."""
    v = np.asarray(value, float)
    if v.size == 0:
        return Components(None, None, None, NOT_CROSSED)
    v = v - v.mean()  # squares of large values would lose digits
    of_items, item_pairs = _squares(compact(item)[1], v)
    of_raters, rater_pairs = _squares(compact(rater)[1], v)
    everything, pairs = _squares(np.zeros(v.size, np.int64), v)
    other_pairs = pairs - item_pairs - rater_pairs
    if not (item_pairs and rater_pairs and other_pairs):
        return Components(None, None, None, NOT_CROSSED)
    d_item = of_items / item_pairs
    d_rater = of_raters / rater_pairs
    d_other = (everything - of_items - of_raters) / other_pairs
    # what is left of rounding is no variance
    found = np.array([d_other - d_item, d_other - d_rater, d_item + d_rater - d_other]) / 2
    found[np.abs(found) < 1e-12 * max(float(np.mean(v**2)), 1e-300)] = 0.0
    return Components(float(found[0]), float(found[1]), float(found[2]))


def _squares(group: Ints, value: Floats) -> tuple[float, int]:
    """Sum of squared differences over all pairs inside the groups, and the number of pairs."""
    n = np.bincount(group)
    s, q = np.bincount(group, value), np.bincount(group, value**2)
    total = float((n * q - s**2).sum())
    return total, int((n * (n - 1) // 2).sum())


def mean_of(found: Components, m: int) -> Reliability:
    """Reliability of the mean of m >= 1 raters."""
    if m < 1:
        raise ValueError(f"a mean needs one rater at least, not {m}")
    if found.reason is not None:
        return Reliability(None, None, found.reason, found.reason)
    item, rater, rest = _kept(found)
    absolute, why_not = _share(item, (rater + rest) / m)
    relative, why_no_relative = _share(item, rest / m)
    return Reliability(absolute, relative, why_not, why_no_relative)


def raters_needed(found: Components, target: float) -> RatersNeeded:
    """How many raters an item until the mean's reliability is `target`, 0 < target < 1
    (Spearman-Brown)."""
    if not 0 < target < 1:
        raise ValueError(f"the target must lie between 0 and 1, not {target:g}")
    one = mean_of(found, 1)
    absolute, why_not = _needed(one.absolute, one.absolute_reason, target)
    relative, why_no_relative = _needed(one.relative, one.relative_reason, target)
    return RatersNeeded(absolute, relative, why_not, why_no_relative)


def _kept(found: Components) -> tuple[float, float, float]:
    item, rater, rest = (max(part or 0.0, 0.0) for part in (found.item, found.rater, found.rest))
    return item, rater, rest


def _share(item: float, error: float) -> tuple[float | None, str | None]:
    if item + error == 0:
        return None, NO_VARIANCE
    return item / (item + error), None


def _needed(one: float | None, reason: str | None, target: float) -> tuple[int | None, str | None]:
    if one is None:
        return None, NO_RELIABILITY if reason == NO_VARIANCE else reason
    if one <= 0:
        return None, NO_RELIABILITY
    exact = target * (1 - one) / (one * (1 - target))
    return max(1, math.ceil(exact * (1 - 1e-12))), None


@dataclass(frozen=True)
class Limits:
    """95 % limits of the absolute and relative reliability of a mean; None with a reason."""

    absolute: tuple[float, float] | None
    relative: tuple[float, float] | None
    reason: str | None = None


def limits(item: npt.ArrayLike, rater: npt.ArrayLike, value: npt.ArrayLike, m: int = 1) -> Limits:
    """F limits of the reliability of the mean of m raters, where every item has every rater; else
    only the bootstrap over items gives an interval."""
    items, rows = compact(item)
    raters, columns = compact(rater)
    values = np.asarray(value, float)
    if values.size != items.size * raters.size or raters.size < 2 or items.size < 2:
        return Limits(None, None, NEEDS_BOOTSTRAP)
    table = np.full((items.size, raters.size), np.nan)
    table[rows, columns] = values
    found = icc.icc(table)
    absolute = _stepped(found["icc2"], m)
    relative = _stepped(found["icc3"], m)
    reason = NEEDS_BOOTSTRAP if absolute is None or relative is None else None
    return Limits(absolute, relative, reason)


def _stepped(one: icc.Icc, m: int) -> tuple[float, float] | None:
    """Spearman-Brown of both limits; None where one lies outside the formula's range."""
    found = []
    for bound in (one.ci_low, one.ci_high):
        if bound is None or bound * (m - 1) <= -1 + 1e-9:
            return None
        found.append(m * bound / (1 + (m - 1) * bound))
    return found[0], found[1]
