"""One label an item by majority vote, with equal weights or weighted by the skill of each rater."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.agreement.counts.grouping import Ints, index_distinct, validate_ratings
from metrics.agreement.estimate import Floats

from .labels import TIE_TOLERANCE, TIED


@dataclass(frozen=True)
class MajorityVote:
    """Result of a majority vote: label, share of votes and ties of each item.

    items (N,): the keys; code (N,): the category with the most votes (or weight), TIED where there
    are several; share (N,): its share of the item's ratings (of their weight).
    """

    items: Ints
    code: Ints
    share: Floats


def majority_vote(item: npt.ArrayLike, code: npt.ArrayLike, k: int) -> MajorityVote:
    """Return the most frequent category of each item from ratings in long form (M,)."""
    items, codes = validate_ratings(item, code, k)
    keys, index = index_distinct(items)
    return _build_majority(keys, _sum_votes(index, codes, np.ones(codes.size), (keys.size, k)))


def weighted_majority_vote(
    item: npt.ArrayLike, rater: npt.ArrayLike, code: npt.ArrayLike, k: int
) -> MajorityVote:
    """Return the category of each item with the most votes, weighted by the raters' skill.

    Each vote weighs ln((k - 1) a / (1 - a)), the best weight of a rater who is right with
    probability a and errs evenly (Nitzan & Paroush 1982, Int. Economic Review 23, 289-297). a =
    (votes for the category that most of the *other* raters of the item gave, a tie counting by its
    share, + 7) / (such votes + 10). The share is that of the weight, negative weights as 0.
    """
    items, codes = validate_ratings(item, code, k)
    keys, index = index_distinct(items)
    raters, rater_index = index_distinct(rater)
    counts = _sum_votes(index, codes, np.ones(codes.size), (keys.size, k))
    others = counts[index]
    others[np.arange(codes.size), codes] -= 1
    largest = others.max(axis=1)
    leading = others == largest[:, None]
    right = leading[np.arange(codes.size), codes] / leading.sum(axis=1)
    has_others = largest > 0
    hits = np.bincount(rater_index, right * has_others, raters.size)
    n_judged = np.bincount(rater_index, has_others, raters.size)
    accuracy = (hits + 7) / (n_judged + 10)
    weight = np.log((k - 1) * accuracy / (1 - accuracy))
    return _build_majority(keys, _sum_votes(index, codes, weight[rater_index], (keys.size, k)))


def _sum_votes(index: Ints, code: Ints, weight: Floats, shape: tuple[int, int]) -> Floats:
    """Return the sum of weights (N, k) of each item and category."""
    n, k = shape
    votes = np.bincount(index * k + code, weight, n * k).reshape(n, k)
    return votes.astype(float)


def _build_majority(keys: Ints, votes: Floats) -> MajorityVote:
    largest = votes.max(axis=1, initial=-np.inf)
    leading = votes >= largest[:, None] - TIE_TOLERANCE
    code = np.where(leading.sum(axis=1) == 1, votes.argmax(axis=1), TIED)
    positive = np.maximum(votes, 0.0)
    total = positive.sum(axis=1)
    share = np.maximum(largest, 0) / np.where(total > 0, total, 1)
    return MajorityVote(keys, code.astype(np.int64), share)
