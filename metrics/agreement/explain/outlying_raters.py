"""Raters who agree less with the others than the others do with each other, on the same items.

On an item with m >= 3 ratings, let a be the mean weight of the rater's pairs with the others, and b
that of the pairs of the others among themselves. If the rater's answer on the item is exchangeable
with those of the others, d = a - b has the mean 0 over the m raters of the item, however hard the
item is, how many ratings it has and which categories are frequent. Its variance and third moment
under exchangeability are those of the m values of d. The sum of d over the rater's items is tested
with them (one-sided; the normal approximation is corrected for skewness by the first term of
Edgeworth's expansion), with Bonferroni's correction for the number of raters.

A pair of ratings j and l has two weights, each tested at half of the error rate:

* w_jl, that of the headline's kappa;
* u_jl = (w_jl - (1 - kappa) (e_j + e_l)) / (1 - e), its influence on kappa (Fleiss, Cohen &
  Everitt 1969, Psychological Bulletin 72, 323-327), where e_j = sum_l p_l w_jl, e = sum_j p_j e_j,
  and p and kappa are those of all ratings of the rater's items. With it, the mean of d is to first
  order the rater's kappa with the others less the kappa of these with each other. Who nearly always
  gives the most frequent answer agrees as often as the others do, but hardly beyond chance.

A rater is below the others if one of the two sums is, and if the second mean is negative: at least
by MIN_KAPPA_DIFFERENCE where only the second sum is below.

Items of one cluster (a document) are not independent: who misreads it is wrong on many of its
items. There, exchangeable are the raters' answers to the cluster as a whole, so that the moments
are those of the raters' sums of d over the cluster, per item.

Of raters of the same items the values of d add up to 0. So never are all of them below the others.

Of three raters, two who copy from each other leave the third below them, who does nothing wrong. So
a rater is listed only if the test also finds the rater without any single other one, as long as
enough items remain.

The 95% interval of the mean of d is normal. Its standard error is that of the mean over the rater's
items, or over the sums of d by cluster.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement.counts.grouping import Ints, index_distinct, rank_rows
from metrics.agreement.estimate import NORMAL_QUANTILE, Floats
from metrics.agreement.weights import as_weight_matrix

MIN_ITEMS = 30  # of a rater, with two or more others
MIN_DISPUTED_ITEMS = 10  # or clusters, on which the approximation is based
ERROR_RATE = 0.01  # probability that any rater of a question is listed by chance
MIN_KAPPA_DIFFERENCE = 0.1  # raters differ, and in thousands of items any difference is significant
MAX_LEFT_OUT = 30  # others who are left out one at a time: those with the most common items
MIN_COMMON_SHARE = 0.2  # of the rater's items: fewer cannot make the rater seem below the others
_LEAST_VARIANCE = 1e-12  # of d, below which all ratings are the same


@dataclass(frozen=True)
class RaterOnSameItems:
    """Test of whether a rater agrees less with the others than they agree with each other.

    difference: the rater's kappa with the others less their kappa with each other, on the same
    items (to first order); low, high: its 95% interval, of this rater alone; n_items: number of
    these items; is_below: the rater agrees less, by more than chance over all raters explains, and
    whichever other rater is left out.
    """

    rater: int
    difference: float
    low: float
    high: float
    n_items: int
    is_below: bool


@dataclass(frozen=True)
class _Ratings:
    """Ratings (M,) of items 0..N-1 by raters 0..R-1, and the weights w (k, k).

    cluster (M,): number of the cluster of each rating's item; None where items are independent.
    """

    item: Ints
    rater: Ints
    code: Ints
    cluster: Ints | None
    w: Floats

    def select(self, is_used: npt.NDArray[np.bool_]) -> _Ratings:
        """Return the ratings selected by a mask (M,)."""
        return replace(
            self,
            item=self.item[is_used],
            rater=self.rater[is_used],
            code=self.code[is_used],
            cluster=None if self.cluster is None else self.cluster[is_used],
        )

    def select_items_of(self, rater: int) -> _Ratings:
        """Return all ratings of the rater's items, with the items numbered anew."""
        is_own = np.zeros(int(self.item.max(initial=-1)) + 1, bool)
        is_own[self.item[self.rater == rater]] = True
        own = self.select(is_own[self.item])
        return replace(own, item=(np.cumsum(is_own) - 1)[own.item])

    def count_by_category(self) -> Floats:
        """Return the number of ratings of each item by category (N, k)."""
        k = len(self.w)
        size = (int(self.item.max(initial=-1)) + 1) * k
        return np.bincount(self.item * k + self.code, minlength=size).reshape(-1, k).astype(float)


