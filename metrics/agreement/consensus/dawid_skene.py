"""Dawid and Skene's model: the probable category of each item, and the confusion of each rater.

    p_j        share of the true category j
    pi_g(j,l)  probability that rater g answers l for an item that is truly j
    T_ij       prop. to p_j prod_g pi_g(j, x_ig): probability that item i is truly j

Expectation maximisation from the items' shares of ratings; a round is

    p_j = (sum_i T_ij + a) / (N + k a)
    pi_g(j,l) = (sum over i with x_ig = l of T_ij + b_jl) / (row sum)

and then T. a = `classes`; b has `prior` pseudo-ratings a row, the share `diagonal` of them on the
diagonal and the rest evenly beside it: without data a rater is assumed to be right 7 times in 10.
That is the maximum a posteriori under Dirichlet priors, and the log posterior rises in every round.
Without pseudo-counts it is Dawid and Skene's maximum likelihood, where raters with few items get
confidences that their next ratings refute.

Where the categories are hard to separate, a round changes little long before the maximum is
reached. With pseudo-counts, after ten rounds every third one therefore begins from parameters
extrapolated from the last two (on the logarithms, where they stay positive); those that lower the
log posterior are dropped.

Dawid & Skene 1979, Applied Statistics 28, 20-28; extrapolation: Varadhan & Roland 2008,
Scandinavian J. of Statistics 35, 335-353 (scheme S3).
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from metrics.agreement.counts.grouping import Ints, index_distinct, validate_ratings
from metrics.agreement.estimate import Floats

from .fitted_model import DawidSkene, StartingValues

NO_PAIRABLE_ITEMS = "no_pairable_items"
_PLAIN_ROUNDS = 10  # before the first extrapolation: most fits of clear items end soon after
_MIN_LOG = -600.0  # of an extrapolated probability, so that none becomes 0
_MIN_PROBABILITY = 1e-300  # replaces a probability of 0, which has no logarithm


@dataclass(frozen=True)
class ConfusionPrior:
    """Dirichlet prior of the model, as pseudo-counts.

    ratings: pseudo-ratings in each row of a rater's confusion matrix; diagonal: share of them on
    the diagonal; classes: pseudo-count of each category's share.
    """

    ratings: float = 10.0
    diagonal: float = 0.7
    classes: float = 1.0

    def build_confusion(self, k: int) -> Floats:
        """Return the pseudo-counts b (k, k) of a rater's confusion matrix."""
        off_diagonal = self.ratings * (1 - self.diagonal) / (k - 1)
        b = np.full((k, k), off_diagonal)
        np.fill_diagonal(b, self.ratings * self.diagonal)
        return b


def fit_dawid_skene(  # noqa: PLR0913 - parameters of the model, each with a default
    item: npt.ArrayLike,
    rater: npt.ArrayLike,
    code: npt.ArrayLike,
    k: int,
    *,
    prior: float = 10.0,
    diagonal: float = 0.7,
    classes: float = 1.0,
    rounds: int = 5_000,
    tolerance: float = 1e-8,
    fixed: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    start: StartingValues | npt.ArrayLike | None = None,
) -> DawidSkene:
    """Fit Dawid and Skene's model to ratings in long form (M,), at most one per item and rater.

    prior, diagonal, classes: as in ConfusionPrior; rounds: the most that are run. fixed: items (F,)
    and codes (F,) whose true category is known, from gold or a decision, or None; items without
    ratings are ignored. start: posterior (N, k) of the items in ascending order, or the starting
    values of an earlier fit; the shares of ratings when None. The result is undefined, with a
    reason, where no item has two ratings. Raises ValueError for a code outside 0..k-1, and for an
    invalid prior.
    """
    if k < 2:
        raise ValueError(f"a scale needs at least two categories, not {k}")
    if prior < 0 or classes < 0 or not 0 <= diagonal <= 1:
        raise ValueError("prior and classes must not be negative, diagonal must lie in 0..1")
    items, codes = validate_ratings(item, code, k)
    keys, index = index_distinct(items)
    raters, rater_index = index_distinct(rater)
    data = _RatingIndicators.from_ratings(
        index, rater_index * k + codes, (keys.size, raters.size, k)
    )
    if raters.size < 2 or not (data.sizes >= 2).any():
        return _build_undefined(keys, raters, k)
    confusion_prior = ConfusionPrior(prior, diagonal, classes)
    fixed_items = _find_fixed_items(keys, fixed)
    posterior = data.build_starting_posterior(start, raters, confusion_prior)
    posterior = _set_fixed_items(posterior, fixed_items)
    return data.run_em(
        (keys, raters),
        posterior,
        confusion_prior,
        fixed_items=fixed_items,
        limits=(rounds, tolerance),
    )


