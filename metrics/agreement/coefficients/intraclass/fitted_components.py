"""Variance components of incomplete ratings, from least squares fits of items and raters.

With n items, R raters, M ratings in c connected parts, and the residual sums of squares of both
effects (RSS), of raters alone (RSS_r) and of items alone (RSS_i):

    s_e = RSS / e,   e = M - n - R + c
    s_i = (RSS_r - RSS - (n - c) s_e) / (M - R)
    s_r = (RSS_i - RSS - (R - c) s_e) / (M - n)

(Henderson's method 3; Searle, Casella & McCulloch 1992, Variance Components, 5.5). Complete data
give the components of the analysis of variance. The residual knows nothing of items and raters,
so that few raters in common do not make it uncertain.

Intervals are generalized confidence intervals (Weerahandi 1993, JASA 88, 899-905; Hamada &
Weerahandi 2000, J. of Quality Technology 32, 241-253): RSS / s_e is chi-square with e degrees of
freedom, and the differences of the sums behave so with n - c and R - c.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph, linalg

from metrics.agreement.counts.grouping import Ints
from metrics.agreement.estimate import CONFIDENCE_LEVEL, Floats

from .mean_squares import ROUNDING_TOLERANCE

_DRAWS = 4_000  # the limits then vary by a hundredth of the interval's width
_SEED = 1


@dataclass(frozen=True)
class Components:
    """Variances of items, raters and the rest, each at least 0; floats, or draws (D,)."""

    item: Floats
    rater: Floats
    rest: Floats


@dataclass(frozen=True)
class FittedComponents:
    """Sums of squares of items (adjusted for raters), of raters (for items), and of the rest.

    degrees: their degrees of freedom; divisors: of the components of items and raters.
    """

    sums: tuple[float, float, float]
    degrees: tuple[int, int, int]
    divisors: tuple[int, int]

    @property
    def is_crossed(self) -> bool:
        """Return whether the three components can be separated."""
        return min(self.degrees) >= 1

    def estimate(self) -> Components:
        """Return the estimated components, negative ones as 0."""
        return self._solve(*(np.asarray(degree, float) for degree in self.degrees))

    def draw(self) -> Components:
        """Return draws (D,) of the components that these sums of squares may come from."""
        rng = np.random.default_rng(_SEED)
        return self._solve(*(rng.chisquare(degree, _DRAWS) for degree in self.degrees))

    def _solve(self, items: Floats, raters: Floats, rest: Floats) -> Components:
        """Return the components with these chi-square values of the sums of squares."""
        residual = self.sums[2] / rest
        variances = [
            np.maximum((square / chi - residual) * degree / divisor, 0.0)
            for square, chi, degree, divisor in zip(
                self.sums, (items, raters), self.degrees, self.divisors, strict=False
            )
        ]
        return Components(variances[0], variances[1], residual)


def fit_components(item: Ints, rater: Ints, value: Floats) -> FittedComponents:
    """Return the fit of ratings (M,); items and raters are indices from 0 without gaps."""
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


def compute_limits(shares: Floats) -> tuple[float, float]:
    """Return the 95 % limits of draws (D,)."""
    tail = (1 - CONFIDENCE_LEVEL) / 2
    low, high = np.quantile(shares, [tail, 1 - tail])
    return float(low), float(high)