@dataclass(frozen=True)
class _Scores:
    """Test scores of each rater (R,), from the differences d (_compute_differences).

    n_items: items; n_disputed: items, or clusters, with a disagreement; total: sum of d; p: of the
    test that the rater is below the others.
    """

    n_items: Ints
    n_disputed: Ints
    total: Floats
    p: Floats

    @classmethod
    def from_sums(cls, sums: Iterable[npt.NDArray[np.float64]]) -> _Scores:
        """Return the scores from five sums (R,): items, disputed items, d, its variance and moment.

        The moment is the third one, which corrects the normal approximation for skew.
        """
        n_items, n_disputed, total, variance, third_moment = sums
        sd = np.sqrt(np.where(n_disputed > 0, variance, 1.0))
        z = total / sd
        density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        p = special.ndtr(z) - third_moment / sd**3 * (z**2 - 1) / 6 * density
        p_below = np.where(z < 0, p, 1.0)
        return cls(n_items.astype(np.int64), n_disputed.astype(np.int64), total, p_below)

    @property
    def is_tested(self) -> npt.NDArray[np.bool_]:
        return (self.n_items >= MIN_ITEMS) & (self.n_disputed >= MIN_DISPUTED_ITEMS)


class _TestResult(NamedTuple):
    """Result of a test of one rater.

    is_below: the rater is below the others; is_possible: there are enough items.
    """

    is_below: bool
    is_possible: bool
    difference: float
    n_items: int


def compare_raters(
    item: npt.ArrayLike,
    rater: npt.ArrayLike,
    code: npt.ArrayLike,
    k: int,
    *,
    weights: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
) -> list[RaterOnSameItems]:
    """Return the tests of all raters with enough items, those with the greatest impact first.

    item, rater, code (M,): ratings with 0 <= code < k; weights (k, k) or None; clusters (M,):
    number of the cluster of each rating's item, None where items are independent.
    """
    if not np.size(item):
        return []
    _, item_index = index_distinct(item)
    raters, rater_index = index_distinct(np.asarray(rater))
    codes = np.asarray(code, np.int64)
    cluster = None if clusters is None else index_distinct(np.asarray(clusters))[1]
    ratings = _Ratings(item_index, rater_index, codes, cluster, as_weight_matrix(weights, k))
    n_ratings = ratings.count_by_category().sum(axis=1)
    ratings = ratings.select(n_ratings[item_index] >= 3)
    tested = np.flatnonzero(_score_raters(ratings, raters.size).is_tested)
    tests = []
    for index in tested.tolist():
        own = ratings.select_items_of(index)
        tests.append(_compare_rater(own, index, ERROR_RATE / tested.size, key=int(raters[index])))
    return sorted(tests, key=lambda test: test.difference * test.n_items)


def _compare_rater(own: _Ratings, rater: int, level: float, *, key: int) -> RaterOnSameItems:
    """Return the complete test of a rater at this error rate, with the interval.

    own: all ratings of the rater's items.
    """
    test = _test_rater(own, rater, level)
    margin = NORMAL_QUANTILE * _compute_standard_error(own, rater, test.difference)
    return RaterOnSameItems(
        rater=key,
        difference=test.difference,
        low=test.difference - margin,
        high=test.difference + margin,
        n_items=test.n_items,
        is_below=test.is_below and _is_confirmed_without_each(own, rater),
    )


def _test_rater(own: _Ratings, rater: int, level: float) -> _TestResult:
    """Test at this error rate whether a rater is below the others on the rater's items.

    own: all ratings of these items.
    """
    scores = _score_raters(replace(own, w=_build_influence_on_kappa(own)), rater + 1, rater)
    n_items = int(scores.n_items[rater])
    difference = float(scores.total[rater]) / max(n_items, 1)
    is_below = difference <= -MIN_KAPPA_DIFFERENCE and bool(scores.p[rater] < level / 2)
    if not is_below and difference < 0:
        is_below = bool(_score_raters(own, rater + 1, rater).p[rater] < level / 2)
    return _TestResult(is_below, bool(scores.is_tested[rater]), difference, n_items)


def _compute_standard_error(own: _Ratings, rater: int, difference: float) -> float:
    """Return the standard error of a rater's mean difference over the items, or the clusters.

    own: all ratings of the rater's items, three or more of each.
    """
    counts = own.count_by_category()
    by_code = _compute_differences(counts, counts.sum(axis=1), _build_influence_on_kappa(own))
    ratings = own.select(own.rater == rater)
    deviations = by_code[ratings.item, ratings.code] - difference
    if ratings.cluster is not None:
        deviations = np.bincount(index_distinct(ratings.cluster)[1], deviations).astype(float)
    n = max(len(deviations), 2)
    variance = float((deviations**2).sum()) * n / (n - 1)
    return float(np.sqrt(variance)) / max(len(ratings.item), 1)


