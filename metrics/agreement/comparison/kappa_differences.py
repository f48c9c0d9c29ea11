"""Comparisons of kappas: before and after a guideline change, and a model among human raters.

Before and after: Fleiss' kappas with influence values f, difference d,

    se^2 = se1^2 + se2^2 - 2 sum f1_i f2_i / (n1 n2) over items in both sets

t with Welch's degrees of freedom (Welch 1947, Biometrika 34, 28-35), min(n1, n2) - 1 where items
are in both.

Model among humans: A_HH the mean over items with two human ratings or more of their agreement, A_MH
the mean over items with one or more of sum_j w_cj n_j / m with the model's category c; corrected by
q'Wq and s'Wq with q the shares of the humans' ratings and s of the model's. The difference's error
is the delta method by items.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement.coefficients import fleiss
from metrics.agreement.counts.sums import build_pattern_sums
from metrics.agreement.estimate import (
    SINGULAR_TOLERANCE,
    Floats,
    Value,
    t_quantile,
    to_finite_float,
)
from metrics.agreement.weights import as_weight_matrix

from .alternative_annotator import AlternativeAnnotatorTest, run_alternative_annotator_test

__all__ = [
    "AlternativeAnnotatorTest",
    "KappaChange",
    "ModelComparison",
    "adjust_holm",
    "compare_before_after",
    "compare_model_with_humans",
    "permutation_p_value",
    "run_alternative_annotator_test",
]

CountedPatterns = tuple[npt.ArrayLike, npt.ArrayLike]  # patterns (P, k), numbers of items (P,)
TOO_FEW = "too_few_items"
NO_VARIANCE = "zero_variance"


@dataclass(frozen=True)
class KappaChange:
    """Kappa of two sets of items and their difference; None with a reason where undefined.

    p: two-sided, of no difference. test_reason: why df or p is undefined.
    """

    before: Value
    after: Value
    difference: float | None = None
    se: float | None = None
    low: float | None = None
    high: float | None = None
    df: float | None = None
    p: float | None = None
    reason: str | None = None
    se_reason: str | None = None
    test_reason: str | None = None


def compare_before_after(
    first: CountedPatterns,
    second: CountedPatterns,
    weights: npt.ArrayLike | None = None,
    *,
    shared: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike] | None = None,
) -> KappaChange:
    """Return the change of Fleiss' kappa between two sets of items.

    first, second: patterns (P, k) and numbers of items (P,) of each set. both: the items that are
    in both sets (and counted in both), as their patterns in the first (Q, k) and in the second (Q,
    k), and numbers of items (Q,).
    """
    kappas = [
        fleiss.fleiss_kappa(*pattern_counts, weights=weights) for pattern_counts in (first, second)
    ]
    before, after = (kappa.to_value() for kappa in kappas)
    if before["value"] is None or after["value"] is None:
        reason = before["reason"] or after["reason"]
        return KappaChange(before, after, reason=reason, se_reason=reason, test_reason=reason)
    difference = after["value"] - before["value"]
    if before["se"] is None or after["se"] is None:
        return KappaChange(before, after, difference, se_reason=TOO_FEW, test_reason=TOO_FEW)
    squares = np.array([before["se"], after["se"]]) ** 2
    n = np.array([_count_items(first), _count_items(second)])
    variance = float(squares.sum())
    if shared is None:
        total = variance**2
        df = total / float((squares**2 / (n - 1)).sum()) if total > 0 else math.nan
    else:
        variance = max(variance - 2 * _compute_covariance(first, second, weights, shared), 0.0)
        df = float(n.min() - 1)
    se = math.sqrt(variance)
    if se < SINGULAR_TOLERANCE:
        return KappaChange(
            before, after, difference, 0.0, difference, difference, test_reason=NO_VARIANCE
        )
    margin = float(t_quantile(df)) * se
    p = 2 * float(special.stdtr(df, -abs(difference) / se))
    return KappaChange(
        before, after, difference, se, difference - margin, difference + margin, df, p
    )


def _count_items(pattern_counts: CountedPatterns) -> float:
    return float(build_pattern_sums(*pattern_counts).n)


def _compute_covariance(
    first: CountedPatterns,
    second: CountedPatterns,
    weights: npt.ArrayLike | None,
    shared: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike],
) -> float:
    """Return the covariance of two kappas from the items that both sets share.

    It is sum f1_i f2_i / (n1 n2).
    """
    n_items = np.asarray(shared[2], float)
    influences = []
    for pattern_counts, patterns in ((first, shared[0]), (second, shared[1])):
        set_patterns = np.asarray(pattern_counts[0], np.int64)
        values = fleiss.influence(*pattern_counts, weights)
        influence_of_pattern = {
            tuple(row): value for row, value in zip(set_patterns.tolist(), values, strict=True)
        }
        rows = np.asarray(patterns, np.int64).tolist()
        try:
            influences.append(np.array([influence_of_pattern[tuple(row)] for row in rows]))
        except KeyError as error:
            raise ValueError(f"items in both sets have a pattern that one lacks: {error}") from None
    n = _count_items(first) * _count_items(second)
    return float((n_items * influences[0] * influences[1]).sum()) / n


def permutation_p_value(
    first: CountedPatterns,
    second: CountedPatterns,
    weights: npt.ArrayLike | None = None,
    *,
    replicates: int = 999,
    seed: int = 0,
) -> float | None:
    """Return the p-value of equal kappas, by permuting items between two disjoint sets.

    The statistic is the difference divided by its standard error; None where that is undefined. The
    same seed gives the same p.
    """
    counts = np.concatenate([np.asarray(first[0]), np.asarray(second[0])])
    patterns, where = np.unique(counts, axis=0, return_inverse=True)
    numbers = np.concatenate([np.asarray(first[1]), np.asarray(second[1])]).astype(np.int64)
    is_first = np.arange(len(counts)) < len(np.asarray(first[0]))
    total = np.bincount(where.ravel(), numbers, len(patterns)).astype(np.int64)
    first_items = np.bincount(where.ravel(), numbers * is_first, len(patterns)).astype(np.int64)
    rng = np.random.default_rng(seed)
    permuted_items = rng.multivariate_hypergeometric(total, int(first_items.sum()), size=replicates)
    samples = np.concatenate([first_items[None], permuted_items])
    first_kappa = fleiss.fleiss_kappa(patterns, samples, weights=weights)
    second_kappa = fleiss.fleiss_kappa(patterns, total - samples, weights=weights)
    se = np.hypot(first_kappa.se, second_kappa.se)
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = np.abs(second_kappa.value - first_kappa.value) / np.where(
            se > SINGULAR_TOLERANCE, se, np.nan
        )
    if not np.isfinite(statistic[0]):
        return None
    defined = statistic[1:][np.isfinite(statistic[1:])]
    return float((1 + (defined >= statistic[0] - 1e-12).sum()) / (1 + defined.size))


def adjust_holm(p: Sequence[float]) -> list[float]:
    """Return p-values adjusted for multiple tests by Holm's method, in their order.

    Source: Holm 1979, Scandinavian J. of Statistics 6, 65-70.
    """
    order = np.argsort(p, kind="stable")
    adjusted = [0.0] * len(p)
    largest = 0.0
    for rank, index in enumerate(order.tolist()):
        largest = max(largest, min(1.0, (len(p) - rank) * p[index]))
        adjusted[index] = largest
    return adjusted


@dataclass(frozen=True)
class ModelComparison:
    """Chance-corrected agreement of humans with humans and of a model with humans.

    difference: model less humans; n_items: items with a rating of the model and of a human.
    """

    n_items: int
    human_human: float | None = None
    model_human: float | None = None
    difference: float | None = None
    se: float | None = None
    low: float | None = None
    high: float | None = None
    human_reason: str | None = None
    model_reason: str | None = None
    se_reason: str | None = None

    @property
    def reason(self) -> str | None:
        """The reason why there is no difference, or None."""
        return self.model_reason or self.human_reason

    def is_not_inferior(self, margin: float = 0.05) -> bool | None:
        """Return whether the difference's lower limit is above -margin; None without interval."""
        return None if self.low is None else self.low > -margin


