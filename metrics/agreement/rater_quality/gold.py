"""Ratings against gold answers: scores, the onboarding exam, the pause, and gold that looks wrong.

    accuracy   x / n with Wilson's interval;  kappa: Cohen's kappa of own x gold, chance beside it
    exam       Wald's sequential test of p <= p_fail against p >= p_pass
    evidence   E = B(c+1, f+1) I_p0(c+1, f+1) / (p0 p0^c (1-p0)^f): mean likelihood ratio over a
               uniform prior on (0, p0), after c right and f wrong answers. Whoever is right with
               probability p0 or more ever reaches E >= 100 with probability 1/100 at most

Wilson 1927, JASA 22, 209-212; Wald 1945, Annals of Mathematical Statistics 16, 117-186; Ville 1939;
Ramdas, Gruenwald, Vovk & Shafer 2023, Statistical Science 38, 576-601.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement.coefficients import cohen, two_raters
from metrics.agreement.estimate import Floats, Value, divided, wilson

NO_GOLD = "no_gold_ratings"
PAUSE_AT = 100.0  # the evidence at which a pause is proposed
WORDED_FROM = 5  # answers; below that only the interval says something


@dataclass(frozen=True)
class Score:
    """What a rater's answers on gold items say; None where undefined, `reason` says why.

    kappa: Cohen's kappa of own x gold. bias: mean of own less gold in values or ranks, for ordered
    scales.
    """

    n: int
    right: int
    accuracy: float | None
    low: float | None
    high: float | None
    chance: float | None
    kappa: Value
    bias: Value

    @property
    def reason(self) -> str | None:
        """Why there is no kappa; with no answers at all there is nothing else either."""
        return self.kappa["reason"]

    @property
    def worded(self) -> bool:
        """Whether there are answers enough to say more than the interval."""
        return self.n >= WORDED_FROM


def score(
    table: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    values: npt.ArrayLike | None = None,
) -> Score:
    """Counts (k, k), own category x gold answer; values (k,) of the categories, ranks when None."""
    counts = np.asarray(table)
    n, right = int(counts.sum()), int(np.trace(counts))
    kappa = cohen.kappa(counts, weights).reading()
    bias = two_raters.mean_difference(counts, values).reading()
    if n == 0:
        nothing: Value = {**kappa, "reason": NO_GOLD}
        return Score(0, 0, None, None, None, None, nothing, nothing)
    low, high = wilson(right, n)
    return Score(n, right, right / n, low, high, kappa["expected"], kappa, bias)


@dataclass(frozen=True)
class Exam:
    """`outcome` passed, failed or undecided, after `at` answers, with the log likelihood ratio
    there."""

    outcome: str
    at: int
    llr: float


def exam(
    answers: Sequence[int | bool],
    *,
    p_fail: float = 0.6,
    p_pass: float = 0.8,
    alpha: float = 0.05,
    beta: float = 0.05,
    most: int = 50,
) -> Exam:
    """Right (1) or wrong (0) answers in their order -> where Wald's test ends.

    alpha: the largest share of passes among raters who are right with p_fail; beta: of failures
    among those with p_pass. Undecided after `most` answers, the sign of the ratio decides.
    """
    if not 0 < p_fail < p_pass < 1:
        raise ValueError(f"0 < p_fail < p_pass < 1, not p_fail {p_fail:g}, p_pass {p_pass:g}")
    right, wrong = math.log(p_pass / p_fail), math.log((1 - p_pass) / (1 - p_fail))
    upper, lower = math.log((1 - beta) / alpha), math.log(beta / (1 - alpha))
    n_right = n_wrong = 0
    llr = 0.0
    for at, answer in enumerate(answers[:most], start=1):
        n_right += bool(answer)
        n_wrong += not answer
        llr = n_right * right + n_wrong * wrong
        if llr >= upper:
            return Exam("passed", at, llr)
        if llr <= lower:
            return Exam("failed", at, llr)
    if n_right + n_wrong < most:
        return Exam("undecided", n_right + n_wrong, llr)
    return Exam("passed" if llr >= 0 else "failed", most, llr)


def exam_passes(
    p: float,
    *,
    p_fail: float = 0.6,
    p_pass: float = 0.8,
    alpha: float = 0.05,
    beta: float = 0.05,
    most: int = 50,
) -> float:
    """The probability that a rater who is right with probability p passes `exam`, exactly: by what
    is left undecided after each answer."""
    if not 0 < p_fail < p_pass < 1:
        raise ValueError(f"0 < p_fail < p_pass < 1, not p_fail {p_fail:g}, p_pass {p_pass:g}")
    right, wrong = math.log(p_pass / p_fail), math.log((1 - p_pass) / (1 - p_fail))
    upper, lower = math.log((1 - beta) / alpha), math.log(beta / (1 - alpha))
    passed = 0.0
    undecided = np.ones(1)  # by the number of right answers
    for at in range(1, most + 1):
        moved = np.zeros(at + 1)
        moved[1:] += undecided * p
        moved[:-1] += undecided * (1 - p)
        n_right = np.arange(at + 1)
        llr = n_right * right + (at - n_right) * wrong
        passed += float(moved[llr >= upper].sum())
        undecided = np.where((llr < upper) & (llr > lower), moved, 0.0)
    return passed + float(undecided[llr >= 0].sum())


def evidence(answers: npt.ArrayLike, p0: float = 0.7) -> Floats:
    """Right (1) or wrong (0) answers (n,) in their order -> E after each (n,)."""
    right = np.asarray(answers, bool)
    return evidence_of(np.cumsum(right), np.cumsum(~right), p0)


def evidence_of(right: npt.ArrayLike, wrong: npt.ArrayLike, p0: float = 0.7) -> Floats:
    """E (...) after so many right and wrong answers (...), against a probability of p0 or more.

    At most the largest float: after thousands of wrong answers E is beyond it.
    """
    if not 0 < p0 < 1:
        raise ValueError(f"p0 must lie between 0 and 1, not {p0:g}")
    c, f = np.asarray(right, float), np.asarray(wrong, float)
    below = special.betainc(c + 1, f + 1, p0)
    with np.errstate(divide="ignore"):
        log = special.betaln(c + 1, f + 1) + np.log(below)
    log = log - (c + 1) * math.log(p0) - f * math.log1p(-p0)
    # I_p0 underflows after many right answers; then E = (1-p0)/(c+1) 2F1(c+f+2, 1; c+2; p0)
    tiny = below < 1e-290
    if tiny.any():
        series = special.hyp2f1(c + f + 2, 1, c + 2, p0)
        log = np.where(tiny, np.log(series) + math.log1p(-p0) - np.log(c + 1), log)
    return np.asarray(np.exp(np.minimum(log, math.log(np.finfo(float).max))), float)


def paused_at(course: npt.ArrayLike, threshold: float = PAUSE_AT) -> int | None:
    """The number of answers after which the evidence first reached the threshold, None for
    never."""
    reached = np.flatnonzero(np.asarray(course, float) >= threshold)
    return int(reached[0]) + 1 if reached.size else None


@dataclass(frozen=True)
class Suspect:
    """Of a gold item: the probability that its gold answer is wrong, how many raters answered, how
    many of them as the gold says, and the answer that the raters make most probable."""

    probability: float
    n_raters: int
    agreeing: int
    better: int

    @property
    def listed(self) -> bool:
        """Whether to show it: rather wrong than right, said by three raters or more."""
        return self.probability >= 0.5 and self.n_raters >= 3


def wrong_gold(
    answers: Mapping[Any, Mapping[Any, int]],
    gold: Mapping[Any, int],
    k: int,
    *,
    rho: float = 0.03,
    right: float = 4,
    wrong: float = 1,
) -> dict[Any, Suspect]:
    """Item -> rater -> code, item -> gold code -> Suspect of each gold item.

    rho: how often gold is wrong at all. A rater's accuracy a_g is (right on all *other* gold items
    + `right`) / (answers on them + `right` + `wrong`), so that the item does not judge itself.
    """
    hits: dict[Any, int] = {}
    totals: dict[Any, int] = {}
    for item, key in gold.items():
        for rater, code in answers.get(item, {}).items():
            hits[rater] = hits.get(rater, 0) + (code == key)
            totals[rater] = totals.get(rater, 0) + 1
    found = {}
    for item, key in gold.items():
        given = answers.get(item, {})
        log = np.full(k, math.log(rho / (k - 1)))
        log[key] = math.log1p(-rho)
        for rater, code in given.items():
            others_right = hits[rater] - (code == key)
            accuracy = (others_right + right) / (totals[rater] - 1 + right + wrong)
            log += math.log((1 - accuracy) / (k - 1))
            log[code] += math.log(accuracy) - math.log((1 - accuracy) / (k - 1))
        probability = special.softmax(log)
        others = np.delete(probability, key)
        agreeing = sum(code == key for code in given.values())
        best = int(np.argmax(np.where(np.arange(k) == key, -1.0, probability)))
        found[item] = Suspect(float(others.sum()), len(given), agreeing, best)
    return found


def leaked(answers: Sequence[int | bool], errors: float = 3.0) -> bool:
    """Whether a gold item seems to have become known: right (1) or wrong (0) answers in the order
    of its exposures; the later two thirds are right more often than the first third by more than
    `errors` standard errors."""
    right = np.asarray(answers, float)
    first = right.size // 3
    if first == 0:
        return False
    early, late = right[:first], right[first:]
    share = right.mean()
    error = math.sqrt(share * (1 - share) * (1 / early.size + 1 / late.size))
    return bool(divided(late.mean() - early.mean(), error) > errors)
