"""Contributions of raters, categories and groups of items to a change of Fleiss' kappa.

Leave-one-out: with kappa_t of all ratings of period t = 0, 1 and kappa_t(-X) of the ratings without
X in both,

    change = kappa_1 - kappa_0,      contribution of X = change - (kappa_1(-X) - kappa_0(-X))

Contributions need not add up to the change: a joint effect of two raters appears in both, or in
neither. An item belongs to one period. kappa (fleiss.py) needs three sums of a period, n2, S = sum
of P_i over the items with m_i >= 2, and the ratings in each category; and they change only where X
is, with A_i = n_i' W n_i and b_i = (W + W') n_i:

    without one rating of category c    A_i - b_ic + 1             (w_cc = 1)
    without all n_ic of them            A_i - n_ic b_ic + n_ic^2

So all raters together cost one pass over the ratings, whatever their number. Bias between two
raters, a change that kappa may not show, is the mean signed difference of their ratings of the same
items (compute_bias_shifts).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement.coefficients import fleiss
from metrics.agreement.counts.additive_counts import PairTables
from metrics.agreement.counts.grouping import Ints, index_distinct, validate_ratings
from metrics.agreement.estimate import Estimate, Floats, correct_for_chance, divide_or_nan
from metrics.agreement.weights import as_weight_matrix

MIN_SHARE = 0.2  # of the change; a smaller contribution is not distinct
ERROR_RATE = 0.05  # probability that any contribution is called distinct by chance
N_JACKKNIFE_GROUPS = 10  # of items


@dataclass(frozen=True)
class LeaveOneOutKappas:
    """Kappa of both periods when one rater, category or group of items at a time is left out.

    keys (G,): the raters, categories or groups. kappa (G, 2): by period, NaN where undefined;
    reason (G, 2): why, an index into estimate.REASONS. n_ratings (G, 2): the ratings left out.
    """

    keys: Ints
    kappa: Floats
    reason: npt.NDArray[np.int64]
    n_ratings: Ints

    def compute_contributions(self, change: float) -> Floats:
        """Return how much of a change of kappa disappears when each key is left out (G,).

        NaN where the change or a remaining kappa is undefined.
        """
        return np.asarray(change - (self.kappa[:, 1] - self.kappa[:, 0]), float)


LeaveOut = Callable[["TwoPeriods", npt.NDArray[np.bool_]], LeaveOneOutKappas]


def find_distinct_contributions(
    periods: "TwoPeriods",
    without: LeaveOneOutKappas,
    leave_out: LeaveOut,
    *,
    variance_factor: float = 1.0,
) -> npt.NDArray[np.bool_]:
    """Return whether each contribution (G,) differs clearly from the median contribution.

    It must differ by a t test at ERROR_RATE over all of them (Bonferroni), with the delete-a-group
    jackknife over items (Kott 2001, Journal of Official Statistics 17, 521-526), and both it and
    the difference must be MIN_SHARE of the change or more. The median is what leaving out an
    average rater does: if one of five raters changes, leaving out any other one changes the result
    as well.

    leave_out: function of TwoPeriods with some items, and of the mask (M,) of their ratings;
    without: what it returns for all ratings; variance_factor: design effect of clusters.
    """
    change = periods.compute_change()
    contributions = without.compute_contributions(change)
    replicates = np.full((N_JACKKNIFE_GROUPS, contributions.size), np.nan)
    for number, replicate in enumerate(replicates):
        has_item = np.arange(len(periods.counts)) % N_JACKKNIFE_GROUPS != number
        part, rows = periods.select_items(has_item)
        without_part = leave_out(part, rows)
        position = np.searchsorted(without.keys, without_part.keys)
        replicate[position] = without_part.compute_contributions(part.compute_change())
    df = N_JACKKNIFE_GROUPS - 1
    is_defined = np.isfinite(contributions) & np.isfinite(replicates).all(axis=0)
    if not is_defined.any():
        return is_defined
    replicates -= np.median(replicates[:, is_defined], axis=1, keepdims=True)
    from_median = contributions - np.median(contributions[is_defined])
    squares = (replicates - replicates.mean(axis=0)) ** 2
    se = np.sqrt(variance_factor * df / N_JACKKNIFE_GROUPS * squares.sum(axis=0))
    critical_t = special.stdtrit(df, 1 - ERROR_RATE / 2 / is_defined.sum())
    least = MIN_SHARE * abs(change)
    with np.errstate(invalid="ignore"):
        return np.asarray(
            (np.abs(from_median) > np.maximum(critical_t * se, least))
            & (contributions * np.sign(from_median) >= least)
        )


@dataclass(frozen=True)
class _KappaSums:
    """Sums from which Fleiss' kappa is computed, for several sets of items (...).

    pairable (...): items with two ratings or more; agreement (...): sum of their agreements P_i;
    ratings (..., k): ratings by category.
    """

    pairable: npt.NDArray[np.int64]
    agreement: Floats
    ratings: npt.NDArray[np.int64]

    def subtract(self, removed: "_KappaSums") -> "_KappaSums":
        """Return the sums of the ratings that remain after removing those of `removed`."""
        pairable = self.pairable - removed.pairable
        return _KappaSums(
            pairable,
            np.where(pairable > 0, self.agreement - removed.agreement, 0.0),
            self.ratings - removed.ratings,
        )

    def compute_kappa(self, w: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
        """Return kappa (...), and indices into REASONS (...), 0 where it is defined.

        w: weights (k, k).
        """
        share = divide_or_nan(self.ratings, self.ratings.sum(axis=-1)[..., None])
        expected = np.einsum("...j,jl,...l->...", share, w, share)
        return correct_for_chance(
            divide_or_nan(self.agreement, self.pairable), expected, self.pairable > 0
        )


@dataclass(frozen=True)
class TwoPeriods:
    """The ratings of two periods in long form, and the counts of their items."""

    item: Ints  # (M,) index of the rating's item
    rater: Ints  # (M,)
    code: Ints  # (M,)
    period: Ints  # (N,) of each item: 0 or 1
    counts: Ints  # (N, k)
    w: Floats  # (k, k)

    @classmethod
    def from_ratings(
        cls,
        item: npt.ArrayLike,
        rater: npt.ArrayLike,
        code: npt.ArrayLike,
        period: npt.ArrayLike,
        *,
        k: int,
        weights: npt.ArrayLike | None = None,
    ) -> "TwoPeriods":
        """Return the periods from ratings (M,), at most one per item and rater.

        period (M,): 0 or 1, the same for all ratings of an item; weights (k, k) or None. Raises
        ValueError for other periods, and for a code outside 0..k-1.
        """
        items, codes = validate_ratings(item, code, k)
        periods = np.asarray(period, np.int64)
        distinct, index = index_distinct(items)
        item_period = np.zeros(distinct.size, np.int64)
        item_period[index] = periods
        if (item_period[index] != periods).any() or not np.isin(periods, (0, 1)).all():
            raise ValueError("an item lies in one of the periods 0 and 1")
        counts = np.bincount(index * k + codes, minlength=distinct.size * k).reshape(-1, k)
        return cls(
            index,
            np.asarray(rater, np.int64),
            codes,
            item_period,
            counts,
            as_weight_matrix(weights, k),
        )

    @property
    def k(self) -> int:
        return self.counts.shape[1]

    def compute_kappa(self) -> Estimate:
        """Return Fleiss' kappa of the two periods (2,), with intervals."""
        counts, where = np.unique(self.counts, axis=0, return_inverse=True)
        n_items = np.zeros((2, len(counts)), np.int64)
        np.add.at(n_items, (self.period, where.ravel()), 1)
        return fleiss.fleiss_kappa(counts, n_items, weights=self.w)

    def compute_change(self) -> float:
        """Return kappa of the later period less that of the earlier one, NaN where undefined."""
        before, after = self._sum_items(self.period, 1).compute_kappa(self.w)[0][0]
        return float(after - before)

    def select_items(
        self, has_item: npt.NDArray[np.bool_]
    ) -> tuple["TwoPeriods", npt.NDArray[np.bool_]]:
        """Return the periods with the masked items (N,), and the mask (M,) of their ratings."""
        rows = has_item[self.item]
        part = replace(
            self,
            item=self.item[rows],
            rater=self.rater[rows],
            code=self.code[rows],
            counts=self.counts * has_item[:, None],
        )
        return part, rows

    def compute_without_each_rater(self) -> LeaveOneOutKappas:
        """Return kappa of both periods without the ratings of each rater in turn."""
        keys, index = index_distinct(self.rater)
        size, squares, weighted_counts = self._compute_item_terms()
        m = size[self.item]
        remaining = squares[self.item] - weighted_counts[self.item, self.code] + 1
        lost_agreement = _compute_item_agreement(squares, size)[
            self.item
        ] - _compute_item_agreement(remaining, m - 1)
        cell = 2 * index + self.period[self.item]
        removed = self._sum_cells(
            cell,
            keys.size,
            pairable=m == 2,
            agreement=lost_agreement,
            ratings=self.code[:, None] == np.arange(self.k),
        )
        return self._build_without(keys, removed)

    def compute_without_each_category(self) -> LeaveOneOutKappas:
        """Return kappa of both periods without the ratings of each category in turn."""
        size, squares, weighted_counts = self._compute_item_terms()
        item_agreement = _compute_item_agreement(squares, size)
        category_sums = []
        for c in range(self.k):
            n = self.counts[:, c]
            remaining_size = size - n
            lost_agreement = item_agreement - _compute_item_agreement(
                squares - n * weighted_counts[:, c] + n.astype(float) ** 2, remaining_size
            )
            category_counts = self.counts * (np.arange(self.k) == c)
            becomes_unpairable = (size >= 2) & (remaining_size < 2)
            category_sums.append(
                self._sum_cells(
                    self.period,
                    1,
                    pairable=becomes_unpairable,
                    agreement=lost_agreement,
                    ratings=category_counts,
                )
            )
        names = ("pairable", "agreement", "ratings")
        removed = _KappaSums(
            *(np.concatenate([getattr(part, name) for part in category_sums]) for name in names)
        )
        return self._build_without(np.arange(self.k), removed)

    def compute_without_each_group(self, group: npt.ArrayLike) -> LeaveOneOutKappas:
        """Return kappa of both periods without each group of items in turn.

        group (M,): number of the group of each rating's item.
        """
        keys, index = index_distinct(group)
        item_group = np.zeros(len(self.counts), np.int64)
        item_group[self.item] = index
        cell = 2 * item_group + self.period
        return self._build_without(keys, self._sum_items(cell, keys.size))

    def _compute_item_terms(self) -> tuple[Ints, Floats, Floats]:
        """Return the size m_i (N,), n'Wn (N,) and n'(W + W') (N, k) of each item's counts n."""
        weighted_counts = self.counts @ (self.w + self.w.T)
        return (
            self.counts.sum(axis=1),
            (weighted_counts * self.counts).sum(axis=1) / 2,
            weighted_counts,
        )

    def _sum_cells(
        self,
        cell: Ints,
        n_groups: int,
        *,
        pairable: npt.NDArray[np.bool_],
        agreement: Floats,
        ratings: npt.ArrayLike,
    ) -> _KappaSums:
        """Return the sums (n_groups, 2) of rows by group and period.

        cell: 2 * group + period of each row; pairable, agreement, ratings: the terms of each row.
        """
        cells = 2 * n_groups
        by_category = np.asarray(ratings)
        columns = [np.bincount(cell, by_category[:, c], cells) for c in range(self.k)]
        return _KappaSums(
            np.bincount(cell, pairable, cells).astype(np.int64).reshape(n_groups, 2),
            np.asarray(np.bincount(cell, agreement, cells), float).reshape(n_groups, 2),
            np.stack(columns, axis=-1).astype(np.int64).reshape(n_groups, 2, self.k),
        )

    def _sum_items(self, cell: Ints, n_groups: int) -> _KappaSums:
        """Return the sums (n_groups, 2) of whole items (N,); cell: 2 * group + period of each."""
        size, squares, _ = self._compute_item_terms()
        agreement = _compute_item_agreement(squares, size)
        return self._sum_cells(
            cell, n_groups, pairable=size >= 2, agreement=agreement, ratings=self.counts
        )

    def _build_without(self, keys: Ints, removed: _KappaSums) -> LeaveOneOutKappas:
        """Return the kappas of all ratings without those of each of G keys.

        removed: their sums (G, 2), in the earlier and the later period.
        """
        kappa, reason = self._sum_items(self.period, 1).subtract(removed).compute_kappa(self.w)
        return LeaveOneOutKappas(keys, kappa, reason, removed.ratings.sum(axis=-1))


