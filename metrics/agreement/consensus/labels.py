"""What follows from posteriors T (N, k): labels, sets of labels, and what one more rating would
tell."""

from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement.counts.grouping import Ints
from metrics.agreement.estimate import Floats

TIED = -1  # instead of a category
SAME = 1e-9  # probabilities that differ by less are tied
_CELLS = 1 << 22  # of an array over items, raters and categories that is held at once


def modes(posterior: npt.ArrayLike) -> Ints:
    """The most probable category of each item (N,), TIED where several are."""
    t = np.asarray(posterior, float)
    leading = t >= t.max(axis=1, keepdims=True) - SAME
    return np.where(leading.sum(axis=1) == 1, t.argmax(axis=1), TIED).astype(np.int64)


def medians(posterior: npt.ArrayLike) -> Ints:
    """Of ordered categories: the smallest one with a cumulated probability of 1/2 or more (N,)."""
    cumulated = np.cumsum(np.asarray(posterior, float), axis=1)
    return (cumulated >= 0.5 - SAME).argmax(axis=1).astype(np.int64)


def means(posterior: npt.ArrayLike, values: npt.ArrayLike | None = None) -> Floats:
    """Posterior mean (N,) of the categories' values (k,), of their ranks 1..k when None."""
    t = np.asarray(posterior, float)
    v = np.arange(1.0, t.shape[1] + 1) if values is None else np.asarray(values, float)
    return np.asarray(t @ v, float)


def label_sets(posterior: npt.ArrayLike, level: float = 0.95) -> npt.NDArray[np.bool_]:
    """(N, k): the fewest categories that together have a probability of `level`, the most probable
    first, the earlier declared first where equal."""
    t = np.asarray(posterior, float)
    order = np.argsort(-t, axis=1, kind="stable")
    ranked = np.take_along_axis(t, order, axis=1)
    before = np.cumsum(ranked, axis=1) - ranked
    chosen = np.zeros(t.shape, bool)
    np.put_along_axis(chosen, order, before < level - SAME, axis=1)
    return chosen


def tempered(posterior: npt.ArrayLike, tau: float) -> Floats:
    """T^tau, normalised: less certain for tau < 1."""
    t = np.asarray(posterior, float) ** tau
    return np.asarray(t / t.sum(axis=1, keepdims=True), float)


def information(posterior: npt.ArrayLike, confusion: npt.ArrayLike) -> Floats:
    """What a rating would tell of the truth, in nats (N, R); posterior (N, k), confusion (R, k, k).

    I = sum_jl T_j pi(j, l) ln(pi(j, l) / q_l),   q_l = sum_j T_j pi(j, l)
    """
    t, pi = np.asarray(posterior, float), np.asarray(confusion, float)
    found = np.empty((len(t), len(pi)))
    noise = special.entr(pi).sum(axis=2)
    step = max(1, _CELLS // max(len(t) * t.shape[1], 1))
    for start in range(0, len(pi), step):
        some = slice(start, start + step)
        said = np.einsum("ij,gjl->igl", t, pi[some])
        found[:, some] = special.entr(said).sum(axis=2) - t @ noise[some].T
    return np.maximum(found, 0.0)


def certainty_after(classes: npt.ArrayLike, confusion: npt.ArrayLike, m: int) -> float:
    """Expected probability of the most probable category after m ratings by raters with this
    confusion (k, k), of items of which only the shares of the classes (k,) are known.

    Exact: the sum over all counts of m ratings of the largest joint probability of category and
    counts.
    """
    p, pi = np.asarray(classes, float), np.asarray(confusion, float)
    k = p.size
    counts = []
    for said in combinations_with_replacement(range(k), m):
        counts.append(np.bincount(np.array(said, np.int64), minlength=k))
    n = np.array(counts)
    orders = special.gammaln(m + 1) - special.gammaln(n + 1).sum(axis=1)
    logs = special.xlogy(n[:, None, :], pi[None, :, :]).sum(axis=2) + orders[:, None]
    return float((p * np.exp(logs)).max(axis=1).sum())
