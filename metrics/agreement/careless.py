"""Signs that a rater does not look: always the same answer, and answers faster than reading allows.

Both are signs, not proofs: they say whom to look at. (On the two of them in general: Curran 2016,
Journal of Experimental Social Psychology 66, 4-19.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

LEAST_ITEMS = 30  # compared items below which nothing is said of a rater
ALMOST_ALL = 0.95  # share of one category from which on it is "always"
ALPHA = 0.01  # probability that anybody at all is told who only met items of one kind
FAST = 1 / 3  # of the middle rater's seconds
FEW_RATERS = 5  # of fewer the middle is nobody's


@dataclass(frozen=True)
class OneAnswer:
    """Arrays (R,): each rater's most frequent category, its share of the own answers, its share of
    the others' answers on the same items, and whether that is "always the same answer"."""

    category: np.ndarray
    share: np.ndarray
    peers: np.ndarray
    told: np.ndarray


def one_answer(own: np.ndarray, others: np.ndarray, n_items: np.ndarray) -> OneAnswer:
    """Who gives one answer whatever the item is.

    ``own``, ``others`` (R, k): how often each category is met among the own answers and among the
    others' on the same items, compared pair by pair; ``n_items`` (R,): of how many items. Told is
    who gives one category to ALMOST_ALL of LEAST_ITEMS or more, where the others do not: had the
    rater chosen it as often as the others do on these items, so many would be met with a
    probability of at most ALPHA / R (binomial, Bonferroni over the raters). Whoever
    rated nothing but harmless items and says so is not told.
    """
    total = own.sum(axis=1)
    category = own.argmax(axis=1)
    at = np.arange(len(own)), category
    share, peers = (side[at] / np.maximum(side.sum(axis=1), 1) for side in (own, others))
    met = np.floor(share * n_items + 0.5)
    chance = stats.binom.sf(met - 1, n_items, peers)
    enough = (n_items >= LEAST_ITEMS) & (total > 0)
    told = enough & (share >= ALMOST_ALL) & (chance <= ALPHA / max(len(own), 1))
    return OneAnswer(category, share, peers, told)


def too_fast(seconds: np.ndarray, n_items: np.ndarray) -> np.ndarray:
    """Who takes less than FAST of the middle rater's seconds an item: bool (R,).

    ``seconds`` (R,): medians, NaN where nothing was timed. The middle is the median of those with
    LEAST_ITEMS; of fewer than FEW_RATERS of them nobody is told.
    """
    known = np.isfinite(seconds) & (n_items >= LEAST_ITEMS)
    if np.count_nonzero(known) < FEW_RATERS:
        return np.zeros(len(seconds), bool)
    middle = np.median(seconds[known])
    return known & (np.where(known, seconds, np.inf) < FAST * middle)
