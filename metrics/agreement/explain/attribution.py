"""How much of a move in Fleiss' kappa between two periods each rater, category and group of items
explains.

Leave-one-out: with kappa_t of all ratings of period t = 0, 1 and kappa_t(-X) of what is left
without X in both,

    move = kappa_1 - kappa_0,      contribution of X = move - (kappa_1(-X) - kappa_0(-X))

Contributions need not add up to the move: what two raters do together shows in both, or in neither.
An item lies in one period. kappa (fleiss.py) needs three sums of a period, n2, S = sum of P_i over
the items with m_i >= 2, and the ratings in each category; and they change only where X is, with A_i
= n_i' W n_i and b_i = (W + W') n_i:

    without one rating of category c    A_i - b_ic + 1             (w_cc = 1)
    without all n_ic of them            A_i - n_ic b_ic + n_ic^2

So all raters together cost one pass over the ratings, whatever their number. Bias between two
raters, a move that kappa may not see, is the mean signed difference of their ratings of the same
items (peers.py).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficients import fleiss
from metrics.agreement.counts.additive import PairTables
from metrics.agreement.counts.grouping import Ints, checked, compact
from metrics.agreement.estimate import Estimate, Floats, chance_corrected, divided
from metrics.agreement.weights import weighting


@dataclass(frozen=True)
class Without:
    """What is left when one thing at a time is taken out of both periods.

    keys (G,): the raters, categories or groups. kappa (G, 2): not-a-number where undefined, reason
    (G, 2) says why (an index into estimate.REASONS). n_ratings (G, 2): the ratings taken out.
    """

    keys: Ints
    kappa: Floats
    reason: npt.NDArray[np.int64]
    n_ratings: Ints

    def contributions(self, move: float) -> Floats:
        """(G,) of a move; not-a-number where the move or what is left is undefined."""
        return np.asarray(move - (self.kappa[:, 1] - self.kappa[:, 0]), float)


@dataclass(frozen=True)
class _Sums:
    """What kappa needs of sets of items: n2 (...), agreement S (...), ratings by category (...,
    k)."""

    pairable: npt.NDArray[np.int64]
    agreement: Floats
    ratings: npt.NDArray[np.int64]

    def less(self, gone: "_Sums") -> "_Sums":
        left = self.pairable - gone.pairable
        return _Sums(
            left,
            np.where(left > 0, self.agreement - gone.agreement, 0.0),
            self.ratings - gone.ratings,
        )

    def kappa(self, w: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
        share = divided(self.ratings, self.ratings.sum(axis=-1)[..., None])
        expected = np.einsum("...j,jl,...l->...", share, w, share)
        return chance_corrected(divided(self.agreement, self.pairable), expected, self.pairable > 0)


@dataclass(frozen=True)
class TwoPeriods:
    """The ratings of two periods in long form, and the items' counts. Made by ``of``."""

    item: Ints  # (M,) index of the rating's item
    rater: Ints  # (M,)
    code: Ints  # (M,)
    period: Ints  # (N,) of each item: 0 or 1
    counts: Ints  # (N, k)
    w: Floats  # (k, k)

    @classmethod
    def of(
        cls,
        item: npt.ArrayLike,
        rater: npt.ArrayLike,
        code: npt.ArrayLike,
        period: npt.ArrayLike,
        *,
        k: int,
        weights: npt.ArrayLike | None = None,
    ) -> "TwoPeriods":
        """Ratings (M,), at most one an item and rater, all of an item with the same period 0 or 1.

        ValueError for a code outside 0..k-1 and for an item in both periods."""
        items, codes = checked(item, code, k)
        periods = np.asarray(period, np.int64)
        distinct, index = compact(items)
        of_item = np.zeros(distinct.size, np.int64)
        of_item[index] = periods
        if (of_item[index] != periods).any() or not np.isin(periods, (0, 1)).all():
            raise ValueError("an item lies in one of the periods 0 and 1")
        counts = np.bincount(index * k + codes, minlength=distinct.size * k).reshape(-1, k)
        return cls(
            index, np.asarray(rater, np.int64), codes, of_item, counts, weighting(weights, k)
        )

    @property
    def k(self) -> int:
        return self.counts.shape[1]

    def kappa(self) -> Estimate:
        """Fleiss' kappa of the two periods (2,), with intervals."""
        counts, where = np.unique(self.counts, axis=0, return_inverse=True)
        n_items = np.zeros((2, len(counts)), np.int64)
        np.add.at(n_items, (self.period, where.ravel()), 1)
        return fleiss.fleiss_kappa(counts, n_items, weights=self.w)

    def without_raters(self) -> Without:
        """Each rater's ratings taken out."""
        keys, index = compact(self.rater)
        size, squares, pull = self._items()
        m = size[self.item]
        left = squares[self.item] - pull[self.item, self.code] + 1
        lost = _agreement(squares, size)[self.item] - _agreement(left, m - 1)
        cell = 2 * index + self.period[self.item]
        gone = self._summed(
            cell,
            keys.size,
            pairable=m == 2,
            agreement=lost,
            ratings=self.code[:, None] == np.arange(self.k),
        )
        return self._left(keys, gone)

    def without_categories(self) -> Without:
        """Each category's ratings taken out; keys are 0..k-1."""
        size, squares, pull = self._items()
        everything = _agreement(squares, size)
        parts = []
        for c in range(self.k):
            n = self.counts[:, c]
            rest = size - n
            lost = everything - _agreement(squares - n * pull[:, c] + n.astype(float) ** 2, rest)
            only = self.counts * (np.arange(self.k) == c)
            gone = (size >= 2) & (rest < 2)
            parts.append(self._summed(self.period, 1, pairable=gone, agreement=lost, ratings=only))
        names = ("pairable", "agreement", "ratings")
        every = _Sums(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
        return self._left(np.arange(self.k), every)

    def without_groups(self, group: npt.ArrayLike) -> Without:
        """Each group of items taken out. group (M,): the group of each rating's item."""
        keys, index = compact(group)
        of_item = np.zeros(len(self.counts), np.int64)
        of_item[self.item] = index
        cell = 2 * of_item + self.period
        return self._left(keys, self._whole(cell, keys.size))

    def _items(self) -> tuple[Ints, Floats, Floats]:
        """m (N,), A = n'Wn (N,), b = (W + W')n (N, k)."""
        pull = self.counts @ (self.w + self.w.T)
        return self.counts.sum(axis=1), (pull * self.counts).sum(axis=1) / 2, pull

    def _summed(
        self,
        cell: Ints,
        n_groups: int,
        *,
        pairable: npt.NDArray[np.bool_],
        agreement: Floats,
        ratings: npt.ArrayLike,
    ) -> _Sums:
        """Sums (n_groups, 2) of rows of which each belongs to the cell 2 * group + period."""
        cells = 2 * n_groups
        by_category = np.asarray(ratings)
        columns = [np.bincount(cell, by_category[:, c], cells) for c in range(self.k)]
        return _Sums(
            np.bincount(cell, pairable, cells).astype(np.int64).reshape(n_groups, 2),
            np.asarray(np.bincount(cell, agreement, cells), float).reshape(n_groups, 2),
            np.stack(columns, axis=-1).astype(np.int64).reshape(n_groups, 2, self.k),
        )

    def _whole(self, cell: Ints, n_groups: int) -> _Sums:
        """Sums (n_groups, 2) of whole items (N,), each in its cell."""
        size, squares, _ = self._items()
        agreement = _agreement(squares, size)
        return self._summed(
            cell, n_groups, pairable=size >= 2, agreement=agreement, ratings=self.counts
        )

    def _left(self, keys: Ints, gone: _Sums) -> Without:
        kappa, reason = self._whole(self.period, 1).less(gone).kappa(self.w)
        return Without(keys, kappa, reason, gone.ratings.sum(axis=-1))


def _agreement(squares: Floats, size: Ints) -> Floats:
    """P_i = (A_i - m_i) / (m_i (m_i - 1)); 0 for an item with fewer than two ratings."""
    pairs = size * (size - 1)
    return np.where(size >= 2, (squares - size) / np.maximum(pairs, 1), 0.0)


@dataclass(frozen=True)
class Shifts:
    """The mean signed difference of two raters, a less b, in each of two periods. All (P,) or (P,
    2)."""

    rater_a: Ints
    rater_b: Ints
    bias: Floats  # (P, 2)
    se: Floats  # (P, 2)
    n_items: Ints  # (P, 2)

    @property
    def z(self) -> Floats:
        """The change in units of its standard error; 0 where neither period shows any spread."""
        room = np.sqrt((self.se**2).sum(axis=1))
        change = self.bias[:, 1] - self.bias[:, 0]
        return np.where(room > 0, divided(change, room), 0.0)


def shifts(
    before: PairTables, after: PairTables, *, values: npt.ArrayLike | None = None, least: int = 10
) -> Shifts:
    """Of the pairs that share ``least`` items or more in both periods; values (k,), ranks when
    None."""
    places = {
        key: index
        for index, key in enumerate(
            zip(before.rater_a.tolist(), before.rater_b.tolist(), strict=True)
        )
    }
    keys = zip(after.rater_a.tolist(), after.rater_b.tolist(), strict=True)
    both = [(places[key], index) for index, key in enumerate(keys) if key in places]
    one, other = np.array(both, np.int64).reshape(-1, 2).T
    # (P, 2, k, k)
    tables = np.stack([before.tables[one], after.tables[other]], axis=1).astype(float)
    k = tables.shape[-1]
    v = np.arange(1.0, k + 1) if values is None else np.asarray(values, float)
    difference = v[:, None] - v[None, :]
    n = tables.sum(axis=(-2, -1))
    bias = divided((tables * difference).sum(axis=(-2, -1)), n)
    spread = (tables * (difference - bias[..., None, None]) ** 2).sum(axis=(-2, -1))
    se = np.sqrt(divided(spread, n * (n - 1)))
    enough = (n >= max(least, 2)).all(axis=1)
    return Shifts(
        rater_a=before.rater_a[one][enough],
        rater_b=before.rater_b[one][enough],
        bias=bias[enough],
        se=se[enough],
        n_items=n[enough].astype(np.int64),
    )
