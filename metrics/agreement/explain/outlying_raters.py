"""Raters who agree less with the others than the others do with each other, on the same items.

On an item with m >= 3 ratings, let a be the mean weight of the rater's pairs with the others, and b
that of the pairs of the others among themselves. If the rater's answer on the item is exchangeable
with those of the others, d = a - b has the mean 0 over the m raters of the item, however hard the
item is, how many ratings it has and which categories are frequent. Its variance and third moment
under exchangeability are those of the m values of d. The sum of d over the rater's items is tested
with them (one-sided; the normal approximation is corrected for skewness by the first term of
Edgeworth's expansion), with Bonferroni's correction for the number of raters.

The values of d of an item add up to 0. So never are all raters of a question below the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement.counts.grouping import index_distinct
from metrics.agreement.weights import as_weight_matrix

MIN_ITEMS = 30  # of a rater, with two or more others
MIN_DISPUTED_ITEMS = 10  # on which the approximation is based
ERROR_RATE = 0.05  # probability that any rater of a question is listed by chance


@dataclass(frozen=True)
class OutlyingRater:
    """A rater below the others: mean difference (negative), z score and number of items."""

    rater: int
    difference: float
    z: float
    n_items: int


def find_outlying_raters(
    item: npt.ArrayLike,
    rater: npt.ArrayLike,
    code: npt.ArrayLike,
    k: int,
    *,
    weights: npt.ArrayLike | None = None,
) -> list[OutlyingRater]:
    """Return the raters who agree less with the others than those with each other.

    item, rater, code (M,): one entry a rating, 0 <= code < k; weights (k, k) or None.
    """
    if not np.size(item):
        return []
    _, index = index_distinct(item)
    codes, w = np.asarray(code, np.int64), as_weight_matrix(weights, k)
    counts = np.zeros((int(index.max()) + 1, k))
    np.add.at(counts, (index, codes), 1.0)
    has_others = counts.sum(axis=1)[index] >= 3
    index, codes = index[has_others], codes[has_others]
    if not index.size:
        return []
    size = counts.sum(axis=1)
    scores = counts @ w
    own_pairs = scores[index, codes] - w[codes, codes]
    all_pairs = (scores * counts).sum(axis=1) - counts @ np.diag(w)
    m = size[index]
    difference = own_pairs / (m - 1) - (all_pairs[index] - 2 * own_pairs) / ((m - 1) * (m - 2))
    moments = [
        (np.bincount(index, difference**power, len(counts)) / np.maximum(size, 1))[index]
        for power in (2, 3)
    ]
    raters, group = index_distinct(np.asarray(rater)[has_others])
    total, variance, third_moment = (
        np.bincount(group, values, raters.size) for values in (difference, *moments)
    )
    n_items = np.bincount(group, minlength=raters.size)
    n_disputed = np.bincount(group, moments[0] > 0, raters.size)
    tested = (n_items >= MIN_ITEMS) & (n_disputed >= MIN_DISPUTED_ITEMS)
    if not tested.any():
        return []
    sd = np.sqrt(np.where(tested, variance, 1.0))
    z = total / sd
    skewness = third_moment / sd**3
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    p = special.ndtr(z) - skewness * (z**2 - 1) / 6 * density
    is_below = tested & (z < 0) & (p * tested.sum() < ERROR_RATE)
    below = np.flatnonzero(is_below)
    order = below[np.lexsort((raters[below], total[below]))]
    return [
        OutlyingRater(
            int(raters[position]),
            float(total[position] / n_items[position]),
            float(z[position]),
            int(n_items[position]),
        )
        for position in order.tolist()
    ]
