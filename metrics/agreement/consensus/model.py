"""Dawid and Skene's model: what each item probably is, and how each rater errs.

    p_j        share of the true category j
    pi_g(j,l)  probability that rater g says l of an item that is truly j
    T_ij       prop. to p_j prod_g pi_g(j, x_ig): probability that item i is truly j

Expectation maximisation from the items' shares of ratings; a round is

    p_j = (sum_i T_ij + a) / (N + k a)
    pi_g(j,l) = (sum over i with x_ig = l of T_ij + b_jl) / (row sum)

and then T. a = `classes`; b has `prior` pseudo-ratings a row, the share `diagonal` of them on the
diagonal and the rest evenly beside it: a rater of whom nothing is known is right 7 times in 10.
That is the maximum a posteriori under Dirichlet priors, and the log posterior rises in every round.
Without pseudo-counts (`dawid_skene_ml`) it is Dawid and Skene's maximum likelihood, where raters of
few items get certainties that their next ratings refute.

Dawid & Skene 1979, Applied Statistics 28, 20-28.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from metrics.agreement.counts.grouping import Ints, checked, compact
from metrics.agreement.estimate import Floats

from .fitted_model import DawidSkene, Start

NO_PAIRS = "no_pairable_items"
_LEAST = 1e-300  # instead of a probability of 0, whose logarithm is none


@dataclass(frozen=True)
class Prior:
    """Pseudo-counts, see above."""

    ratings: float = 10.0
    diagonal: float = 0.7
    classes: float = 1.0

    def confusion(self, k: int) -> Floats:
        """b (k, k)."""
        beside = self.ratings * (1 - self.diagonal) / (k - 1)
        b = np.full((k, k), beside)
        np.fill_diagonal(b, self.ratings * self.diagonal)
        return b


def dawid_skene(  # noqa: PLR0913 - the model's parameters, each of which has a default
    item: npt.ArrayLike,
    rater: npt.ArrayLike,
    code: npt.ArrayLike,
    k: int,
    *,
    prior: float = 10.0,
    diagonal: float = 0.7,
    classes: float = 1.0,
    rounds: int = 500,
    tolerance: float = 1e-6,
    fixed: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    start: Start | npt.ArrayLike | None = None,
) -> DawidSkene:
    """Ratings in long form (M,), at most one an item and rater -> DawidSkene.

    fixed: items (F,) and codes (F,) whose truth is known, from gold or a decision; others' keys are
    passed over. start: posterior (N, k) of the items in ascending order, or the confusion of an
    earlier fit. ValueError for a code outside 0..k-1, and for a prior that is none.
    """
    if k < 2:
        raise ValueError(f"a scale needs at least two categories, not {k}")
    if prior < 0 or classes < 0 or not 0 <= diagonal <= 1:
        raise ValueError("prior and classes must not be negative, diagonal must lie in 0..1")
    items, codes = checked(item, code, k)
    keys, index = compact(items)
    raters, who = compact(rater)
    told = _Fit.of(index, who * k + codes, (keys.size, raters.size, k))
    if raters.size < 2 or not (told.sizes >= 2).any():
        return _undefined(keys, raters, k)
    pseudo = Prior(prior, diagonal, classes)
    known = _known(keys, fixed)
    posterior = told.begin(start, raters, pseudo)
    posterior = _fix(posterior, known)
    return told.run((keys, raters), posterior, pseudo, known=known, limits=(rounds, tolerance))


def dawid_skene_ml(
    item: npt.ArrayLike,
    rater: npt.ArrayLike,
    code: npt.ArrayLike,
    k: int,
    *,
    rounds: int = 500,
    tolerance: float = 1e-6,
) -> DawidSkene:
    """The model without pseudo-counts: plain maximum likelihood, as other programs have it."""
    return dawid_skene(item, rater, code, k, prior=0, classes=0, rounds=rounds, tolerance=tolerance)


def judge(
    item: npt.ArrayLike, rater: npt.ArrayLike, code: npt.ArrayLike, known: Start
) -> tuple[Ints, Floats]:
    """Items (N,) and their T (N, k) from their ratings (M,) and an earlier fit: for items that
    changed since, at the cost of their ratings alone."""
    k = known.classes.size
    items, codes = checked(item, code, k)
    keys, index = compact(items)
    raters, who = compact(rater)
    told = _Fit.of(index, who * k + codes, (keys.size, raters.size, k))
    return keys, told.begin(known, raters, Prior())


_Known = tuple[Ints, Ints]  # rows of the items whose truth is known, and their categories


def _known(keys: Ints, fixed: tuple[npt.ArrayLike, npt.ArrayLike] | None) -> _Known:
    if fixed is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    items, codes = (np.asarray(part, np.int64) for part in fixed)
    rows = np.minimum(np.searchsorted(keys, items), keys.size - 1)
    present = keys[rows] == items
    return rows[present], codes[present]


def _fix(posterior: Floats, known: _Known) -> Floats:
    rows, codes = known
    if rows.size:
        posterior[rows] = 0.0
        posterior[rows, codes] = 1.0
    return posterior


@dataclass(frozen=True)
class _Fit:
    """said (N, R k): a one for each rating, in the column of its rater and category; columns, the
    same by column; sizes (N,): ratings an item."""

    said: sparse.csr_array
    columns: sparse.csr_array
    sizes: Ints
    n_raters: int
    k: int

    @classmethod
    def of(cls, index: Ints, column: Ints, shape: tuple[int, int, int]) -> "_Fit":
        n, n_raters, k = shape
        ones = np.ones(index.size)
        said = sparse.csr_array((ones, (index, column)), shape=(n, n_raters * k))
        return cls(said, said.T.tocsr(), np.bincount(index, minlength=n), n_raters, k)

    def begin(self, start: Start | npt.ArrayLike | None, raters: Ints, prior: Prior) -> Floats:
        if start is None:
            by_category = sparse.kron(np.ones((self.n_raters, 1)), sparse.eye_array(self.k))
            return np.asarray((self.said @ by_category.tocsr()).todense() / self.sizes[:, None])
        if not isinstance(start, Start):
            given = np.array(start, float)
            if given.shape != (self.sizes.size, self.k):
                wanted = f"{self.sizes.size} x {self.k}"
                raise ValueError(f"the posterior to start from must be {wanted}")
            return given
        unknown = prior.confusion(self.k) + 1e-9
        confusion = np.tile(unknown / unknown.sum(axis=1, keepdims=True), (self.n_raters, 1, 1))
        _, here, there = np.intersect1d(raters, start.raters, return_indices=True)
        confusion[here] = start.confusion[there]
        return self.judge(start.classes, confusion)[0]

    def counts(self, posterior: Floats) -> Floats:
        """(R, k, k): expected ratings of each rater by true and said category."""
        by_said = (self.columns @ posterior).reshape(self.n_raters, self.k, self.k)
        return by_said.swapaxes(1, 2)

    def judge(self, classes: Floats, confusion: Floats) -> tuple[Floats, float]:
        """T of given parameters, and the log likelihood of the ratings."""
        said = np.ascontiguousarray(_log(confusion).swapaxes(1, 2)).reshape(-1, self.k)
        logs = self.said @ said
        logs += _log(classes)
        most = logs.max(axis=1, keepdims=True)
        logs -= most
        np.exp(logs, out=logs)
        total = logs.sum(axis=1, keepdims=True)
        logs /= total
        return logs, float(most.sum() + np.log(total).sum())

    def run(
        self,
        keys: tuple[Ints, Ints],
        posterior: Floats,
        prior: Prior,
        *,
        known: _Known,
        limits: tuple[int, float],
    ) -> DawidSkene:
        b = prior.confusion(self.k)
        course: list[float] = []
        moved = math.inf
        classes, confusion, counts = self._parameters(posterior, prior, b)
        while len(course) < limits[0] and moved >= limits[1]:
            fresh, log = self.judge(classes, confusion)
            log += float(_log(fresh[known]).sum())  # of these, the known category alone counts
            fresh = _fix(fresh, known)
            log += prior.classes * float(_log(classes).sum()) + float((b * _log(confusion)).sum())
            course.append(log)
            moved = float(np.abs(np.subtract(fresh, posterior, out=posterior)).max())
            posterior = fresh
            classes, confusion, counts = self._parameters(posterior, prior, b)
        everybody = counts.sum(axis=0) + b
        return DawidSkene(
            *keys,
            posterior=posterior,
            classes=classes,
            confusion=confusion,
            expected=counts.sum(axis=2),
            pooled=_shares(everybody),
            rounds=len(course),
            converged=moved < limits[1],
            log_posterior=course,
        )

    def _parameters(
        self, posterior: Floats, prior: Prior, b: Floats
    ) -> tuple[Floats, Floats, Floats]:
        counts = self.counts(posterior)
        classes = _shares(posterior.sum(axis=0) + prior.classes)
        return classes, _shares(counts + b), counts


def _shares(counts: Floats) -> Floats:
    """Each row divided by its sum; even shares where nothing was counted."""
    total = counts.sum(axis=-1, keepdims=True)
    empty = total <= 0
    return np.where(empty, 1 / counts.shape[-1], counts / np.where(empty, 1.0, total))


def _log(probability: Floats) -> Floats:
    return np.log(np.maximum(probability, _LEAST))


def _undefined(items: Ints, raters: Ints, k: int) -> DawidSkene:
    n, r = items.size, raters.size
    return DawidSkene(
        items,
        raters,
        posterior=np.full((n, k), np.nan),
        classes=np.full(k, np.nan),
        confusion=np.full((r, k, k), np.nan),
        expected=np.full((r, k), np.nan),
        pooled=np.full((k, k), np.nan),
        reason=NO_PAIRS,
    )
