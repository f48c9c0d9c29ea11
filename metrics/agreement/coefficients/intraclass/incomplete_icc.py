"""Intraclass correlations where not every rater rated every item.

One-way (ICC(1,1)): the raters of an item are a random draw, so nothing needs to be complete. With
m_i ratings of item i, M in all, n items and

    MSB = sum m_i (mean_i - mean)^2 / (n - 1),   MSW = sum within items / (M - n)
    m0  = (M - sum m_i^2 / M) / (n - 1)

    icc1 = (MSB - MSW) / (MSB + (m0 - 1) MSW)

The F interval is exact where items have the same number of ratings, else it has m0 in its place
(Donner 1986, International Statistical Review 54, 67-82).

Two-way: variance components of items, raters and the rest (FittedComponents). The mean of an
item's ratings has the reliability

    ICC(Q,k) = s_i / (s_i + q s_r + s_e / k),   k = n / sum (1 / m_i)
    q = 1 / k - sum over i != j of m_ij / (m_i m_j) / (n (n - 1)),   m_ij: raters of both items

for comparing items: q is 0 where all items have the same raters (ICC(C,k)) and 1 / k where no two
items share a rater (ICC(A,k)). Putka, Le, McCloy & Diaz 2008, J. of Applied Psychology 93, 959-981;
ten Hove, Jorgensen & van der Ark 2024, Psychological Methods 29, 967-979.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph, linalg

from metrics.agreement.coefficients.conger import RatedItems
from metrics.agreement.counts.grouping import Ints, index_distinct
from metrics.agreement.estimate import CONFIDENCE_LEVEL, Floats

from .icc import Icc, icc
from .mean_reliability import NO_VARIANCE, NOT_CROSSED, compute_share
from .mean_squares import ROUNDING_TOLERANCE, f_limits, f_test

_DRAWS = 4_000  # the limits then vary by a hundredth of the interval's width
_SEED = 1


@dataclass(frozen=True)
class Components:
    """Variance components of items, raters and residual, each at least 0; floats or draws (D,)."""

    item: Floats
    rater: Floats
    rest: Floats


@dataclass(frozen=True)
class FittedComponents:
    """Sums of squares of items (adjusted for raters), of raters (for items), and residual.

    degrees: their degrees of freedom; divisors: coefficients of the item and the rater variance in
    the expected sums of squares.
    """

    sums: tuple[float, float, float]
    degrees: tuple[int, int, int]
    divisors: tuple[int, int]

    @property
    def is_crossed(self) -> bool:
        """True if the three components can be separated."""
        return min(self.degrees) >= 1

    def estimate(self) -> Components:
        """Return the estimated components; negative estimates become 0."""
        return self._solve(*(np.asarray(degree, float) for degree in self.degrees))

    def draw(self) -> Components:
        """Return draws (D,) of the components, from random chi-square values of the sums."""
        rng = np.random.default_rng(_SEED)
        return self._solve(*(rng.chisquare(degree, _DRAWS) for degree in self.degrees))

    def _solve(self, items: Floats, raters: Floats, rest: Floats) -> Components:
        """Return the components for these chi-square values of the sums of squares."""
        residual = self.sums[2] / rest
        variances = [
            np.maximum((square / chi - residual) * degree / divisor, 0.0)
            for square, chi, degree, divisor in zip(
                self.sums, (items, raters), self.degrees, self.divisors, strict=False
            )
        ]
        return Components(variances[0], variances[1], residual)


def fit_components(item: Ints, rater: Ints, value: Floats) -> FittedComponents:
    """Return the sums of squares of ratings (M,), fitted by item and rater.

    item, rater (M,): numbers from 0 without gaps.
    """
    m, t = np.bincount(item), np.bincount(rater)
    n, n_raters, total = m.size, t.size, value.size
    v = value - value.mean()
    within_items = v - (np.bincount(item, v) / m)[item]
    within_raters = v - (np.bincount(rater, v) / t)[rater]
    columns = np.concatenate([item, rater + n])
    rows = np.tile(np.arange(total), 2)
    scaled = 1 / np.sqrt(np.concatenate([m, t])[columns])
    design = sparse.csr_array((scaled, (rows, columns)), shape=(total, n + n_raters))
    effects = linalg.lsmr(design, within_items, atol=1e-12, btol=1e-12, conlim=0, maxiter=5_000)[0]
    rest = float(((within_items - design @ effects) ** 2).sum())
    links = sparse.csr_array((np.ones(total), (item, rater + n)), shape=(n + n_raters,) * 2)
    parts = int(csgraph.connected_components(links, directed=False)[0])
    sums = np.array([(within_raters**2).sum() - rest, (within_items**2).sum() - rest, rest], float)
    sums[sums < ROUNDING_TOLERANCE * max(float((v**2).sum()), 1e-300)] = 0.0
    return FittedComponents(
        (float(sums[0]), float(sums[1]), float(sums[2])),
        (n - parts, n_raters - parts, total - n - n_raters + parts),
        (total - n_raters, total - n),
    )


def _compute_quantile_limits(shares: Floats) -> tuple[float, float]:
    """Return the 2.5 % and the 97.5 % quantile of draws (D,) of a correlation."""
    tail = (1 - CONFIDENCE_LEVEL) / 2
    low, high = np.quantile(shares, [tail, 1 - tail])
    return float(low), float(high)


NO_PAIRABLE_ITEMS = "no_pairable_items"
_COMPLETE_REASONS = ("needs_complete_items", "too_few_items")

INCOMPLETE_ICC_NAMES = "icc2_incomplete", "icc3_incomplete", "icc2k_incomplete", "iccqk_incomplete"


def icc_of_ratings(rated_items: RatedItems, values: Floats) -> dict[str, Icc]:
    """Return name -> Icc of the items that all raters rated; values (k,) of the categories.

    With fewer than two such items ICC(1,1) is that of all rated items, because it does not depend
    on who rated; the others are undefined.
    """
    codes = rated_items.get_complete_codes()
    iccs = {
        name: replace(result, n_items=len(codes), n_ratings=codes.size)
        for name, result in icc(values[codes]).items()
    }
    if iccs["icc1"].reason in _COMPLETE_REASONS:
        one_way = icc_one_way(rated_items.item, values[rated_items.code])
        if one_way.value is not None:
            iccs["icc1"] = one_way
    return iccs


def icc_one_way(item: npt.ArrayLike, value: npt.ArrayLike) -> Icc:
    """Return ICC(1,1) from the items and values (M,) of ratings, whoever gave them."""
    _, index = index_distinct(item)
    v = np.asarray(value, float)
    m = np.bincount(index)
    n, total = m.size, v.size
    if n < 2 or total == n:
        return Icc(
            None, "too_few_items" if n < 2 else NO_PAIRABLE_ITEMS, n_items=n, n_ratings=total
        )
    v = v - v.mean()
    means = np.bincount(index, v) / m
    within = float(((v - means[index]) ** 2).sum()) / (total - n)
    between = float((m * means**2).sum()) / (n - 1)
    if between + within < 1e-12 * max(float((v**2).mean()), 1e-300) or np.ptp(v) == 0:
        return Icc(None, "zero_variance", n_items=n, n_ratings=total)
    if within < 1e-12 * between:
        within = 0.0  # rounding errors are no variance
    m0 = (total - float((m**2).sum()) / total) / (n - 1)
    low, high = (
        1.0 if np.isinf(f) else (f - 1) / (f + m0 - 1)
        for f in f_limits(between, within, n - 1, total - n)
    )
    return Icc(
        (between - within) / (between + (m0 - 1) * within),
        **f_test(between, within, n - 1, total - n),
        ci_low=low,
        ci_high=high,
        n_items=n,
        n_ratings=total,
    )


@dataclass(frozen=True)
class IncompleteIcc:
    """Reliability of one rating and of the mean of an item's ratings, from variance components.

    agreement: ICC(A,1), consistency: ICC(C,1), of one rating; agreement_mean: ICC(A,k), and
    shared_mean: ICC(Q,k), of the mean; each with its interval. k: harmonic mean of the ratings per
    item; q: weight of the rater variance in ICC(Q,k). k and q are None, with the reason, where
    undefined.
    """

    agreement: Icc
    consistency: Icc
    agreement_mean: Icc
    shared_mean: Icc
    k: float | None = None
    q: float | None = None
    reason: str | None = None

    def by_name(self) -> dict[str, Icc]:
        """Return {name in a report: correlation}."""
        correlations = self.agreement, self.consistency, self.agreement_mean, self.shared_mean
        return dict(zip(INCOMPLETE_ICC_NAMES, correlations, strict=True))


def compute_incomplete_icc(
    item: npt.ArrayLike, rater: npt.ArrayLike, value: npt.ArrayLike
) -> IncompleteIcc:
    """Return the intraclass correlations of ratings (M,), at most one per item and rater.

    item, rater: integer keys; value: the ratings as numbers. Not every rater needs to rate every
    item. Undefined, with a reason, where items and raters are not crossed or all ratings are the
    same.
    """
    _, items = index_distinct(item)
    _, raters = index_distinct(rater)
    values = np.asarray(value, float)
    fit = fit_components(items, raters, values) if values.size else None
    if fit is None or not fit.is_crossed or sum(fit.sums) == 0:
        reason = NOT_CROSSED if fit is None or not fit.is_crossed else NO_VARIANCE
        undefined = Icc(None, reason)
        return IncompleteIcc(undefined, undefined, undefined, undefined, reason=reason)
    m = np.bincount(items)
    k = m.size / float((1 / m).sum())
    q = _compute_rater_factor(items, raters, m, k)
    variances = fit.estimate(), fit.draw()
    return IncompleteIcc(
        _build_icc(variances, rater=1.0, rest=1.0),
        _build_icc(variances, rater=0.0, rest=1.0),
        _build_icc(variances, rater=1 / k, rest=1 / k),
        _build_icc(variances, rater=q, rest=1 / k),
        k,
        q,
    )


def _build_icc(variances: tuple[Components, Components], *, rater: float, rest: float) -> Icc:
    """Return the ICC, item variance / (item variance + error variance), with its interval.

    variances: estimated components, and draws of them; rater, rest: weights of the rater and
    residual variance in the error variance.
    """
    estimate, draws = variances
    value, reason = compute_share(
        float(estimate.item), float(rater * estimate.rater + rest * estimate.rest)
    )
    if value is None:
        return Icc(None, reason)
    low, high = _compute_quantile_limits(
        draws.item / (draws.item + rater * draws.rater + rest * draws.rest)
    )
    return Icc(value, ci_low=min(low, value), ci_high=max(high, value))


def _compute_rater_factor(items: Ints, raters: Ints, m: Ints, k: float) -> float:
    """Return q, the weight of the rater variance in the mean of incomplete ratings.

    m (N,): ratings of each item; k: their harmonic mean. With m_ij the common raters of items i and
    j, the sum of m_ij / (m_i m_j) over pairs of items is the sum over raters of the squared sum of
    1 / m_i over the rater's items, less the pairs of an item with itself.
    """
    weight = 1 / m[items]
    of_raters = np.bincount(raters, weight)
    of_pairs = float((of_raters**2).sum() - (weight**2).sum())
    return max(1 / k - of_pairs / (m.size * (m.size - 1)), 0.0)
