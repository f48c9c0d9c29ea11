"""May a model replace a human rater? The alternative annotator test.

For each human h with enough items that another human and the model rated too: the model wins, ties
or loses an item against h by who is closer to the *other* humans. With the cost epsilon of a human
in the model's favour, a one-sided t test of mean(lose - win) < epsilon; Benjamini & Yekutieli over
the humans; the winning rate is the share of humans against whom that is shown.

Calderon, Reichart & Dror 2025, The alternative annotator test; Benjamini & Yekutieli 2001, Annals
of Statistics 29, 1165-1188.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement.estimate import Floats
from metrics.agreement.weights import weighting

TOO_FEW = "too_few_items"
NEEDS_THREE = "needs_three_raters"
SCORES = ("accuracy", "rmse", "weights")
_SAME = 1e-12


@dataclass(frozen=True)
class AgainstOne:
    """The model against one human: items won, tied and lost by the model; advantage (win + tie) / n
    and p of the test, None with fewer items than asked for."""

    win: int
    tie: int
    lose: int
    advantage: float | None
    p: float | None
    rejected: bool | None
    reason: str | None = None

    @property
    def n(self) -> int:
        return self.win + self.tie + self.lose


@dataclass(frozen=True)
class AltTest:
    """Each human in the order of the columns, and what follows of those with items enough."""

    humans: list[AgainstOne]
    winning_rate: float | None
    advantage: float | None
    passed: bool | None
    reason: str | None = None


def contests(
    humans: npt.ArrayLike,
    model: npt.ArrayLike,
    *,
    score: str = "accuracy",
    values: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> npt.NDArray[np.int64]:
    """Codes of humans (N, R) and of the model (N,), -1 for missing -> wins, ties and losses (R, 3)
    of the model. They add up over sets of items.

    score: accuracy, the share of the other humans who say the same; weights, their mean agreement
    weight (k, k); rmse, less the root of the mean squared distance to them, in values (k,), ranks
    when None.
    """
    codes, own = np.asarray(humans, np.int64), np.asarray(model, np.int64)
    if codes.ndim != 2 or own.shape != codes.shape[:1]:
        raise ValueError("humans must be (items x raters), the model one code an item")
    if score not in SCORES:
        raise ValueError(f"unknown score {score!r}; one of {', '.join(SCORES)}")
    k = int(max(codes.max(initial=0), own.max(initial=0))) + 1
    gains = _gains(score, k, values, weights)
    k = len(gains)
    said = codes[:, :, None] == np.arange(k)
    counts = said.sum(axis=1)
    found = np.zeros((codes.shape[1], 3), np.int64)
    for rater in range(codes.shape[1]):
        others = counts - said[:, rater]
        used = (codes[:, rater] >= 0) & (own >= 0) & (others.sum(axis=1) > 0)
        credit = others[used] @ gains.T
        each = np.arange(len(credit))
        lead = credit[each, own[used]] - credit[each, codes[used, rater]]
        scale = _SAME * np.maximum(np.abs(credit).max(axis=1, initial=0.0), 1.0)
        win, lose = int((lead > scale).sum()), int((lead < -scale).sum())
        found[rater] = win, lead.size - win - lose, lose
    return found


def _gains(
    score: str, k: int, values: npt.ArrayLike | None, weights: npt.ArrayLike | None
) -> Floats:
    """What saying j (row) is worth against one other human who says l (column). Its sum over the
    others orders the categories as the score does: their number is the same for model and human,
    and the root keeps the order."""
    if score == "accuracy":
        return np.eye(k)
    if score == "weights":
        return weighting(weights, k)
    v = np.arange(1.0, k + 1) if values is None else np.asarray(values, float)
    squares: Floats = -((v[:, None] - v[None, :]) ** 2)
    return squares


def alt_test(
    humans: npt.ArrayLike,
    model: npt.ArrayLike,
    epsilon: float = 0.15,
    q: float = 0.05,
    *,
    least: int = 30,
    score: str = "accuracy",
    values: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> AltTest:
    """Codes of humans (N, R) and of the model (N,), -1 for missing; see `contests` and `judged`."""
    counts = contests(humans, model, score=score, values=values, weights=weights)
    return judged(counts, epsilon, q, least=least)


def judged(
    counts: npt.ArrayLike, epsilon: float = 0.15, q: float = 0.05, *, least: int = 30
) -> AltTest:
    """Wins, ties and losses (R, 3) -> AltTest. epsilon: 0.2 where humans are experts, 0.15 trained,
    0.1 a crowd. least: items from which a human counts."""
    each = [[int(number) for number in row] for row in np.asarray(counts, np.int64).reshape(-1, 3)]
    enough = [place for place, row in enumerate(each) if sum(row) >= max(least, 1)]
    tests = {place: _p(*each[place], epsilon=epsilon) for place in enough}
    rejected = _discoveries(tests, q)
    found = []
    for place, (win, tie, lose) in enumerate(each):
        if place not in tests:
            found.append(AgainstOne(win, tie, lose, None, None, None, TOO_FEW))
            continue
        advantage = (win + tie) / (win + tie + lose)
        found.append(AgainstOne(win, tie, lose, advantage, tests[place], place in rejected))
    if len(enough) < 2:
        alone = len(each) < 2 or enough  # then more items would not help
        return AltTest(found, None, None, None, NEEDS_THREE if alone else TOO_FEW)
    rate = len(rejected) / len(enough)
    advantages = [(each[place][0] + each[place][1]) / sum(each[place]) for place in enough]
    return AltTest(found, rate, float(np.mean(advantages)), rate >= 0.5)


def _p(win: int, tie: int, lose: int, *, epsilon: float) -> float:
    n = win + tie + lose
    mean = (lose - win) / n
    squares = (win + lose) - n * mean**2
    if squares <= _SAME * n or n < 2:
        return 0.0 if mean < epsilon else 1.0
    t = (mean - epsilon) / math.sqrt(squares / (n - 1) / n)
    return float(special.stdtr(n - 1, t))


def _discoveries(tests: dict[int, float], q: float) -> set[int]:
    """The humans of the i smallest p, i the largest with p_(i) <= i q / (m sum of 1/j)."""
    order = sorted(tests, key=lambda place: (tests[place], place))
    m = len(order)
    harmonic = sum(1 / j for j in range(1, m + 1))
    last = 0
    for i, place in enumerate(order, start=1):
        if tests[place] <= i * q / (m * harmonic):
            last = i
    return set(order[:last])
