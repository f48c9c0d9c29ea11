"""Comparisons of a model with human raters: agreement, and whether the model may replace one.

Agreement: A_HH the mean over items with two human ratings or more of their agreement, A_MH the mean
over items with one or more of sum_j w_cj n_j / m with the model's category c; corrected by q'Wq and
s'Wq with q the shares of the humans' ratings and s of the model's. The difference's error is the
delta method by items.

The alternative annotator test: for each human h with enough items that another human and the model
rated too, the model wins, ties or loses an item against h by who is closer to the *other* humans.
With the cost epsilon of a human in the model's favour, a one-sided t test of mean(lose - win) <
epsilon; Benjamini & Yekutieli over the humans; the winning rate is the share of humans for whom the
test rejects (Calderon, Reichart & Dror 2025, The alternative annotator test; Benjamini & Yekutieli
2001, Annals of Statistics 29, 1165-1188).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement.coefficients import fleiss
from metrics.agreement.estimate import SINGULAR_TOLERANCE, Floats, t_quantile, to_finite_float
from metrics.agreement.weights import as_weight_matrix

TOO_FEW = "too_few_items"
NEEDS_THREE = "needs_three_raters"
SCORES = ("accuracy", "rmse", "weights")
_TOLERANCE = 1e-12


@dataclass(frozen=True)
class HumanContest:
    """Comparison of the model with one human: items won, tied and lost by the model.

    advantage: (win + tie) / n; p: of the test; rejected: True if the model is not worse than the
    human by the cost epsilon, beyond chance. All three are None, with the reason, for too few
    items.
    """

    win: int
    tie: int
    lose: int
    advantage: float | None
    p: float | None
    rejected: bool | None
    reason: str | None = None

    @property
    def n(self) -> int:
        """The number of items on which the two were compared."""
        return self.win + self.tie + self.lose


@dataclass(frozen=True)
class AlternativeAnnotatorTest:
    """Result of the alternative annotator test.

    humans: the contest with each; winning_rate: share of the tested humans for whom the test
    rejects; advantage: mean over these humans; passed: the winning rate is 0.5 or more. None with a
    reason where fewer than two humans have enough items.
    """

    humans: list[HumanContest]
    winning_rate: float | None
    advantage: float | None
    passed: bool | None
    reason: str | None = None


def count_contests(
    humans: npt.ArrayLike,
    model: npt.ArrayLike,
    *,
    score: str = "accuracy",
    values: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> npt.NDArray[np.int64]:
    """Return wins, ties and losses (R, 3) of the model against each human, by item.

    They add up over sets of items. humans (N, R), model (N,): codes, -1 for missing. score: what is
    compared on an item; "accuracy": share of the other humans with the same answer; "weights": mean
    agreement weight (k, k) with them; "rmse": root mean squared distance from them in values (k,),
    ranks when None. Raises ValueError for other shapes or scores.
    """
    codes, model_codes = np.asarray(humans, np.int64), np.asarray(model, np.int64)
    if codes.ndim != 2 or model_codes.shape != codes.shape[:1]:
        raise ValueError("humans must be (items x raters), the model one code an item")
    if score not in SCORES:
        raise ValueError(f"unknown score {score!r}; one of {', '.join(SCORES)}")
    k = int(max(codes.max(initial=0), model_codes.max(initial=0))) + 1
    gains = _compute_gains(score, k, values, weights)
    k = len(gains)
    indicators = codes[:, :, None] == np.arange(k)
    counts = indicators.sum(axis=1)
    outcomes = np.zeros((codes.shape[1], 3), np.int64)
    for rater in range(codes.shape[1]):
        others = counts - indicators[:, rater]
        is_compared = (codes[:, rater] >= 0) & (model_codes >= 0) & (others.sum(axis=1) > 0)
        credit = others[is_compared] @ gains.T
        rows = np.arange(len(credit))
        lead = credit[rows, model_codes[is_compared]] - credit[rows, codes[is_compared, rater]]
        scale = _TOLERANCE * np.maximum(np.abs(credit).max(axis=1, initial=0.0), 1.0)
        win, lose = int((lead > scale).sum()), int((lead < -scale).sum())
        outcomes[rater] = win, lead.size - win - lose, lose
    return outcomes


def _compute_gains(
    score: str, k: int, values: npt.ArrayLike | None, weights: npt.ArrayLike | None
) -> Floats:
    """Return the gain (k, k) of answering category j where one other human answers l.

    The sum of gains over the other humans orders the categories as the score does, because their
    number is the same for model and human, and a root keeps the order.
    """
    if score == "accuracy":
        return np.eye(k)
    if score == "weights":
        return as_weight_matrix(weights, k)
    v = np.arange(1.0, k + 1) if values is None else np.asarray(values, float)
    squares: Floats = -((v[:, None] - v[None, :]) ** 2)
    return squares


def run_alternative_annotator_test(
    humans: npt.ArrayLike,
    model: npt.ArrayLike,
    epsilon: float = 0.15,
    q: float = 0.05,
    *,
    least: int = 30,
    score: str = "accuracy",
    values: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> AlternativeAnnotatorTest:
    """Return the alternative annotator test from codes of humans (N, R) and of the model (N,).

    -1 is a missing code. score, values and weights are as in count_contests, the other arguments as
    in evaluate_contests. Raises ValueError for other shapes or scores.
    """
    counts = count_contests(humans, model, score=score, values=values, weights=weights)
    return evaluate_contests(counts, epsilon, q, least=least)


def evaluate_contests(
    counts: npt.ArrayLike, epsilon: float = 0.15, q: float = 0.05, *, least: int = 30
) -> AlternativeAnnotatorTest:
    """Return the alternative annotator test from wins, ties and losses (R, 3).

    epsilon: cost of a human in the model's favour, 0.2 for experts, 0.15 trained, 0.1 a crowd; q:
    false discovery rate; least: number of items from which a human is tested.
    """
    outcomes = [
        [int(number) for number in row] for row in np.asarray(counts, np.int64).reshape(-1, 3)
    ]
    enough = [index for index, row in enumerate(outcomes) if sum(row) >= max(least, 1)]
    p_values = {index: _compute_p_value(*outcomes[index], epsilon=epsilon) for index in enough}
    rejected = _find_discoveries(p_values, q)
    results = []
    for index, (win, tie, lose) in enumerate(outcomes):
        if index not in p_values:
            results.append(HumanContest(win, tie, lose, None, None, None, TOO_FEW))
            continue
        advantage = (win + tie) / (win + tie + lose)
        results.append(HumanContest(win, tie, lose, advantage, p_values[index], index in rejected))
    if len(enough) < 2:
        too_few_humans = len(outcomes) < 2 or enough  # more items would not help
        return AlternativeAnnotatorTest(
            results, None, None, None, NEEDS_THREE if too_few_humans else TOO_FEW
        )
    rate = len(rejected) / len(enough)
    advantages = [
        (outcomes[index][0] + outcomes[index][1]) / sum(outcomes[index]) for index in enough
    ]
    return AlternativeAnnotatorTest(results, rate, float(np.mean(advantages)), rate >= 0.5)


def _compute_p_value(win: int, tie: int, lose: int, *, epsilon: float) -> float:
    n = win + tie + lose
    mean = (lose - win) / n
    squares = (win + lose) - n * mean**2
    if squares <= _TOLERANCE * n or n < 2:
        return 0.0 if mean < epsilon else 1.0
    t = (mean - epsilon) / math.sqrt(squares / (n - 1) / n)
    return float(special.stdtr(n - 1, t))


def _find_discoveries(p_values: dict[int, float], q: float) -> set[int]:
    """Return the humans with significant p-values at false discovery rate q.

    By Benjamini and Yekutieli these are the i smallest p-values, with i the largest number for
    which p_(i) <= i q / (m sum of 1/j).
    """
    order = sorted(p_values, key=lambda index: (p_values[index], index))
    m = len(order)
    harmonic = sum(1 / j for j in range(1, m + 1))
    last = 0
    for i, index in enumerate(order, start=1):
        if p_values[index] <= i * q / (m * harmonic):
            last = i
    return set(order[:last])


# --- agreement of a model with humans


@dataclass(frozen=True)
class ModelComparison:
    """Chance-corrected agreement of humans with each other and of a model with humans.

    difference: model less humans, with standard error and interval; n_items: items rated by the
    model and a human. Undefined parts are None, with a reason.
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
        """The reason why the difference is undefined, or None."""
        return self.model_reason or self.human_reason

    def is_not_inferior(self, margin: float = 0.05) -> bool | None:
        """Return whether the difference's lower limit is above -margin; None without a limit."""
        return None if self.low is None else self.low > -margin


def compare_model_with_humans(
    cells: Sequence[tuple[int, Sequence[int]]],
    n_items: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
) -> ModelComparison:
    """Return the agreement of a model with humans, that of humans with each other, and the gap.

    cells (P): (the model's category, counts (k,) of the humans' categories); n_items (P,): number
    of items of each cell; weights (k, k) or None.
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
    """Cells of items with the same ratings.

    model (P,): the model's category; counts (P, k): of the humans; items (P,): numbers of items;
    weights (k, k) or None.
    """

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
        """Return kappa of the model with humans, kappa among humans, and their difference."""
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
        """Return kappa among the humans, None if undefined, and its influence (P,) by item."""
        kappa = fleiss.fleiss_kappa(self.counts, self.items, weights=self.weights, interval=False)
        return to_finite_float(kappa.value), fleiss.influence(self.counts, self.items, self.weights)

    def _estimate_model_kappa(self) -> tuple[float | None, Floats]:
        """Return kappa of the model with humans, and the influence (P,) of each item on it.

        Kappa is None, and the influence 0, where it is undefined.
        """
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
