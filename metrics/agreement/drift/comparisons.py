"""Ratings -> a score for each rating: how far it agrees with the other ratings of its item, and how
much milder or harsher it is, with the peers' own levels taken out.

    agreement   d_gh = (w_jl - e) / (1 - e); w identity, on ordered scales linear; e = p'Wp
    bias        d_gh = rank own - rank other, clipped to -2..2
    x_i = mean over the peers h of (d_gh - s a_h); s = 1 for agreement, -1 for bias

The effects a are a ridge regression of d_gh = mu + a_g + s a_h over all comparisons, so that a
change of peers is no drift.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from metrics.agreement import weights
from metrics.agreement.counts.grouping import Ints, checked, compact
from metrics.agreement.estimate import SINGULAR, Floats

from .settings import AGREEMENT

Bools = npt.NDArray[np.bool_]

# The day of a rating without a time: it is a peer of others, but on no chart (NaT as an integer).
UNDATED = int(np.iinfo(np.int64).min)
_CLIPPED_AT = 2  # ranks


@dataclass(frozen=True)
class Ratings:
    """Ratings of items with two or more, in the order of items and raters; all (M,).

    item, rater: numbers from 0; code: category; day: days since 1970-01-01, or UNDATED; keys: the
    raters' own keys (R,), of all raters; row: place of each in the columns that were given
    """

    item: Ints
    rater: Ints
    code: Ints
    day: Ints
    keys: Ints
    row: Ints

    @property
    def dated(self) -> Bools:
        return self.day != UNDATED

    @classmethod
    def of(  # noqa: PLR0917
        cls,
        item: npt.ArrayLike,
        rater: npt.ArrayLike,
        code: npt.ArrayLike,
        day: npt.ArrayLike,
        k: int,
    ) -> "Ratings":
        """Put in order; ValueError where a rater rated an item twice or columns differ in
        length."""
        item, code = checked(item, code, k)
        rater, day = np.asarray(rater, np.int64), np.asarray(day, np.int64)
        if not rater.shape == day.shape == item.shape:
            raise ValueError("item, rater, code and day must be four columns of equal length")
        _, item = compact(item)
        keys, rater = compact(rater)
        order = np.lexsort((rater, item))
        item, rater, code, day = item[order], rater[order], code[order], day[order]
        twice = (np.diff(item) == 0) & (np.diff(rater) == 0)
        if twice.any():
            who = keys[rater[np.argmax(twice)]]
            raise ValueError(f"rater {who} rated an item twice; one rating of them must stand")
        shared = np.bincount(item)[item] >= 2 if item.size else np.zeros(0, bool)
        _, item = compact(item[shared])
        return cls(item, rater[shared], code[shared], day[shared], keys, order[shared])


@dataclass(frozen=True)
class Comparisons:
    """Ordered pairs of ratings of the same item: own and other are places in the ratings, g and h
    their raters; all (C,)."""

    own: Ints
    other: Ints
    g: Ints
    h: Ints

    @classmethod
    def of(cls, ratings: Ratings) -> "Comparisons":
        places = np.arange(ratings.item.size)
        starts = np.flatnonzero(np.diff(ratings.item, prepend=-1))
        size = np.diff([*starts, places.size])
        mine = np.repeat(size, size)  # ratings of each rating's item
        own = np.repeat(places, mine)
        within = np.arange(own.size) - np.repeat(np.cumsum(mine) - mine, mine)
        other = np.repeat(np.repeat(starts, size), mine) + within
        different = own != other
        own, other = own[different], other[different]
        return cls(own, other, ratings.rater[own], ratings.rater[other])

    def chosen(self, rows: Bools) -> "Comparisons":
        """Some of them; rows (C,)."""
        return Comparisons(self.own[rows], self.other[rows], self.g[rows], self.h[rows])


@dataclass(frozen=True)
class Effects:
    """mu, and a (R,) of every rater: d_gh is mu + a_g + s a_h and what is left."""

    mu: float
    a: Floats
    s: int

    def without_peers(self, d: Floats, h: Ints) -> Floats:
        """What is left of d when the peer's own level is taken out."""
        return d - self.s * self.a[h]

    def residuals(self, d: Floats, g: Ints, h: Ints) -> Floats:
        return d - self.mu - self.a[g] - self.s * self.a[h]


def differences(
    score: str, ratings: Ratings, compared: Comparisons, k: int, *, ordered: bool
) -> Floats:
    """d_gh (C,) of one score."""
    own, other = ratings.code[compared.own], ratings.code[compared.other]
    if score != AGREEMENT:
        return np.clip(own - other, -_CLIPPED_AT, _CLIPPED_AT).astype(float)
    w = weights.linear(k) if ordered else weights.none(k)
    share = np.bincount(ratings.code, minlength=k) / max(ratings.code.size, 1)
    expected = float(share @ w @ share)
    if 1 - expected < SINGULAR:  # one category alone: nobody can agree less
        return np.zeros(own.size)
    return (w[own, other] - expected) / (1 - expected)


def effects(score: str, d: Floats, g: Ints, h: Ints, *, n_raters: int, ridge: float) -> Effects:
    """Least squares of d_gh = mu + a_g + s a_h with a ridge of so many comparisons a rater; all
    (C,):

    (diag(n_g.) + s n + ridge I) a = sum over h of (d_gh - mu), n_gh comparisons of g and h.
    """
    s, mu = (1, _mean(d)) if score == AGREEMENT else (-1, 0.0)
    ones = np.ones(g.size)
    met = sparse.coo_array((ones, (g, h)), shape=(n_raters, n_raters)).tocsr()
    diagonal = np.bincount(g, minlength=n_raters) + ridge
    matrix = sparse.diags_array(diagonal, dtype=float) + s * met
    right = np.bincount(g, weights=d - mu, minlength=n_raters)
    scaled = LinearOperator(matrix.shape, matvec=lambda vector: vector / diagonal)
    # Conjugate gradients: raters are thousands, and few of them met.
    a, _ = cg(matrix, right, rtol=1e-12, maxiter=2_000, M=scaled)
    if np.linalg.norm(matrix @ a - right) > 1e-6 * np.linalg.norm(right):
        raise ArithmeticError("the effects of the raters were not found")
    return Effects(mu, a, s)


def _mean(d: Floats) -> float:
    return float(d.mean()) if d.size else 0.0
