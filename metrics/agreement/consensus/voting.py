"""One label an item by votes: all of one weight, or weighted by what each rater is worth."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.agreement.counts.grouping import Ints, checked, compact
from metrics.agreement.estimate import Floats

from .labels import SAME, TIED


@dataclass(frozen=True)
class Majority:
    """items (N,): the keys; code (N,): the single most frequent (or heaviest) category, TIED where
    there are several; share (N,): its share of the item's ratings (of their weight)."""

    items: Ints
    code: Ints
    share: Floats


def majority(item: npt.ArrayLike, code: npt.ArrayLike, k: int) -> Majority:
    """Ratings in long form (M,) -> the most frequent category of each item."""
    items, codes = checked(item, code, k)
    keys, index = compact(items)
    return _heaviest(keys, _votes(index, codes, np.ones(codes.size), (keys.size, k)))


def weighted_majority(
    item: npt.ArrayLike, rater: npt.ArrayLike, code: npt.ArrayLike, k: int
) -> Majority:
    """Each vote weighs ln((k - 1) a / (1 - a)), the best weight of a rater who is right with
    probability a and errs evenly (Nitzan & Paroush 1982, Int. Economic Review 23, 289-297).

    a = (votes for the category that most of the *other* raters of the item chose, a tie counting by
    its share, + 7) / (such votes + 10). The share is that of the weight, negative weights as 0.
    """
    items, codes = checked(item, code, k)
    keys, index = compact(items)
    raters, who = compact(rater)
    counts = _votes(index, codes, np.ones(codes.size), (keys.size, k))
    others = counts[index]
    others[np.arange(codes.size), codes] -= 1
    most = others.max(axis=1)
    leading = others == most[:, None]
    right = leading[np.arange(codes.size), codes] / leading.sum(axis=1)
    judged = most > 0
    hits = np.bincount(who, right * judged, raters.size)
    seen = np.bincount(who, judged, raters.size)
    accuracy = (hits + 7) / (seen + 10)
    weight = np.log((k - 1) * accuracy / (1 - accuracy))
    return _heaviest(keys, _votes(index, codes, weight[who], (keys.size, k)))


def _votes(index: Ints, code: Ints, weight: Floats, shape: tuple[int, int]) -> Floats:
    n, k = shape
    votes = np.bincount(index * k + code, weight, n * k).reshape(n, k)
    return votes.astype(float)


def _heaviest(keys: Ints, votes: Floats) -> Majority:
    most = votes.max(axis=1, initial=-np.inf)
    leading = votes >= most[:, None] - SAME
    code = np.where(leading.sum(axis=1) == 1, votes.argmax(axis=1), TIED)
    positive = np.maximum(votes, 0.0)
    total = positive.sum(axis=1)
    share = np.maximum(most, 0) / np.where(total > 0, total, 1)
    return Majority(keys, code.astype(np.int64), share)