def fit_dawid_skene_ml(
    item: npt.ArrayLike,
    rater: npt.ArrayLike,
    code: npt.ArrayLike,
    k: int,
    *,
    rounds: int = 500,
    tolerance: float = 1e-6,
) -> DawidSkene:
    """Fit the model to ratings (M,) by plain maximum likelihood, without pseudo-counts.

    The arguments are as for fit_dawid_skene.
    """
    return fit_dawid_skene(
        item, rater, code, k, prior=0, classes=0, rounds=rounds, tolerance=tolerance
    )


def compute_posterior_from_fit(
    item: npt.ArrayLike, rater: npt.ArrayLike, code: npt.ArrayLike, fit: StartingValues
) -> tuple[Ints, Floats]:
    """Return items (N,) and their posteriors (N, k), with the parameters of an earlier fit.

    item, rater, code (M,): all ratings of the items to compute. The cost grows with these ratings
    alone, so items that changed since that fit are updated without fitting again.
    """
    k = fit.classes.size
    items, codes = validate_ratings(item, code, k)
    keys, index = index_distinct(items)
    raters, rater_index = index_distinct(rater)
    data = _RatingIndicators.from_ratings(
        index, rater_index * k + codes, (keys.size, raters.size, k)
    )
    return keys, data.build_starting_posterior(fit, raters, ConfusionPrior())


_Parameters = tuple[Floats, Floats, Floats]  # classes, confusion and expected counts
_FixedItems = tuple[
    Ints, Ints
]  # rows of the items whose true category is known, and the categories


def _find_fixed_items(keys: Ints, fixed: tuple[npt.ArrayLike, npt.ArrayLike] | None) -> _FixedItems:
    if fixed is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    items, codes = (np.asarray(part, np.int64) for part in fixed)
    rows = np.minimum(np.searchsorted(keys, items), keys.size - 1)
    is_present = keys[rows] == items
    return rows[is_present], codes[is_present]


def _set_fixed_items(posterior: Floats, fixed_items: _FixedItems) -> Floats:
    """Set the posterior of fixed items to 1 for their category, in place, and return it."""
    rows, codes = fixed_items
    if rows.size:
        posterior[rows] = 0.0
        posterior[rows, codes] = 1.0
    return posterior


