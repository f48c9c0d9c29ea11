"""Labels, credible sets of labels and expected information of ratings, from posteriors T (N, k)."""

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement.counts.grouping import Ints, index_distinct, validate_ratings
from metrics.agreement.estimate import Floats

TIED = -1  # in place of a category
TIE_TOLERANCE = 1e-9  # probabilities that differ by less are tied
_MAX_CELLS = 1 << 22  # cells of an array over items, raters and categories computed at once


def posterior_modes(posterior: npt.ArrayLike) -> Ints:
    """Return the most probable category of each item (N,), TIED where there are several."""
    t = np.asarray(posterior, float)
    leading = t >= t.max(axis=1, keepdims=True) - TIE_TOLERANCE
    return np.where(leading.sum(axis=1) == 1, t.argmax(axis=1), TIED).astype(np.int64)


def posterior_medians(posterior: npt.ArrayLike) -> Ints:
    """Return the median category (N,): the first one with cumulative probability >= 1/2."""
    cumulative = np.cumsum(np.asarray(posterior, float), axis=1)
    return (cumulative >= 0.5 - TIE_TOLERANCE).argmax(axis=1).astype(np.int64)


def select_labels(posterior: npt.ArrayLike, *, ordered: bool) -> tuple[Ints, Floats]:
    """Return the label of each item (N,) and its probability (N,).

    The label is the median category if `ordered`, otherwise the mode, TIED where several are most
    probable; the probability is then that of one of them.
    """
    t = np.asarray(posterior, float)
    labels = posterior_medians(t) if ordered else posterior_modes(t)
    positions = np.where(labels == TIED, t.argmax(axis=1), labels)
    return labels, np.take_along_axis(t, positions[:, None], axis=1)[:, 0]


def posterior_means(posterior: npt.ArrayLike, values: npt.ArrayLike | None = None) -> Floats:
    """Return the posterior mean (N,) of the categories' values (k,), ranks 1..k when None."""
    t = np.asarray(posterior, float)
    v = np.arange(1.0, t.shape[1] + 1) if values is None else np.asarray(values, float)
    return np.asarray(t @ v, float)


def credible_label_sets(posterior: npt.ArrayLike, level: float = 0.95) -> npt.NDArray[np.bool_]:
    """Return masks (N, k) of the fewest categories with a total probability of `level` or more.

    Of equally probable categories the one declared first is taken first.
    """
    t = np.asarray(posterior, float)
    order = np.argsort(-t, axis=1, kind="stable")
    ranked = np.take_along_axis(t, order, axis=1)
    before = np.cumsum(ranked, axis=1) - ranked
    selected = np.zeros(t.shape, bool)
    np.put_along_axis(selected, order, before < level - TIE_TOLERANCE, axis=1)
    return selected


def raise_to_power(posterior: npt.ArrayLike, tau: float) -> Floats:
    """Return the posterior T (N, k) as T^tau, normalised by row; tau < 1 makes it less certain."""
    t = np.asarray(posterior, float) ** tau
    return np.asarray(t / t.sum(axis=1, keepdims=True), float)


def expected_information(posterior: npt.ArrayLike, confusion: npt.ArrayLike) -> Floats:
    """Return the expected information (nats) of a rating by each rater on each item (N, R).

    posterior T (N, k); confusion pi (R, k, k).

        I = sum_jl T_j pi(j, l) ln(pi(j, l) / q_l),   q_l = sum_j T_j pi(j, l)
    """
    t, pi = np.asarray(posterior, float), np.asarray(confusion, float)
    gains = np.empty((len(t), len(pi)))
    rating_entropy = special.entr(pi).sum(axis=2)
    step = max(1, _MAX_CELLS // max(len(t) * t.shape[1], 1))
    for start in range(0, len(pi), step):
        raters = slice(start, start + step)
        predicted = np.einsum("ij,gjl->igl", t, pi[raters])
        gains[:, raters] = special.entr(predicted).sum(axis=2) - t @ rating_entropy[raters].T
    return np.maximum(gains, 0.0)


def expected_confidence(classes: npt.ArrayLike, confusion: npt.ArrayLike, m: int) -> float:
    """Return the expected probability of the most probable category after m ratings of an item.

    All raters have this confusion (k, k); before the ratings only the shares of the classes (k,)
    are known. Exact: the sum over all counts of m ratings of the largest joint probability of
    category and counts.
    """
    p, pi = np.asarray(classes, float), np.asarray(confusion, float)
    k = p.size
    counts = []
    for codes in combinations_with_replacement(range(k), m):
        counts.append(np.bincount(np.array(codes, np.int64), minlength=k))
    n = np.array(counts)
    log_multiplicity = special.gammaln(m + 1) - special.gammaln(n + 1).sum(axis=1)
    logs = special.xlogy(n[:, None, :], pi[None, :, :]).sum(axis=2) + log_multiplicity[:, None]
    return float((p * np.exp(logs)).max(axis=1).sum())


@dataclass(frozen=True)
class MajorityVote:
    """Result of a majority vote on each item.

    items (N,): the keys; code (N,): the category with the most votes (or weight), TIED where there
    are several; share (N,): its share of the item's votes (or weight).
    """

    items: Ints
    code: Ints
    share: Floats


def majority_vote(item: npt.ArrayLike, code: npt.ArrayLike, k: int) -> MajorityVote:
    """Return the most frequent category of each item, from ratings (M,) in long form.

    Its code is TIED where several are most frequent. Raises ValueError for invalid codes.
    """
    items, codes = validate_ratings(item, code, k)
    keys, index = index_distinct(items)
    return _build_majority(keys, _sum_votes(index, codes, np.ones(codes.size), (keys.size, k)))


def weighted_majority_vote(
    item: npt.ArrayLike, rater: npt.ArrayLike, code: npt.ArrayLike, k: int
) -> MajorityVote:
    """Return the category of each item with the most votes, weighted by the raters' accuracy.

    Each vote weighs ln((k - 1) a / (1 - a)), the best weight of a rater who is right with
    probability a and whose errors are spread evenly (Nitzan & Paroush 1982, Int. Economic Review
    23, 289-297). a = (votes that agree with the majority of the *other* raters of the item, a tie
    counting by its share, + 7) / (votes on items with other raters + 10). In the share, negative
    weights count as 0.
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
    """Return the sums of the votes' weights by item and category (N, k); shape: (N, k)."""
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