def _compute_item_agreement(squares: Floats, size: Ints) -> Floats:
    """Return P_i = (n'Wn - m_i) / (m_i (m_i - 1)); 0 for items with fewer than two ratings.

    squares: n'Wn of each item; size: m_i.
    """
    pairs = size * (size - 1)
    return np.where(size >= 2, (squares - size) / np.maximum(pairs, 1), 0.0)


@dataclass(frozen=True)
class BiasShifts:
    """Mean difference of two raters' values, a less b, in each of two periods.

    rater_a, rater_b: (P,); bias, se, n_items: (P, 2).
    """

    rater_a: Ints
    rater_b: Ints
    bias: Floats  # (P, 2)
    se: Floats  # (P, 2)
    n_items: Ints  # (P, 2)

    @property
    def z_scores(self) -> Floats:
        """The change (P,) in units of its standard error; 0 for a standard error of 0."""
        change_se = np.sqrt((self.se**2).sum(axis=1))
        change = self.bias[:, 1] - self.bias[:, 0]
        return np.where(change_se > 0, divide_or_nan(change, change_se), 0.0)


def compute_bias_shifts(
    before: PairTables, after: PairTables, *, values: npt.ArrayLike | None = None, least: int = 10
) -> BiasShifts:
    """Return the biases of the pairs that share at least ``least`` items in both periods.

    values (k,): numbers of the categories, ranks when None.
    """
    index_of_pair = {
        key: index
        for index, key in enumerate(
            zip(before.rater_a.tolist(), before.rater_b.tolist(), strict=True)
        )
    }
    keys = zip(after.rater_a.tolist(), after.rater_b.tolist(), strict=True)
    common = [(index_of_pair[key], index) for index, key in enumerate(keys) if key in index_of_pair]
    before_rows, after_rows = np.array(common, np.int64).reshape(-1, 2).T
    # (P, 2, k, k)
    tables = np.stack([before.tables[before_rows], after.tables[after_rows]], axis=1).astype(float)
    k = tables.shape[-1]
    v = np.arange(1.0, k + 1) if values is None else np.asarray(values, float)
    difference = v[:, None] - v[None, :]
    n = tables.sum(axis=(-2, -1))
    bias = divide_or_nan((tables * difference).sum(axis=(-2, -1)), n)
    spread = (tables * (difference - bias[..., None, None]) ** 2).sum(axis=(-2, -1))
    se = np.sqrt(divide_or_nan(spread, n * (n - 1)))
    enough = (n >= max(least, 2)).all(axis=1)
    return BiasShifts(
        rater_a=before.rater_a[before_rows][enough],
        rater_b=before.rater_b[before_rows][enough],
        bias=bias[enough],
        se=se[enough],
        n_items=n[enough].astype(np.int64),
    )
