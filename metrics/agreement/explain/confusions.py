"""Confused pairs of categories, and their shares of all comparisons of two ratings that differ.

A comparison is a pair of ratings of one item. Each counts once, so that an item with more ratings
has more weight.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse, special

from metrics.agreement.estimate import Floats

MIN_DISPUTED_ITEMS = 30  # with fewer, the shares are noise
CONFUSED_SHARE = 0.4  # of all comparisons that differ, between one pair of categories
CONFUSED_RATIO = 1.5  # times the share that the frequencies of the categories give


@dataclass(frozen=True)
class ConfusedPair:
    """Two categories that are confused more often than their frequencies explain.

    share: of all comparisons that differ; expected_share: by the frequencies alone; n_comparisons:
    all comparisons that differ.
    """

    a: int
    b: int
    share: float
    expected_share: float
    n_comparisons: int


def list_confusions(counts: npt.ArrayLike, n_items: npt.ArrayLike) -> list[tuple[int, int, float]]:
    """Return (category, other category, share of the comparisons that differ), largest share first.

    counts (P, k): patterns; n_items (P,): numbers of items. Pairs without a differing comparison
    are omitted. Empty for two categories, which have one pair, and below MIN_DISPUTED_ITEMS.
    """
    patterns, items = np.asarray(counts, float), np.asarray(n_items, float)
    if patterns.shape[-1] < 3 or items @ (_count_differing(patterns) > 0) < MIN_DISPUTED_ITEMS:
        return []
    # Most pairs of many categories do not occur.
    used = sparse.csr_array(patterns)
    differing = sparse.triu((used * items[:, None]).T @ used, 1).tocsr().tocoo()
    order = np.argsort(-differing.data, kind="stable")
    total = differing.data.sum()
    pairs = zip(differing.row[order], differing.col[order], differing.data[order], strict=True)
    return [(int(a), int(b), float(number / total)) for a, b, number in pairs if number]


def find_confused_pair(
    counts: npt.ArrayLike, n_items: npt.ArrayLike, significance_level: float
) -> ConfusedPair | None:
    """Return the pair with the largest share relative to its categories' frequencies, or None.

    counts (P, k): patterns; n_items (P,): numbers of items. None unless a pair has at least
    CONFUSED_SHARE of the comparisons that differ and CONFUSED_RATIO times what the frequencies
    give, and its excess over items is significant (Bonferroni over all pairs).
    """
    pairs = list_confusions(counts, n_items)
    if not pairs:
        return None
    patterns, items = np.asarray(counts, float), np.asarray(n_items, float)
    n_differing = _count_differing(patterns)
    frequencies = (items * (patterns.sum(axis=1) - 1)) @ patterns
    products = np.triu(np.outer(frequencies, frequencies), 1)
    expected_shares = products / products.sum()
    critical_z = float(special.ndtri(1 - significance_level / len(pairs)))
    confused = []
    for a, b, share in itertools.takewhile(lambda pair: pair[2] >= CONFUSED_SHARE, pairs):
        expected = float(expected_shares[a, b])
        if share < CONFUSED_RATIO * expected:
            continue
        # Each item's comparisons between the two, less the part that the frequencies give.
        excess = patterns[:, a] * patterns[:, b] - expected * n_differing
        if float(items @ excess) > critical_z * math.sqrt(float(items @ excess**2)):
            confused.append(ConfusedPair(a, b, share, expected, round(float(items @ n_differing))))
    return max(confused, key=lambda pair: pair.share / pair.expected_share, default=None)


def _count_differing(patterns: Floats) -> Floats:
    """Return how many comparisons of two ratings of an item differ (P,), for patterns (P, k)."""
    return np.asarray((patterns.sum(axis=1) ** 2 - (patterns**2).sum(axis=1)) / 2)
