"""Comparisons: before and after a guideline, a model in place of a human, a model among humans.

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
from metrics.agreement.counts.sums import pattern_sums
from metrics.agreement.estimate import SINGULAR, Floats, Value, number, quantile_t
from metrics.agreement.weights import weighting

from .alternative_annotator import AltTest, alt_test

__all__ = [
    "AltTest",
    "AmongHumans",
    "Change",
    "against_humans",
    "alt_test",
    "before_after",
    "holm",
    "permuted",
]

Counted = tuple[npt.ArrayLike, npt.ArrayLike]  # patterns (P, k), numbers of items (P,)
TOO_FEW = "too_few_items"
NO_VARIANCE = "zero_variance"


@dataclass(frozen=True)
class Change:
    """Kappa of both sets and second less first; None with a reason where undefined.

    p: two-sided, of no difference. test_reason: why there is no df or p.
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


def before_after(
    first: Counted,
    second: Counted,
    weights: npt.ArrayLike | None = None,
    *,
    both: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike] | None = None,
) -> Change:
    """Fleiss' kappa of two sets of items. both: items that are in both sets (and counted in both):
    their patterns in the first (Q, k) and in the second (Q, k), and numbers of items (Q,)."""
    kappas = [fleiss.fleiss_kappa(*counted, weights=weights) for counted in (first, second)]
    before, after = (kappa.reading() for kappa in kappas)
    if before["value"] is None or after["value"] is None:
        reason = before["reason"] or after["reason"]
        return Change(before, after, reason=reason, se_reason=reason, test_reason=reason)
    difference = after["value"] - before["value"]
    if before["se"] is None or after["se"] is None:
        return Change(before, after, difference, se_reason=TOO_FEW, test_reason=TOO_FEW)
    squares = np.array([before["se"], after["se"]]) ** 2
    n = np.array([_items(first), _items(second)])
    variance = float(squares.sum())
    if both is None:
        total = variance**2
        df = total / float((squares**2 / (n - 1)).sum()) if total > 0 else math.nan
    else:
        variance = max(variance - 2 * _covariance(first, second, weights, both), 0.0)
        df = float(n.min() - 1)
    se = math.sqrt(variance)
    if se < SINGULAR:
        return Change(
            before, after, difference, 0.0, difference, difference, test_reason=NO_VARIANCE
        )
    margin = float(quantile_t(df)) * se
    p = 2 * float(special.stdtr(df, -abs(difference) / se))
    return Change(before, after, difference, se, difference - margin, difference + margin, df, p)


def _items(counted: Counted) -> float:
    return float(pattern_sums(*counted).n)


def _covariance(
    first: Counted,
    second: Counted,
    weights: npt.ArrayLike | None,
    both: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike],
) -> float:
    """sum f1_i f2_i / (n1 n2) over the items in both sets."""
    n_items = np.asarray(both[2], float)
    found = []
    for counted, patterns in ((first, both[0]), (second, both[1])):
        known = np.asarray(counted[0], np.int64)
        values = fleiss.influence(*counted, weights)
        of_pattern = {tuple(row): value for row, value in zip(known.tolist(), values, strict=True)}
        rows = np.asarray(patterns, np.int64).tolist()
        try:
            found.append(np.array([of_pattern[tuple(row)] for row in rows]))
        except KeyError as error:
            raise ValueError(f"items in both sets have a pattern that one lacks: {error}") from None
    n = _items(first) * _items(second)
    return float((n_items * found[0] * found[1]).sum()) / n


def permuted(
    first: Counted,
    second: Counted,
    weights: npt.ArrayLike | None = None,
    *,
    replicates: int = 999,
    seed: int = 0,
) -> float | None:
    """p of no difference: items (different ones in the sets) dealt anew, the difference divided by
    its standard error; None where that is undefined. The same seed gives the same p."""
    counts = np.concatenate([np.asarray(first[0]), np.asarray(second[0])])
    patterns, where = np.unique(counts, axis=0, return_inverse=True)
    numbers = np.concatenate([np.asarray(first[1]), np.asarray(second[1])]).astype(np.int64)
    belongs = np.arange(len(counts)) < len(np.asarray(first[0]))
    total = np.bincount(where.ravel(), numbers, len(patterns)).astype(np.int64)
    own = np.bincount(where.ravel(), numbers * belongs, len(patterns)).astype(np.int64)
    rng = np.random.default_rng(seed)
    dealt = rng.multivariate_hypergeometric(total, int(own.sum()), size=replicates)
    samples = np.concatenate([own[None], dealt])
    one = fleiss.fleiss_kappa(patterns, samples, weights=weights)
    other = fleiss.fleiss_kappa(patterns, total - samples, weights=weights)
    se = np.hypot(one.se, other.se)
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.abs(other.value - one.value) / np.where(se > SINGULAR, se, np.nan)
    if not np.isfinite(size[0]):
        return None
    defined = size[1:][np.isfinite(size[1:])]
    return float((1 + (defined >= size[0] - 1e-12).sum()) / (1 + defined.size))