def _build_influence_on_kappa(ratings: _Ratings) -> Floats:
    """Return the influence (k, k) of a pair of ratings on kappa.

    Only items of three ratings or more are used. Where the influence is undefined, the weights are
    returned.
    """
    counts, w = ratings.count_by_category(), ratings.w
    counts = counts[counts.sum(axis=1) >= 3]
    m = counts.sum(axis=1)
    shares = (counts / m[:, None]).sum(axis=0) / max(len(m), 1)
    by_category = w @ shares
    expected = shares @ by_category
    if not len(m) or expected > 1 - _LEAST_VARIANCE:
        return w
    agreeing = ((counts @ w) * counts).sum(axis=1) - counts @ np.diag(w)
    observed = (agreeing / (m * (m - 1))).mean()
    # 1 - kappa; a kappa below 0 counts as 0.
    remaining = min((1 - observed) / (1 - expected), 1.0)
    return np.asarray((w - remaining * (by_category[:, None] + by_category)) / (1 - expected))


def _score_raters(ratings: _Ratings, n_raters: int, only: int | None = None) -> _Scores:
    """Return the scores of the first n_raters raters, over items of three ratings or more.

    only: number of the single rater to score; the others then have sums of 0.
    """
    counts = ratings.count_by_category()
    m = counts.sum(axis=1)
    by_code = _compute_differences(counts, m, ratings.w)
    ratings = ratings.select(m[ratings.item] >= 3)
    if ratings.cluster is None:
        if only is not None:
            ratings = ratings.select(ratings.rater == only)
        group, difference = ratings.rater, by_code[ratings.item, ratings.code]
        n_items = np.ones(group.size, np.int64)
        moments = [
            ((counts * by_code**power).sum(axis=1) / np.maximum(m, 1))[ratings.item]
            for power in (2, 3)
        ]
    else:
        # One row for each rater and cluster: its sum of d, and the moments of the cluster's sums.
        first, row = rank_rows([ratings.rater, ratings.cluster])
        group, cluster = ratings.rater[first], ratings.cluster[first]
        n_items = np.bincount(row).astype(np.int64)
        difference = np.bincount(row, by_code[ratings.item, ratings.code]).astype(float)
        n_ratings = np.maximum(np.bincount(cluster, n_items), 1)
        moments = [
            (np.bincount(cluster, difference**power) / n_ratings)[cluster] * n_items
            for power in (2, 3)
        ]
    is_scored = group < n_raters if only is None else group == only
    group = group[is_scored]
    return _Scores.from_sums(
        np.bincount(group, values[is_scored], n_raters).astype(float)
        for values in (n_items, moments[0] > _LEAST_VARIANCE, difference, *moments)
    )


def _compute_differences(counts: Floats, m: Floats, w: Floats) -> Floats:
    """Return d (N, k) for a rating of each category on items with these counts (N, k).

    d is its mean agreement with the item's other ratings less their mean agreement with each other,
    0 with fewer than three ratings. m (N,): ratings of the item; w (k, k): weights.
    """
    weighted = counts @ w
    own_pairs = weighted - np.diag(w)
    all_pairs = (weighted * counts).sum(axis=1) - counts @ np.diag(w)
    m = np.where(m >= 3, m, np.inf)[:, None]
    agreement_of_others = (all_pairs[:, None] - 2 * own_pairs) / (m - 1) / (m - 2)
    return np.asarray(own_pairs / (m - 1) - agreement_of_others)


def _is_confirmed_without_each(own: _Ratings, rater: int) -> bool:
    """Return whether the rater is also below the others when any single one of them is left out.

    own: all ratings of the rater's items. At most MAX_LEFT_OUT others are left out, those with the
    most common items, at least MIN_COMMON_SHARE of them. Others without whom the rater has too few
    items for the test are skipped.
    """
    n_common = np.bincount(own.rater)
    least = MIN_COMMON_SHARE * n_common[rater]
    n_common[rater] = 0
    for other in np.argsort(-n_common, kind="stable")[:MAX_LEFT_OUT].tolist():
        if n_common[other] < least:
            break
        test = _test_rater(own.select(own.rater != other), rater, ERROR_RATE)
        if test.is_possible and not test.is_below:
            return False
    return True
