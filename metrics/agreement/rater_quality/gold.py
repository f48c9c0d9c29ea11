"""Statistics of gold answers: scores, exams, evidence for a pause, and suspect gold.

    accuracy   x / n with Wilson's interval;  kappa: Cohen's kappa of own x gold, chance beside it
    exam       Wald's sequential test of p <= p_fail against p >= p_pass
    evidence   E = B(c+1, f+1) I_p0(c+1, f+1) / (p0 p0^c (1-p0)^f): mean likelihood ratio over a
               uniform prior on (0, p0), after c right and f wrong answers. A rater who is right
               with probability p0 or more ever reaches E >= 100 with probability 1/100 at most

Wilson 1927, JASA 22, 209-212; Wald 1945, Annals of Mathematical Statistics 16, 117-186; Ville 1939;
Ramdas, Gruenwald, Vovk & Shafer 2023, Statistical Science 38, 576-601.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement.coefficients import cohen, two_raters
from metrics.agreement.estimate import (
    Floats,
    Value,
    build_proportion,
    wilson_interval,
)

NO_GOLD = "no_gold_ratings"
PAUSE_EVIDENCE = 100.0  # evidence from which a pause is proposed
MAX_ANSWERS = 50  # of an exam
MIN_ANSWERS = 5  # with fewer answers only the interval is meaningful


@dataclass(frozen=True)
class GoldAnswerScore:
    """Score of a rater's answers on gold items; undefined parts are None.

    n, right: answers, and right ones; accuracy with its interval low, high; chance: agreement
    expected by chance; kappa: Cohen's kappa of own answer x gold; bias: mean of own less gold
    answer, in values or ranks, meaningful on ordered scales.
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
        """The reason why kappa is undefined, or None; without answers, why everything is."""
        return self.kappa["reason"]

    @property
    def has_enough_answers(self) -> bool:
        """True if there are at least MIN_ANSWERS answers: enough for more than the interval."""
        return self.n >= MIN_ANSWERS


def compute_score(
    table: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    values: npt.ArrayLike | None = None,
) -> GoldAnswerScore:
    """Return a rater's score on gold items, from counts (k, k) of own category x gold answer.

    weights (k, k) of kappa, or None; values (k,) of the categories, ranks when None. Without
    answers everything is undefined.
    """
    counts = np.asarray(table)
    n, right = int(counts.sum()), int(np.trace(counts))
    kappa = cohen.kappa(counts, weights).to_value()
    bias = two_raters.mean_difference(counts, values).to_value()
    if n == 0:
        undefined: Value = {**kappa, "reason": NO_GOLD}
        return GoldAnswerScore(0, 0, None, None, None, None, undefined, undefined)
    low, high = wilson_interval(right, n)
    return GoldAnswerScore(n, right, right / n, low, high, kappa["expected"], kappa, bias)


def compute_team_accuracy(right: npt.ArrayLike, items: npt.ArrayLike) -> Value:
    """Return the share of right answers of all raters, with Wilson's interval.

    right (M,): whether each answer is right; items (M,): its item. The answers to an item are a
    cluster: the interval is that of M / D answers, with the design effect D of the ratio estimator,
    at least 1; where all answers are right or all wrong, D is the mean size of a cluster, weighted
    by answers.
    """
    answers = np.asarray(right, float)
    _distinct, index = np.unique(np.asarray(items), return_inverse=True)
    n, n_items = answers.size, int(index.max(initial=-1)) + 1
    if n == 0:
        return build_proportion(None, None, n_items=0, n_ratings=0, reason=NO_GOLD)
    share = float(answers.mean())
    sizes = np.bincount(index, minlength=n_items)
    spread = share * (1 - share) * n
    effect = float((sizes**2).sum()) / n
    if spread > 0 and n_items > 1:
        differences = np.bincount(index, answers - share, n_items)
        variance = n_items / (n_items - 1) * float((differences**2).sum())
        effect = max(1.0, variance / spread)
    n_independent = n / effect
    interval = wilson_interval(share * n_independent, n_independent)
    return build_proportion(share, interval, n_items=n_items, n_ratings=n)


@dataclass(frozen=True)
class ExamResult:
    """Result of an exam: passed, failed or undecided.

    n_answers: answers up to the decision, all of them while undecided; llr: log likelihood ratio
    after these answers.
    """

    outcome: str
    n_answers: int
    llr: float


class ExamLimits(TypedDict, total=False):
    """Accuracies and error rates of an exam's test; by default those of `evaluate_exam`."""

    p_fail: float
    p_pass: float
    alpha: float
    beta: float


