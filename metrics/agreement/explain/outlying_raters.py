"""Raters who agree less with the others than the others do with each other, on the same items.

On an item with m >= 3 ratings, let a be the mean weight of the rater's pairs with the others, and b
that of the pairs of the others among themselves. If the rater's answer on the item is exchangeable
with those of the others, d = a - b has the mean 0 over the m raters of the item, however hard the
item is, how many ratings it has and which categories are frequent. Its variance and third moment
under exchangeability are those of the m values of d. The sum of d over the rater's items is tested
with them (one-sided; the normal approximation is corrected for skewness by the first term of
Edgeworth's expansion), with Bonferroni's correction for the number of raters.

Items of one cluster (a document) are not independent: who misreads it is wrong on many of its
items. There, exchangeable are the raters' answers to the cluster as a whole, so that the moments
are those of the raters' sums of d over the cluster, per item.

The values of d of an item add up to 0. So never are all raters of a question below the others.

Of three raters, two who copy from each other leave the third below them, who does nothing wrong. So
a rater is listed only if the test also finds the rater without any single other one, as long as
enough items remain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement.counts.grouping import Ints, index_distinct, rank_rows
from metrics.agreement.estimate import Floats
from metrics.agreement.weights import as_weight_matrix

MIN_ITEMS = 30  # of a rater, with two or more others
MIN_DISPUTED_ITEMS = 10  # or clusters, on which the approximation is based
ERROR_RATE = 0.01  # probability that any rater of a question is listed by chance
MAX_LEFT_OUT = 30  # others who are left out one at a time: those with the most common items


@dataclass(frozen=True)
class OutlyingRater:
    """A rater below the others: mean difference (negative), z score and number of items."""

    rater: int
    difference: float
    z: float
    n_items: int


@dataclass(frozen=True)
class _Ratings:
    """Ratings (M,) of items 0..N-1 by raters 0..R-1, with clusters, and the weights (k, k)."""

    item: Ints
    rater: Ints
    code: Ints
    cluster: Ints
    w: Floats

    def select(self, is_used: npt.NDArray[np.bool_]) -> _Ratings:
        return replace(
            self,
            item=self.item[is_used],
            rater=self.rater[is_used],
            code=self.code[is_used],
            cluster=self.cluster[is_used],
        )


@dataclass(frozen=True)
class _Scores:
    """Sums of d of each rater (R,): items, clusters with a disagreement, total, z score, and p."""

    n_items: Ints
    n_disputed: Ints
    total: Floats
    z: Floats
    p: Floats

    @property
    def is_tested(self) -> npt.NDArray[np.bool_]:
        return (self.n_items >= MIN_ITEMS) & (self.n_disputed >= MIN_DISPUTED_ITEMS)


def find_outlying_raters(
    item: npt.ArrayLike,
    rater: npt.ArrayLike,
    code: npt.ArrayLike,
    k: int,
    *,
    weights: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
) -> list[OutlyingRater]:
    """Return the raters who agree less with the others than those with each other.

    item, rater, code (M,): one entry a rating, 0 <= code < k; weights (k, k) or None; clusters
    (M,): number of the cluster of each rating's item, None where items are independent.
    """
    if not np.size(item):
        return []
    _, item_index = index_distinct(item)
    raters, rater_index = index_distinct(np.asarray(rater))
    codes = np.asarray(code, np.int64)
    cluster = item_index if clusters is None else index_distinct(np.asarray(clusters))[1]
    ratings = _Ratings(item_index, rater_index, codes, cluster, as_weight_matrix(weights, k))
    scores = _score_raters(ratings, raters.size)
    is_tested = scores.is_tested
    is_below = is_tested & (scores.z < 0) & (scores.p * is_tested.sum() < ERROR_RATE)
    below = np.flatnonzero(is_below)
    order = below[np.lexsort((raters[below], scores.total[below]))]
    return [
        OutlyingRater(
            int(raters[position]),
            float(scores.total[position] / scores.n_items[position]),
            float(scores.z[position]),
            int(scores.n_items[position]),
        )
        for position in order.tolist()
        if _is_confirmed_without_each(ratings, position)
    ]


def _score_raters(ratings: _Ratings, n_raters: int) -> _Scores:
    """Return the sums of d over the items with three ratings or more."""
    w, k = ratings.w, len(ratings.w)
    counts = np.zeros((int(ratings.item.max(initial=-1)) + 1, k))
    np.add.at(counts, (ratings.item, ratings.code), 1.0)
    size = counts.sum(axis=1)
    ratings = ratings.select(size[ratings.item] >= 3)
    index, codes, group = ratings.item, ratings.code, ratings.rater
    weighted = counts @ w
    own_pairs = weighted[index, codes] - w[codes, codes]
    all_pairs = ((weighted * counts).sum(axis=1) - counts @ np.diag(w))[index]
    m = size[index]
    difference = own_pairs / (m - 1) - (all_pairs - 2 * own_pairs) / ((m - 1) * (m - 2))
    # One row for each rater and cluster: its sum of d, and the moments of the cluster's sums.
    first, row = rank_rows([group, ratings.cluster])
    group, cluster, n_items = group[first], ratings.cluster[first], np.bincount(row)
    difference = np.bincount(row, difference)
    n_ratings = np.maximum(np.bincount(cluster, n_items), 1)
    moments = [
        (np.bincount(cluster, difference**power) / n_ratings)[cluster] * n_items for power in (2, 3)
    ]
    total, variance, third_moment = (
        np.bincount(group, values, n_raters) for values in (difference, *moments)
    )
    sd = np.sqrt(np.where(variance > 0, variance, 1.0))
    z = total / sd
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    p = special.ndtr(z) - third_moment / sd**3 * (z**2 - 1) / 6 * density
    return _Scores(
        np.bincount(group, n_items, n_raters).astype(np.int64),
        np.bincount(group, moments[0] > 0, n_raters).astype(np.int64),
        np.asarray(total, float),
        np.asarray(z, float),
        np.asarray(p, float),
    )


def _is_confirmed_without_each(ratings: _Ratings, rater: int) -> bool:
    """Return whether the rater is also below the others when each single one of them is left out.

    At most MAX_LEFT_OUT others are left out, those with the most common items. Those without whom
    the rater has too few items for the test are skipped.
    """
    own = ratings.select(np.isin(ratings.item, ratings.item[ratings.rater == rater]))
    n_common = np.bincount(own.rater)
    n_common[rater] = 0
    for other in np.argsort(-n_common, kind="stable")[:MAX_LEFT_OUT].tolist():
        if not n_common[other]:
            break
        scores = _score_raters(own.select(own.rater != other), len(n_common))
        is_below = scores.z[rater] < 0 and scores.p[rater] < ERROR_RATE
        if scores.is_tested[rater] and not is_below:
            return False
    return True
