"""Scores of ratings by comparison with the other ratings of the same item.

The scores are agreement with the others, and bias (milder or harsher), with the peers' own levels
removed.

    agreement   d_gh = (w_jl - e) / (1 - e); w identity, on ordered scales linear; e = p'Wp
    bias        d_gh = rank own - rank other, clipped to -2..2
    x_i = mean over the peers h of (d_gh - s a_h); s = 1 for agreement, -1 for bias

The effects a are a ridge regression of d_gh = mu + a_g + s a_h over all comparisons, so that a
change of peers is no drift.

A rater gets a drift alert only if the rater fell beyond the others since the same onset
(difference in differences). So agreement has a second score for each other explanation, from which
the part that is common to all is removed (CommonChange):

    time          that of the others with each other on the same day
    items         that of the others with each other on the same items
    attributes    that of the others with each other on items with the same value of an attribute

The agreement of the others is their mean residual d - mu - a_h - a_h' without the rater on either
side. A fall that is common to all is proportional to the level of each rater (evidence.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from metrics.agreement import weights
from metrics.agreement.counts.grouping import Ints, index_distinct, rank_rows, validate_ratings
from metrics.agreement.estimate import SINGULAR_TOLERANCE, Floats

from .drift_settings import AGREEMENT

BoolArray = npt.NDArray[np.bool_]

# The day of a rating without a time (NaT as an integer): a peer of others, but on no chart.
UNDATED = int(np.iinfo(np.int64).min)
_MAX_RANK_DIFFERENCE = 2  # ranks
MAX_CLUSTER_DAYS = 90  # of a rater's ratings of a cluster that count on one day


@dataclass(frozen=True)
class DatedRatings:
    """Ratings of items with two or more ratings as parallel arrays (M,), by item and rater.

    item, rater: numbers from 0; code: category; day: days since 1970-01-01, or UNDATED; keys (R,):
    the caller's keys of all raters; row: index of each rating in the input columns; cluster: number
    of the item's cluster, None where items are independent.
    """

    item: Ints
    rater: Ints
    code: Ints
    day: Ints
    keys: Ints
    row: Ints
    cluster: Ints | None = None

    @property
    def dated(self) -> BoolArray:
        """The mask (M,) of ratings with a day."""
        return self.day != UNDATED

    @classmethod
    def from_columns(  # noqa: PLR0917
        cls,
        item: npt.ArrayLike,
        rater: npt.ArrayLike,
        code: npt.ArrayLike,
        day: npt.ArrayLike,
        k: int,
        *,
        clusters: npt.ArrayLike | None = None,
    ) -> DatedRatings:
        """Return the ratings from columns of items, raters, codes and days (M,).

        clusters (M,): number of the cluster of each rating's item, None where items are
        independent. All ratings of a cluster by one rater count on one day (move_to_last_days).
        Raises ValueError for an item that a rater rated twice, or for unequal lengths.
        """
        item, code = validate_ratings(item, code, k)
        rater, day = np.asarray(rater, np.int64), np.asarray(day, np.int64)
        if not rater.shape == day.shape == item.shape:
            raise ValueError("item, rater, code and day must be four columns of equal length")
        _, item = index_distinct(item)
        keys, rater = index_distinct(rater)
        order = np.lexsort((rater, item))
        item, rater, code, day = item[order], rater[order], code[order], day[order]
        is_repeated = (np.diff(item) == 0) & (np.diff(rater) == 0)
        if is_repeated.any():
            repeated_rater = keys[rater[np.argmax(is_repeated)]]
            raise ValueError(
                f"rater {repeated_rater} rated an item twice; keep one of these ratings"
            )
        shared = np.bincount(item)[item] >= 2 if item.size else np.zeros(0, bool)
        _, item = index_distinct(item[shared])
        rater, code, day, row = rater[shared], code[shared], day[shared], order[shared]
        cluster = None if clusters is None else np.asarray(clusters, np.int64)[row]
        if cluster is not None:
            day = move_to_last_days(rater, cluster, day)
        return cls(item, rater, code, day, keys, row, cluster)


def move_to_last_days(rater: Ints, cluster: Ints, day: Ints) -> Ints:
    """Return the days (M,) with all ratings of a rater in a cluster moved to the last of them.

    The errors of a rater in a cluster are alike, so that its days are not independent evidence
    about the rater. A cluster that takes longer than MAX_CLUSTER_DAYS is split into parts of that
    length. UNDATED ratings stay undated.
    """
    dated = np.flatnonzero(day != UNDATED)
    first, group = rank_rows([rater[dated], cluster[dated]])
    start = np.full(first.size, np.iinfo(np.int64).max)
    np.minimum.at(start, group, day[dated])
    _, part = rank_rows([group, (day[dated] - start[group]) // MAX_CLUSTER_DAYS])
    last = np.full(int(part.max(initial=-1)) + 1, UNDATED)
    np.maximum.at(last, part, day[dated])
    moved = day.copy()
    moved[dated] = last[part]
    return moved


@dataclass(frozen=True)
class Comparisons:
    """Ordered pairs of ratings of the same item as parallel arrays (C,).

    own, other: indices of the two ratings; own_rater, other_rater: numbers of their raters.
    """

    own: Ints
    other: Ints
    own_rater: Ints
    other_rater: Ints

    @classmethod
    def from_ratings(cls, ratings: DatedRatings) -> Comparisons:
        """Return the comparisons of each rating with all other ratings of its item."""
        indices = np.arange(ratings.item.size)
        starts = np.flatnonzero(np.diff(ratings.item, prepend=-1))
        size = np.diff([*starts, indices.size])
        item_sizes = np.repeat(size, size)  # number of ratings of each rating's item
        own = np.repeat(indices, item_sizes)
        offset = np.arange(own.size) - np.repeat(np.cumsum(item_sizes) - item_sizes, item_sizes)
        other = np.repeat(np.repeat(starts, size), item_sizes) + offset
        different = own != other
        own, other = own[different], other[different]
        return cls(own, other, ratings.rater[own], ratings.rater[other])

    def select(self, rows: BoolArray) -> Comparisons:
        """Return the comparisons selected by a mask (C,)."""
        return Comparisons(
            self.own[rows], self.other[rows], self.own_rater[rows], self.other_rater[rows]
        )


@dataclass(frozen=True)
class RaterEffects:
    """Fitted model d_gh = mu + a_g + s a_h: mean mu, level a (R,) of each rater, and sign s.

    s is 1 for agreement, and -1 for bias.
    """

    mu: float
    a: Floats
    s: int

    def remove_peer_effects(self, d: Floats, h: Ints) -> Floats:
        """Return the scores d (C,) less the effects s a_h of the peers; h (C,): their numbers."""
        return d - self.s * self.a[h]

    def compute_residuals(self, d: Floats, g: Ints, h: Ints) -> Floats:
        """Return the residuals (C,) of the scores d (C,) of raters g (C,) with peers h (C,)."""
        return d - self.mu - self.a[g] - self.s * self.a[h]


def build_agreement_matrix(ratings: DatedRatings, k: int, *, ordered: bool) -> Floats:
    """Return the chance-corrected agreement (k, k) of two categories: (w - e) / (1 - e).

    w: identity weights, linear ones if `ordered`; e: agreement expected from the shares of the
    categories. So 1 is full agreement, 0 as by chance. All 0 where one category only is used.
    """
    w = weights.linear_weights(k) if ordered else weights.identity_weights(k)
    share = np.bincount(ratings.code, minlength=k) / max(ratings.code.size, 1)
    expected = float(share @ w @ share)
    if 1 - expected < SINGULAR_TOLERANCE:  # a single category: agreement cannot fall
        return np.zeros((k, k))
    return np.asarray((w - expected) / (1 - expected), float)


def compute_differences(
    score: str, ratings: DatedRatings, comparisons: Comparisons, agreement_matrix: Floats
) -> Floats:
    """Return the score d (C,) of each comparison: chance-corrected agreement, or rank difference.

    The difference is own less other rank, clipped to -2..2.
    """
    own, other = ratings.code[comparisons.own], ratings.code[comparisons.other]
    if score == AGREEMENT:
        return np.asarray(agreement_matrix[own, other], float)
    return np.clip(own - other, -_MAX_RANK_DIFFERENCE, _MAX_RANK_DIFFERENCE).astype(float)


def fit_effects(
    score: str, d: Floats, g: Ints, h: Ints, *, n_raters: int, ridge: float
) -> RaterEffects:
    """Fit the rater effects of d_gh = mu + a_g + s a_h by ridge regression.

    d (C,): scores of comparisons; g, h (C,): numbers of rater and peer. The normal equations are
    (diag(n_g.) + s n + ridge I) a = sum over h of (d_gh - mu), n_gh comparisons of g and h. Raises
    ArithmeticError if the solver does not converge.
    """
    s, mu = (1, _mean_or_zero(d)) if score == AGREEMENT else (-1, 0.0)
    ones = np.ones(g.size)
    pair_counts = sparse.coo_array((ones, (g, h)), shape=(n_raters, n_raters)).tocsr()
    diagonal = np.bincount(g, minlength=n_raters) + ridge
    matrix = sparse.diags_array(diagonal, dtype=float) + s * pair_counts
    right_side = np.bincount(g, weights=d - mu, minlength=n_raters)
    preconditioner = LinearOperator(matrix.shape, matvec=lambda vector: vector / diagonal)
    # Conjugate gradients: there are thousands of raters, and few pairs of them share items.
    a, _ = cg(matrix, right_side, rtol=1e-12, maxiter=2_000, M=preconditioner)
    if np.linalg.norm(matrix @ a - right_side) > 1e-6 * np.linalg.norm(right_side):
        raise ArithmeticError("the effects of the raters did not converge")
    return RaterEffects(mu, a, s)


def _mean_or_zero(d: Floats) -> float:
    return float(d.mean()) if d.size else 0.0


class CommonChange:
    """Estimates of the score change that all raters share, in one round of detection.

    comparisons: those with peers; d (C,): their scores; measures_others (C,): True where neither
    rater is excluded because of an own drift; effects: fitted levels of the raters.
    """

    def __init__(
        self,
        ratings: DatedRatings,
        comparisons: Comparisons,
        d: Floats,
        *,
        measures_others: BoolArray,
        effects: RaterEffects,
    ) -> None:
        self.ratings, self.comparisons, self.d, self.effects = ratings, comparisons, d, effects
        is_first = comparisons.own_rater < comparisons.other_rater
        self.others = comparisons.select(measures_others & is_first)
        self.residuals = effects.compute_residuals(
            d[measures_others & is_first], self.others.own_rater, self.others.other_rater
        )

    def measure_common_parts(self, attributes: Sequence[Ints]) -> list[Floats]:
        """Return the common part of each rating's score (M,), one array for each explanation.

        The order is time, items, attributes. attributes: columns (M,) with the values of the items'
        attributes. NaN where no comparison of other raters measures it.
        """
        return [
            self._measure_time(),
            *(
                self._compute_others_mean_by_group(group)
                for group in (self.ratings.item, *attributes)
            ),
        ]

    def _measure_time(self) -> Floats:
        ratings, own, other = self.ratings, self.others.own, self.others.other
        is_dated = ratings.dated[own] & ratings.dated[other]
        day = np.maximum(ratings.day[own], ratings.day[other])[is_dated]
        return self._compute_mean_of_others(ratings.day, day, is_dated, ratings.dated)

    def _compute_others_mean_by_group(self, group: Ints) -> Floats:
        """Return the mean residual (M,) of the other raters on items of each rating's group.

        group (M,): number of the group of each rating's item.
        """
        all_rows = np.ones(self.others.own.size, bool)
        return self._compute_mean_of_others(
            group, group[self.others.own], all_rows, np.ones(group.size, bool)
        )

    def _compute_mean_of_others(
        self, group: Ints, group_of_comparison: Ints, rows: BoolArray, usable: BoolArray
    ) -> Floats:
        """Return the mean residual (M,) of other raters' comparisons in each rating's group.

        group, usable (M,): of the ratings; rows: mask of the comparisons used, and
        group_of_comparison: their groups. NaN where there is none, or the rating is not usable.
        """
        groups, group_index = index_distinct(np.where(usable, group, group[usable].min(initial=0)))
        index = np.searchsorted(groups, group_of_comparison)
        residuals, n_groups = self.residuals[rows], groups.size
        n = np.bincount(index, minlength=n_groups)
        total = np.bincount(index, weights=residuals, minlength=n_groups)
        # Subtract those with the rater on either side, by pairs of rater and group.
        raters = np.concatenate([self.others.own_rater[rows], self.others.other_rater[rows]])
        keys, cell = index_distinct(raters * n_groups + np.concatenate([index, index]))
        own_n = np.append(np.bincount(cell, minlength=keys.size), 0)
        own_total = np.append(np.bincount(cell, weights=np.tile(residuals, 2)), 0.0)
        rating_keys = self.ratings.rater * n_groups + group_index
        position = np.searchsorted(keys, rating_keys)
        is_present = position < keys.size
        is_present[is_present] = keys[position[is_present]] == rating_keys[is_present]
        position = np.where(is_present, position, keys.size)
        n_others = n[group_index] - own_n[position]
        others_total = total[group_index] - own_total[position]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(usable & (n_others > 0), others_total / n_others, np.nan)