def evaluate_exam(
    answers: Sequence[int | bool],
    *,
    p_fail: float = 0.6,
    p_pass: float = 0.8,
    alpha: float = 0.05,
    beta: float = 0.05,
    max_answers: int = MAX_ANSWERS,
) -> ExamResult:
    """Return the result of an exam by Wald's sequential test of right (1) and wrong (0) answers.

    alpha: share of passes among raters who are right with probability p_fail; beta: share of
    failures among those with p_pass. After `max_answers` answers the sign of the log likelihood
    ratio decides, which makes both a little larger (exam_pass_probability is exact). Raises
    ValueError unless 0 < p_fail < p_pass < 1.
    """
    if not 0 < p_fail < p_pass < 1:
        raise ValueError(f"0 < p_fail < p_pass < 1, not p_fail {p_fail:g}, p_pass {p_pass:g}")
    right_step, wrong_step = math.log(p_pass / p_fail), math.log((1 - p_pass) / (1 - p_fail))
    upper, lower = math.log((1 - beta) / alpha), math.log(beta / (1 - alpha))
    n_right = n_wrong = 0
    llr = 0.0
    for n_answers, answer in enumerate(answers[:max_answers], start=1):
        n_right += bool(answer)
        n_wrong += not answer
        llr = n_right * right_step + n_wrong * wrong_step
        if llr >= upper:
            return ExamResult("passed", n_answers, llr)
        if llr <= lower:
            return ExamResult("failed", n_answers, llr)
    if n_right + n_wrong < max_answers:
        return ExamResult("undecided", n_right + n_wrong, llr)
    return ExamResult("passed" if llr >= 0 else "failed", max_answers, llr)


def exam_pass_probability(
    p: float, *, max_answers: int = MAX_ANSWERS, **limits: Unpack[ExamLimits]
) -> float:
    """Return the exact probability that a rater who is right with probability p passes the exam."""
    return _follow_exam(lambda _n, n_right: np.full(n_right.shape, p), max_answers, **limits)[0]


def constant_answer_pass_probability(
    n_right: int, n_items: int, *, max_answers: int = MAX_ANSWERS, **limits: Unpack[ExamLimits]
) -> float:
    """Return the exact probability that a rater who always gives the same answer passes the exam.

    That answer is right on n_right of the n_items gold items, which the exam shows once each, in
    random order.
    """

    def compute_share_right(n_shown: int, n_shown_right: Floats) -> Floats:
        return np.clip((n_right - n_shown_right) / (n_items - n_shown), 0.0, 1.0)

    return _follow_exam(compute_share_right, min(max_answers, n_items), **limits)[0]


def expected_exam_length(
    p: float, *, max_answers: int = MAX_ANSWERS, **limits: Unpack[ExamLimits]
) -> float:
    """Return the expected number of exam answers of a rater who is right with probability p."""
    return _follow_exam(lambda _n, n_right: np.full(n_right.shape, p), max_answers, **limits)[1]


def _follow_exam(
    get_probability: Callable[[int, Floats], Floats],
    max_answers: int,
    *,
    p_fail: float = 0.6,
    p_pass: float = 0.8,
    alpha: float = 0.05,
    beta: float = 0.05,
) -> tuple[float, float]:
    """Return the probability of passing and the expected number of answers.

    Both follow from the distribution of right answers among undecided raters after each answer.
    get_probability: number of answers, numbers of right ones among them (n,) -> probability that
    the next one is right (n,). Raises ValueError unless 0 < p_fail < p_pass < 1.
    """
    if not 0 < p_fail < p_pass < 1:
        raise ValueError(f"0 < p_fail < p_pass < 1, not p_fail {p_fail:g}, p_pass {p_pass:g}")
    right_step, wrong_step = math.log(p_pass / p_fail), math.log((1 - p_pass) / (1 - p_fail))
    upper, lower = math.log((1 - beta) / alpha), math.log(beta / (1 - alpha))
    passed = length = 0.0
    undecided = np.ones(1)  # by the number of right answers
    for n_before in range(max_answers):
        length += float(undecided.sum())
        p = get_probability(n_before, np.arange(n_before + 1.0))
        reached = np.zeros(n_before + 2)
        reached[1:] += undecided * p
        reached[:-1] += undecided * (1 - p)
        n_right = np.arange(n_before + 2)
        llr = n_right * right_step + (n_before + 1 - n_right) * wrong_step
        passed += float(reached[llr >= upper].sum())
        undecided = np.where((llr < upper) & (llr > lower), reached, 0.0)
    return passed + float(undecided[llr >= 0].sum()), length


def compute_evidence(answers: npt.ArrayLike, p0: float = 0.7) -> Floats:
    """Return the evidence (n,) for an accuracy below p0, after each of the answers (n,).

    answers: right (1) or wrong (0), in order.
    """
    right = np.asarray(answers, bool)
    return compute_evidence_from_counts(np.cumsum(right), np.cumsum(~right), p0)