def holm(p: Sequence[float]) -> list[float]:
    """p-values adjusted for being several (Holm 1979, Scandinavian J. of Statistics 6, 65-70)."""
    order = np.argsort(p, kind="stable")
    adjusted = [0.0] * len(p)
    largest = 0.0
    for rank, place in enumerate(order.tolist()):
        largest = max(largest, min(1.0, (len(p) - rank) * p[place]))
        adjusted[place] = largest
    return adjusted


@dataclass(frozen=True)
class AmongHumans:
    """Chance-corrected agreement of humans with humans and of the model with humans, and the
    difference model less humans. n_items: with a rating of the model and of a human."""

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
        """Why there is no difference."""
        return self.model_reason or self.human_reason

    def not_inferior(self, margin: float = 0.05) -> bool | None:
        """Whether the lower end lies above -margin; None where there is no interval."""
        return None if self.low is None else self.low > -margin


def against_humans(
    cells: Sequence[tuple[int, Sequence[int]]],
    n_items: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
) -> AmongHumans:
    """cells: (model's category, human counts (k,)) each, n_items (P,) how many items are such."""
    model = np.array([cell[0] for cell in cells], np.int64)
    counts = np.array([cell[1] for cell in cells], float)
    items = np.asarray(n_items, float)
    some = np.array([], bool)
    if model.size:
        some = (items > 0) & (counts.sum(axis=1) > 0)
    if not some.any():
        none = "no_pairable_items"
        return AmongHumans(0, human_reason=none, model_reason=none, se_reason=none)
    return _Cells(model[some], counts[some], items[some], weights).compared()


class _Cells:
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
        self.w = weighting(weights, self.k)
        self.weights = weights
        self.sizes = counts.sum(axis=1)
        self.n = float(items.sum())
        self.q = items @ counts / float(items @ self.sizes)
        self.s = np.bincount(model, items, self.k) / self.n

    def compared(self) -> AmongHumans:
        n = round(self.n)
        humans, f_humans = self._humans()
        model, f_model = self._model()
        human_reason = model_reason = None
        if humans is None:
            human_reason = "single_category" if (self.sizes >= 2).any() else "no_pairable_items"
        if model is None:
            model_reason = "single_category"
        if humans is None or model is None:
            return AmongHumans(
                n,
                humans,
                model,
                human_reason=human_reason,
                model_reason=model_reason,
                se_reason=model_reason or human_reason,
            )
        difference, f = model - humans, f_model - f_humans
        if n < 2:
            return AmongHumans(n, humans, model, difference, se_reason=TOO_FEW)
        se = math.sqrt(float(self.items @ f**2) / (n * (n - 1)))
        margin = float(quantile_t(n - 1)) * se
        return AmongHumans(
            n, humans, model, difference, se, difference - margin, difference + margin
        )

    def _humans(self) -> tuple[float | None, Floats]:
        """kappa of humans with humans, and the influence of an item of each cell on it."""
        kappa = fleiss.fleiss_kappa(self.counts, self.items, weights=self.weights, interval=False)
        return number(kappa.value), fleiss.influence(self.counts, self.items, self.weights)

    def _model(self) -> tuple[float | None, Floats]:
        agreement = (self.w[self.model] * self.counts).sum(axis=1) / self.sizes
        observed = float(self.items @ agreement) / self.n
        expected = float(self.s @ self.w @ self.q)
        if abs(1 - expected) < SINGULAR:
            return None, np.zeros(self.items.size)
        kappa = (observed - expected) / (1 - expected)
        # dP_e: the model's share moves by one item's, the humans' by the item's ratings
        by_model = (self.w @ self.q)[self.model] - expected
        pull = self.s @ self.w
        per_rating = self.n / float(self.items @ self.sizes)
        by_humans = per_rating * (self.counts @ pull - self.sizes * expected)
        move = (agreement - observed) - (1 - kappa) * (by_model + by_humans)
        return kappa, move / (1 - expected)