@dataclass(frozen=True)
class _RatingIndicators:
    """Sparse indicators of the ratings, and the steps of expectation maximisation (EM) on them.

    by_item (N, R k): 1 for each rating, in the column of its rater and category; by_column: its
    transpose; sizes (N,): ratings of each item.
    """

    by_item: sparse.csr_array
    by_column: sparse.csr_array
    sizes: Ints
    n_raters: int
    k: int

    @classmethod
    def from_ratings(
        cls, index: Ints, column: Ints, shape: tuple[int, int, int]
    ) -> "_RatingIndicators":
        """Build the indicators from item indices and columns (M,).

        A column is rater index * k + category; shape: numbers of items, raters and categories.
        """
        n, n_raters, k = shape
        ones = np.ones(index.size)
        by_item = sparse.csr_array((ones, (index, column)), shape=(n, n_raters * k))
        return cls(by_item, by_item.T.tocsr(), np.bincount(index, minlength=n), n_raters, k)

    def build_starting_posterior(
        self, start: StartingValues | npt.ArrayLike | None, raters: Ints, prior: ConfusionPrior
    ) -> Floats:
        """Return the posterior (N, k) to start EM from.

        It is `start` itself, or the posterior under its parameters; for None each item's shares of
        ratings. Raises ValueError for a posterior of another shape.
        """
        if start is None:
            by_category = sparse.kron(np.ones((self.n_raters, 1)), sparse.eye_array(self.k))
            return np.asarray((self.by_item @ by_category.tocsr()).todense() / self.sizes[:, None])
        if not isinstance(start, StartingValues):
            posterior = np.array(start, float)
            if posterior.shape != (self.sizes.size, self.k):
                shape = f"{self.sizes.size} x {self.k}"
                raise ValueError(f"the posterior to start from must be {shape}")
            return posterior
        default_confusion = prior.build_confusion(self.k) + 1e-9
        confusion = np.tile(
            default_confusion / default_confusion.sum(axis=1, keepdims=True), (self.n_raters, 1, 1)
        )
        _, own_rows, start_rows = np.intersect1d(raters, start.raters, return_indices=True)
        confusion[own_rows] = start.confusion[start_rows]
        return self.compute_posterior(start.classes, confusion)[0]

    def count_by_true_category(self, posterior: Floats) -> Floats:
        """Return the expected ratings of each rater by true and given category (R, k, k)."""
        by_given = (self.by_column @ posterior).reshape(self.n_raters, self.k, self.k)
        return by_given.swapaxes(1, 2)

    def compute_posterior(self, classes: Floats, confusion: Floats) -> tuple[Floats, float]:
        """Return the posteriors (N, k) and the log likelihood of the ratings.

        classes (k,): shares of the true categories; confusion (R, k, k): of the raters.
        """
        log_confusion = np.ascontiguousarray(_safe_log(confusion).swapaxes(1, 2)).reshape(
            -1, self.k
        )
        logs = self.by_item @ log_confusion
        logs += _safe_log(classes)
        largest = logs.max(axis=1, keepdims=True)
        logs -= largest
        np.exp(logs, out=logs)
        total = logs.sum(axis=1, keepdims=True)
        logs /= total
        return logs, float(largest.sum() + np.log(total).sum())

    def run_em(
        self,
        keys: tuple[Ints, Ints],
        posterior: Floats,
        prior: ConfusionPrior,
        *,
        fixed_items: _FixedItems,
        limits: tuple[int, float],
    ) -> DawidSkene:
        """Run EM until no posterior probability changes by the tolerance, and return the fit.

        keys: of items and raters; limits: the largest number of rounds, and the tolerance.
        """
        b = prior.build_confusion(self.k)
        log_posteriors: list[float] = []
        change = math.inf
        parameters = self._estimate_parameters(posterior, prior, b)
        # Without pseudo-counts probabilities may be 0, which has no logarithm to extrapolate.
        extrapolation = _Extrapolation() if b.min() > 0 and prior.classes > 0 else None
        while len(log_posteriors) < limits[0] and change >= limits[1]:
            proposal = None
            if extrapolation and len(log_posteriors) >= _PLAIN_ROUNDS:
                proposal = extrapolation.propose_parameters(parameters)
            log = -math.inf
            if proposal is not None:
                new_posterior, log = self._compute_round(proposal, prior, b, fixed_items)
            is_extrapolated = log >= max(log_posteriors, default=math.inf)
            if not is_extrapolated:
                new_posterior, log = self._compute_round(parameters, prior, b, fixed_items)
            log_posteriors.append(log)
            change = float(np.abs(np.subtract(new_posterior, posterior, out=posterior)).max())
            if is_extrapolated:
                change = math.inf  # two rounds without extrapolation show whether it still moves
            posterior = new_posterior
            parameters = self._estimate_parameters(posterior, prior, b)
        classes, confusion, counts = parameters
        pooled_counts = counts.sum(axis=0) + b
        return DawidSkene(
            *keys,
            posterior=posterior,
            classes=classes,
            confusion=confusion,
            expected_counts=counts.sum(axis=2),
            pooled_confusion=_normalize_rows(pooled_counts),
            rounds=len(log_posteriors),
            converged=change < limits[1],
            log_posterior=log_posteriors,
        )

    def _compute_round(
        self, parameters: "_Parameters", prior: ConfusionPrior, b: Floats, fixed_items: _FixedItems
    ) -> tuple[Floats, float]:
        """Return the posterior (N, k) under these parameters, and the log posterior density.

        b (k, k): prior pseudo-counts of a confusion matrix. Fixed items have their known category.
        """
        classes, confusion, _counts = parameters
        posterior, log = self.compute_posterior(classes, confusion)
        # Of fixed items only their category counts.
        log += float(_safe_log(posterior[fixed_items]).sum())
        log += prior.classes * float(_safe_log(classes).sum())
        log += float((b * _safe_log(confusion)).sum())
        return _set_fixed_items(posterior, fixed_items), log

    def _estimate_parameters(
        self, posterior: Floats, prior: ConfusionPrior, b: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return classes (k,), confusion (R, k, k) and expected counts (R, k, k) of a posterior.

        b (k, k): prior pseudo-counts of a confusion matrix.
        """
        counts = self.count_by_true_category(posterior)
        classes = _normalize_rows(posterior.sum(axis=0) + prior.classes)
        return classes, _normalize_rows(counts + b), counts


class _Extrapolation:
    """Extrapolation of the EM parameters from three successive rounds (SQUAREM)."""

    def __init__(self) -> None:
        self._history: list[Floats] = []

    def propose_parameters(self, parameters: _Parameters) -> _Parameters | None:
        """Return extrapolated parameters at every third call, otherwise None.

        None also where successive rounds show no curvature.
        """
        classes, confusion, counts = parameters
        self._history.append(np.log(np.concatenate([classes, confusion.ravel()])))
        if len(self._history) < 3:
            return None
        first, second, third = self._history
        self._history = []
        step = second - first
        curvature = third - second - step
        size = float(np.linalg.norm(curvature))
        if size == 0:
            return None
        factor = max(float(np.linalg.norm(step)) / size, 1.0)
        logs = first + 2 * factor * step + factor**2 * curvature
        probabilities = np.exp(np.clip(logs, _MIN_LOG, 0.0))
        new_classes = _normalize_rows(probabilities[: classes.size])
        new_confusion = _normalize_rows(probabilities[classes.size :].reshape(confusion.shape))
        return new_classes, new_confusion, counts


def _normalize_rows(counts: Floats) -> Floats:
    """Return each row divided by its sum; equal shares where the sum is 0."""
    total = counts.sum(axis=-1, keepdims=True)
    empty = total <= 0
    return np.where(empty, 1 / counts.shape[-1], counts / np.where(empty, 1.0, total))


def _safe_log(probability: Floats) -> Floats:
    return np.log(np.maximum(probability, _MIN_PROBABILITY))


def _build_undefined(items: Ints, raters: Ints, k: int) -> DawidSkene:
    n_items, n_raters = items.size, raters.size
    return DawidSkene(
        items,
        raters,
        posterior=np.full((n_items, k), np.nan),
        classes=np.full(k, np.nan),
        confusion=np.full((n_raters, k, k), np.nan),
        expected_counts=np.full((n_raters, k), np.nan),
        pooled_confusion=np.full((k, k), np.nan),
        reason=NO_PAIRABLE_ITEMS,
    )