def compute_evidence_from_counts(
    right: npt.ArrayLike, wrong: npt.ArrayLike, p0: float = 0.7
) -> Floats:
    """Return the evidence (...) for an accuracy below p0, from numbers of right and wrong answers.

    It is capped at the largest float, which is exceeded after thousands of wrong answers. Raises
    ValueError unless 0 < p0 < 1.
    """
    if not 0 < p0 < 1:
        raise ValueError(f"p0 must lie between 0 and 1, not {p0:g}")
    n_right, n_wrong = np.asarray(right, float), np.asarray(wrong, float)
    beta_cdf = special.betainc(n_right + 1, n_wrong + 1, p0)
    with np.errstate(divide="ignore"):
        log_evidence = special.betaln(n_right + 1, n_wrong + 1) + np.log(beta_cdf)
    log_evidence = log_evidence - (n_right + 1) * math.log(p0) - n_wrong * math.log1p(-p0)
    # I_p0 underflows after many right answers; then E = (1-p0)/(c+1) 2F1(c+f+2, 1; c+2; p0)
    underflows = beta_cdf < 1e-290
    if underflows.any():
        series = special.hyp2f1(n_right + n_wrong + 2, 1, n_right + 2, p0)
        log_evidence = np.where(
            underflows, np.log(series) + math.log1p(-p0) - np.log(n_right + 1), log_evidence
        )
    return np.asarray(np.exp(np.minimum(log_evidence, math.log(np.finfo(float).max))), float)


def count_answers_until_pause(
    evidence_path: npt.ArrayLike, threshold: float = PAUSE_EVIDENCE
) -> int | None:
    """Return the number of answers after which the evidence (n,) reached the threshold, or None."""
    reached = np.flatnonzero(np.asarray(evidence_path, float) >= threshold)
    return int(reached[0]) + 1 if reached.size else None


@dataclass(frozen=True)
class SuspectGold:
    """Evidence that the gold answer of an item is wrong.

    probability: that it is wrong; n_raters: raters who answered; n_agreeing: those who gave the
    gold answer; likely_code: the most probable other category.
    """

    probability: float
    n_raters: int
    n_agreeing: int
    likely_code: int

    @property
    def is_suspect(self) -> bool:
        """True if the gold is at least as likely wrong as right, given three raters or more."""
        return self.probability >= 0.5 and self.n_raters >= 3


def find_suspect_gold(
    answers: Mapping[Any, Mapping[Any, int]],
    gold: Mapping[Any, int],
    k: int,
    *,
    rho: float = 0.03,
    right: float = 4,
    wrong: float = 1,
) -> dict[Any, SuspectGold]:
    """Return item -> evidence that its gold answer is wrong, from raters' answers.

    answers: item -> rater -> code; gold: item -> gold code; rho: prior probability that a gold
    answer is wrong. A rater's accuracy is (right on all *other* gold items + `right`) / (answers on
    them + `right` + `wrong`), so that an item is not its own evidence.
    """
    hits: dict[Any, int] = {}
    totals: dict[Any, int] = {}
    for item, gold_code in gold.items():
        for rater, code in answers.get(item, {}).items():
            hits[rater] = hits.get(rater, 0) + (code == gold_code)
            totals[rater] = totals.get(rater, 0) + 1
    suspects = {}
    for item, gold_code in gold.items():
        item_answers = answers.get(item, {})
        log_probability = np.full(k, math.log(rho / (k - 1)))
        log_probability[gold_code] = math.log1p(-rho)
        for rater, code in item_answers.items():
            others_right = hits[rater] - (code == gold_code)
            accuracy = (others_right + right) / (totals[rater] - 1 + right + wrong)
            log_probability += math.log((1 - accuracy) / (k - 1))
            log_probability[code] += math.log(accuracy) - math.log((1 - accuracy) / (k - 1))
        probability = special.softmax(log_probability)
        others = np.delete(probability, gold_code)
        n_agreeing = sum(code == gold_code for code in item_answers.values())
        likely_code = int(np.argmax(np.where(np.arange(k) == gold_code, -1.0, probability)))
        suspects[item] = SuspectGold(
            float(others.sum()), len(item_answers), n_agreeing, likely_code
        )
    return suspects


@dataclass(frozen=True)
class RightAnswers:
    """Numbers of answers to gold items, and of right ones, before and after a point in time."""

    n_before: int = 0
    right_before: int = 0
    n_after: int = 0
    right_after: int = 0

    @property
    def rise(self) -> float:
        """The rise of the share of right answers; 0 without answers before or after."""
        if not self.n_before or not self.n_after:
            return 0.0
        return self.right_after / self.n_after - self.right_before / self.n_before

    @property
    def variance(self) -> float:
        """The variance of `rise` if the share did not change; 0 without answers before or after."""
        n = self.n_before + self.n_after
        if not self.n_before or not self.n_after:
            return 0.0
        share = (self.right_before + self.right_after) / n
        return share * (1 - share) * (1 / self.n_before + 1 / self.n_after)


def is_answer_known_among_raters(
    answers: Sequence[int | bool],
    others: RightAnswers = RightAnswers(),
    errors: float = 3.0,
) -> bool:
    """Return whether the answer of a gold item has become known: it is suddenly easy.

    answers: right (1) or wrong (0) in the order in which the item was shown; others: answers to
    other gold items, before and after the end of the first third. True if the share of right
    answers rises from the first third to the later two by more than `errors` standard errors beyond
    the rise of the others: where everybody learns, all items become easier. False with fewer than
    three answers.
    """
    right = [bool(answer) for answer in answers]
    first = len(right) // 3
    if first == 0:
        return False
    own = RightAnswers(first, sum(right[:first]), len(right) - first, sum(right[first:]))
    error = math.sqrt(own.variance + others.variance)
    return own.rise - max(others.rise, 0.0) > errors * error