def compare_model_with_humans(
    cells: Sequence[tuple[int, Sequence[int]]],
    n_items: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
) -> ModelComparison:
    """Return the agreement of a model with humans and of humans with each other.

    cells: (the model's category, human counts (k,)); n_items (P,): the number of items of each
    cell; weights (k, k) or None.
    """
    model = np.array([cell[0] for cell in cells], np.int64)
    counts = np.array([cell[1] for cell in cells], float)
    items = np.asarray(n_items, float)
    has_both = np.array([], bool)
    if model.size:
        has_both = (items > 0) & (counts.sum(axis=1) > 0)
    if not has_both.any():
        reason = "no_pairable_items"
        return ModelComparison(0, human_reason=reason, model_reason=reason, se_reason=reason)
    return _ModelCells(model[has_both], counts[has_both], items[has_both], weights).compare()


class _ModelCells:
    """Model's categories (P,), human counts (P, k), numbers of items (P,), weights (k, k)."""

    def __init__(
        self,
        model: npt.NDArray[np.int64],
        counts: Floats,
        items: Floats,
        weights: npt.ArrayLike | None,
    ) -> None:
        self.model, self.counts, self.items = model, counts, items
        self.k = counts.shape[1]
        self.w = as_weight_matrix(weights, self.k)
        self.weights = weights
        self.sizes = counts.sum(axis=1)
        self.n = float(items.sum())
        self.q = items @ counts / float(items @ self.sizes)
        self.s = np.bincount(model, items, self.k) / self.n

    def compare(self) -> ModelComparison:
        """Return the agreement of the model and of the humans, and their difference."""
        n = round(self.n)
        humans, human_influence = self._estimate_human_kappa()
        model, model_influence = self._estimate_model_kappa()
        human_reason = model_reason = None
        if humans is None:
            human_reason = "single_category" if (self.sizes >= 2).any() else "no_pairable_items"
        if model is None:
            model_reason = "single_category"
        if humans is None or model is None:
            return ModelComparison(
                n,
                humans,
                model,
                human_reason=human_reason,
                model_reason=model_reason,
                se_reason=model_reason or human_reason,
            )
        difference, influence = model - humans, model_influence - human_influence
        if n < 2:
            return ModelComparison(n, humans, model, difference, se_reason=TOO_FEW)
        se = math.sqrt(float(self.items @ influence**2) / (n * (n - 1)))
        margin = float(t_quantile(n - 1)) * se
        return ModelComparison(
            n, humans, model, difference, se, difference - margin, difference + margin
        )

    def _estimate_human_kappa(self) -> tuple[float | None, Floats]:
        """Return kappa of humans with humans, and the influence of an item of each cell (P,)."""
        kappa = fleiss.fleiss_kappa(self.counts, self.items, weights=self.weights, interval=False)
        return to_finite_float(kappa.value), fleiss.influence(self.counts, self.items, self.weights)

    def _estimate_model_kappa(self) -> tuple[float | None, Floats]:
        """Return kappa of model with humans, and the influence of an item of each cell (P,)."""
        agreement = (self.w[self.model] * self.counts).sum(axis=1) / self.sizes
        observed = float(self.items @ agreement) / self.n
        expected = float(self.s @ self.w @ self.q)
        if abs(1 - expected) < SINGULAR_TOLERANCE:
            return None, np.zeros(self.items.size)
        kappa = (observed - expected) / (1 - expected)
        # dP_e: an item changes the model's shares by one, the humans' by its number of ratings.
        by_model = (self.w @ self.q)[self.model] - expected
        chance_gradient = self.s @ self.w
        per_rating = self.n / float(self.items @ self.sizes)
        by_humans = per_rating * (self.counts @ chance_gradient - self.sizes * expected)
        influence = (agreement - observed) - (1 - kappa) * (by_model + by_humans)
        return kappa, influence / (1 - expected)
