"""Sums over items that the pattern coefficients share, from patterns and their numbers of items.

The patterns (P, k) are shared by all entries of the leading axes; the numbers of items (..., P)
carry the axes: days, cumulative sums, bootstrap replicates.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from metrics.agreement.estimate import Basis, Floats, divided
from metrics.agreement.weights import weighting

_CELLS = 1 << 20  # of an array over entries and patterns that is held at once


@dataclass(frozen=True)
class PatternSums:
    """counts (P, k), sizes m (P,), n_items (..., P); n, n2, ratings, pairable_ratings (...); totals
    (..., k)."""

    counts: Floats
    n_items: Floats
    sizes: Floats
    pairable: npt.NDArray[np.bool_]  # (P,) m >= 2
    n: Floats  # items with a rating
    n2: Floats  # items with two or more
    ratings: Floats
    pairable_ratings: Floats
    totals: Floats

    @property
    def k(self) -> int:
        return self.counts.shape[1]

    @property
    def shares(self) -> Floats:
        """n_ij / m_i of each pattern (P, k)."""
        return self.counts / self.sizes[:, None]

    @property
    def has_pairs(self) -> npt.NDArray[np.bool_]:
        return self.n2 > 0

    def basis(self) -> Basis:
        """Rests on the items with two or more ratings; the interval has n - 1 degrees of freedom
        (irrCAC)."""
        return Basis(self.n2.astype(np.int64), self.pairable_ratings.astype(np.int64), self.n - 1)

    def agreement(self, weights: npt.ArrayLike | None) -> Floats:
        """P_i of each pattern (P,): the mean weight of its ordered pairs of ratings; 0 for m <
        2."""
        if weights is None:
            credit = (self.counts * (self.counts - 1)).sum(axis=1)
        else:
            w = weighting(weights, self.k)
            credit = ((self.counts @ w) * self.counts).sum(axis=1) - self.counts @ np.diag(w)
        return np.where(self.pairable, credit / np.maximum(self.sizes * (self.sizes - 1), 1), 0.0)

    def observed(self, agreement: Floats) -> Floats:
        """P_o (...): the mean of P_i over the items with two or more ratings."""
        return divided(self.n_items @ agreement, self.n2)

    def spread(
        self, beta: list[tuple[Floats, npt.NDArray[Any]]], *, constant: Floats | None = None
    ) -> Floats:
        """sum over items of f_i^2, where f is linear in features of the item's pattern.

        beta: pairs (coefficients (...) or (..., F), features (P,) or (P, F)); constant (...) is
        added to each f_i.
        """
        lead = self.n_items.shape[:-1]
        size = int(np.prod(lead))
        columns = [features if features.ndim == 2 else features[:, None] for _, features in beta]
        features = np.concatenate([*columns, np.ones((len(self.sizes), 1))], axis=1)
        factors = [
            np.broadcast_to(factor, (*lead, *features.shape[1:])) for factor, features in beta
        ]
        rest = np.zeros(lead) if constant is None else np.broadcast_to(constant, lead)
        factor = np.concatenate(
            [f.reshape(size, int(np.prod(f.shape[len(lead) :]))) for f in [*factors, rest]], axis=1
        )
        factor = np.where(np.isfinite(factor), factor, 0.0)
        weights = self.n_items.reshape(size, len(self.sizes))
        step = max(1, _CELLS // max(len(self.sizes), 1))
        total = np.empty(size)
        for start in range(0, size, step):
            rows = slice(start, start + step)
            total[rows] = np.einsum("dp,dp->d", weights[rows], (factor[rows] @ features.T) ** 2)
        return total.reshape(lead)

    def standard_error(self, spread: Floats, n: Floats | None = None) -> Floats:
        """sqrt(spread / (n (n - 1))); n is the number of items with a rating unless given."""
        n = self.n if n is None else n
        return np.sqrt(np.maximum(divided(spread, n * (n - 1)), 0))


def pattern_sums(counts: npt.ArrayLike, n_items: npt.ArrayLike) -> PatternSums:
    """Prepare patterns (P, k) and their numbers of items (..., P). Patterns without a rating do not
    exist."""
    patterns, items = np.asarray(counts, float), np.asarray(n_items, float)
    sizes = patterns.sum(axis=1)
    if not sizes.all():
        rated = sizes > 0
        patterns, items, sizes = patterns[rated], items[..., rated], sizes[rated]
    pairable = sizes >= 2
    sums = items @ np.column_stack(
        [np.ones_like(sizes), pairable, sizes, sizes * pairable, patterns]
    )
    n, n2, ratings, pairable_ratings = (sums[..., column] for column in range(4))
    return PatternSums(
        patterns, items, sizes, pairable, n, n2, ratings, pairable_ratings, totals=sums[..., 4:]
    )
