"""Sums over patterns of items that the pattern coefficients share.

The patterns (P, k) are shared by all entries of the leading axes; the numbers of items (..., P)
carry the axes: days, cumulative sums, bootstrap replicates.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from metrics.agreement.counts.common_correlation import compute_weights_within_group
from metrics.agreement.estimate import EstimateBasis, Floats, divide_or_nan
from metrics.agreement.weights import as_weight_matrix

_MIN_SPARSE_CATEGORIES = 64
_MAX_CELLS = 1 << 20  # cells of an array over entries and patterns computed at once


@dataclass(frozen=True)
class PatternSums:
    """Patterns of ratings, and the sums over items that the coefficients need.

    counts (P, k); sizes m (P,): ratings of an item; n_items (..., P): numbers of items; n, n2
    (...): items with one, with two or more ratings; ratings, pairable_ratings (...): ratings of
    these; totals (..., k): ratings by category.
    """

    counts: Floats
    n_items: Floats
    sizes: Floats
    pairable: npt.NDArray[np.bool_]  # (P,) m >= 2
    n: Floats  # items with at least one rating
    n2: Floats  # items with at least two ratings
    ratings: Floats
    pairable_ratings: Floats
    totals: Floats

    @property
    def k(self) -> int:
        return self.counts.shape[1]

    @cached_property
    def mean_shares(self) -> Floats:
        """The mean shares n_ij / m_i of the categories over rated items (..., k)."""
        return divide_or_nan((self.n_items / self.sizes) @ self.counts, self.n[..., None])

    @cached_property
    def pairable_totals(self) -> Floats:
        """Ratings by category (..., k) of the items with two or more ratings."""
        totals: Floats = (self.n_items * self.pairable) @ self.counts
        return totals

    @cached_property
    def is_sparse(self) -> bool:
        """True if there are so many categories that zero counts are skipped in sums."""
        return self.k >= _MIN_SPARSE_CATEGORIES

    @cached_property
    def _sparse_counts(self) -> sparse.csr_array:
        return sparse.csr_array(self.counts)

    @property
    def count_features(self) -> Any:
        """The counts (P, k) for `sum_squared_influence`, sparse with many categories."""
        return self._sparse_counts if self.is_sparse else self.counts

    @cached_property
    def share_features(self) -> Any:
        """The shares n_ij / m_i of each pattern (P, k), sparse with many categories."""
        return self.scale_features(1 / self.sizes)

    def scale_features(self, factor: Floats) -> Any:
        """Return the counts (P, k) of each pattern times a factor (P,), as `count_features`."""
        if self.is_sparse:
            return sparse.csr_array(self._sparse_counts.multiply(factor[:, None]))
        return self.counts * factor[:, None]

    @property
    def has_pairs(self) -> npt.NDArray[np.bool_]:
        """True for each entry (...) with an item that has two or more ratings."""
        return self.n2 > 0

    def build_basis(self) -> EstimateBasis:
        """Return the numbers of items and ratings behind an estimate, and n - 1 degrees of freedom.

        Items and ratings are those of items with two or more ratings; n counts all rated items, as
        irrCAC does.
        """
        return EstimateBasis(
            self.n2.astype(np.int64), self.pairable_ratings.astype(np.int64), self.n - 1
        )

    def sum_over_pairs(self, matrix: Floats) -> Floats:
        """Return sum_jl n_ij matrix_jl n_il of each pattern (P,) for a matrix (k, k)."""
        total: Floats
        counts = self._sparse_counts if self.is_sparse else None
        # Items of many ratings in many categories have more pairs than cells.
        if counts is None or (np.diff(counts.indptr) ** 2).sum() > self.counts.size:
            total = ((self.count_features @ matrix) * self.counts).sum(axis=1)
        else:
            pattern, first, second = self._category_pairs
            products = counts.data[first] * counts.data[second]
            weights = matrix[counts.indices[first], counts.indices[second]]
            credit = products * weights
            total = np.bincount(pattern, credit, minlength=len(self.sizes)).astype(float)
        return total

    @cached_property
    def _category_pairs(self) -> tuple[npt.NDArray[np.int64], ...]:
        """Three arrays: the pattern and both positions of each ordered pair of nonzero counts."""
        starts = self._sparse_counts.indptr[:-1].astype(np.int64)
        n_used = np.diff(self._sparse_counts.indptr).astype(np.int64)
        n_pairs = n_used**2
        pattern = np.repeat(np.arange(len(n_used)), n_pairs)
        rank = np.arange(n_pairs.sum()) - np.repeat(np.cumsum(n_pairs) - n_pairs, n_pairs)
        first, second = np.divmod(rank, n_used[pattern])
        return pattern, starts[pattern] + first, starts[pattern] + second

    def compute_item_agreement(self, weights: npt.ArrayLike | None) -> Floats:
        """Return the mean weight P_i (P,) of the ordered pairs of ratings in each pattern.

        weights (k, k); None: 1 for equal ratings, otherwise 0. P_i is 0 for patterns with fewer
        than two ratings.
        """
        if weights is None:
            credit = self._n_agreeing_pairs
        else:
            w = as_weight_matrix(weights, self.k)
            credit = self.sum_over_pairs(w) - self.count_features @ np.diag(w)
        return np.where(self.pairable, credit / np.maximum(self.sizes * (self.sizes - 1), 1), 0.0)

    @cached_property
    def _n_agreeing_pairs(self) -> Floats:
        """The number (P,) of ordered pairs of equal ratings in each pattern."""
        squares: Floats = np.einsum("pk,pk->p", self.counts, self.counts)
        return squares - self.sizes

    def compute_observed(self, agreement: Floats) -> Floats:
        """Return the observed agreement P_o (...), a mean over items with two or more ratings."""
        return divide_or_nan(self.n_items @ agreement, self.n2)

    @cached_property
    def smallest_pairable_size(self) -> Floats:
        """The fewest ratings (...) among items with two or more ratings; NaN without such items."""
        present = (self.n_items > 0) & self.pairable
        smallest = np.where(present, self.sizes, np.inf).min(axis=-1, initial=np.inf)
        return np.where(np.isfinite(smallest), smallest, np.nan)

    def build_pair_weights(self, *, pooled: bool) -> Floats:
        """Return the weights (7, ...) of pairs in the variance of observed agreement and margins.

        pooled: each rating has the same weight in the margins; otherwise each item has.
        """
        return self._pair_weights_pooled if pooled else self._pair_weights_items_equal

    @cached_property
    def _pair_weights_pooled(self) -> Floats:
        return compute_weights_within_group(
            self.sizes, self.n_items, self.pairable.astype(float), self.sizes
        )

    @cached_property
    def _pair_weights_items_equal(self) -> Floats:
        return compute_weights_within_group(
            self.sizes, self.n_items, self.pairable.astype(float), np.ones_like(self.sizes)
        )

    def compute_least_value(
        self, weights: npt.ArrayLike | None, greatest_chance: float = 0.0
    ) -> Floats:
        """Return the least coefficient (...) that the numbers of ratings per item allow.

        Without weights (None), P_o is least where the ratings of an item are spread evenly over the
        categories; with weights (k, k) it is their least weight. greatest_chance: the greatest P_e.
        NaN where no item has two ratings, 0 where greatest_chance is 1.
        """
        least = self._compute_least_observed(weights)
        if greatest_chance == 1:  # a single category: the coefficient is undefined
            return np.zeros_like(least)
        return np.asarray((least - greatest_chance) / (1 - greatest_chance))

    def _compute_least_observed(self, weights: npt.ArrayLike | None) -> Floats:
        if weights is not None:
            least = np.min(as_weight_matrix(weights, self.k))
            return np.where(self.has_pairs, least, np.nan)
        return self._least_unweighted

    @cached_property
    def _least_unweighted(self) -> Floats:
        each, more = np.divmod(self.sizes, self.k)
        pairs = (self.k - more) * each * (each - 1) + more * (each + 1) * each
        least_item = np.where(
            self.pairable, pairs / np.maximum(self.sizes * (self.sizes - 1), 1), 0.0
        )
        return self.compute_observed(least_item)

    def sum_squared_influence(
        self,
        beta: list[tuple[Floats, npt.NDArray[Any] | sparse.csr_array]],
        *,
        constant: Floats | float = 0.0,
        shift: tuple[Floats, Floats] | None = None,
    ) -> Floats:
        """Return the sum over items of f_i^2 (1, ...), with f_i linear in features of its pattern.

        beta: pairs (coefficients (...) or (..., F), features (P,) or (P, F)), whose products are
        added; constant (...): added to each f_i. With shift (a, b), both (...), the result is (2,
        ...): its second row is the sum of (f_i + a [m_i >= 2] + b)^2.
        """
        size = self.n.size
        terms = [
            (_replace_undefined(factor).reshape(size, *features.shape[1:]), features)
            for factor, features in beta
        ]
        constants = np.broadcast_to(_replace_undefined(constant), self.n.shape).reshape(size, 1)
        shifts = () if shift is None else tuple(_replace_undefined(part) for part in shift)
        weights = self.n_items.reshape(size, len(self.sizes))
        step = max(1, _MAX_CELLS // max(len(self.sizes), 1))
        total = np.empty((1 if shift is None else 2, size))
        for start in range(0, size, step):
            rows = slice(start, start + step)
            influence = np.repeat(constants[rows], len(self.sizes), axis=1)
            for factor, features in terms:
                if features.ndim == 2:
                    influence += (features @ factor[rows].T).T
                else:
                    influence += factor[rows, None] * features
            total[0, rows] = np.einsum("dp,dp,dp->d", weights[rows], influence, influence)
            if shifts:
                on_pairable, everywhere = (part.reshape(size, 1)[rows] for part in shifts)
                influence += on_pairable * self.pairable + everywhere
                total[1, rows] = np.einsum("dp,dp,dp->d", weights[rows], influence, influence)
        return total.reshape(-1, *self.n.shape)

    def compute_standard_error(self, squared_influence: Floats, n: Floats | None = None) -> Floats:
        """Return the standard error (...) from the sum of squared influences of n items.

        n (...): numbers of items; those with a rating when None. NaN for fewer than two items.
        """
        n = self.n if n is None else n
        return np.sqrt(np.maximum(divide_or_nan(squared_influence, n * (n - 1)), 0))


def _replace_undefined(values: npt.ArrayLike) -> Floats:
    """Return the values (...) with 0 in place of those that are not finite."""
    array = np.asarray(values, float)
    return np.where(np.isfinite(array), array, 0.0)


def build_pattern_sums(counts: npt.ArrayLike, n_items: npt.ArrayLike) -> PatternSums:
    """Return PatternSums of patterns (P, k) and their numbers of items (..., P).

    Patterns without ratings are dropped.
    """
    patterns, items = np.asarray(counts, float), np.asarray(n_items, float)
    sizes = patterns.sum(axis=1)
    if not sizes.all():
        rated = sizes > 0
        patterns, items, sizes = patterns[rated], items[..., rated], sizes[rated]
    pairable = sizes >= 2
    sums = items @ np.column_stack([np.ones_like(sizes), pairable, sizes, sizes * pairable])
    n, n2, ratings, pairable_ratings = (sums[..., column] for column in range(4))
    return PatternSums(
        patterns, items, sizes, pairable, n, n2, ratings, pairable_ratings, items @ patterns
    )
