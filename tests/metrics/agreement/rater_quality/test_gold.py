"""Test scores on gold, exams, pause evidence and suspected gold against slow versions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from metrics.agreement.estimate import wilson_interval
from metrics.agreement.rater_quality import gold

EXAMPLES = settings(max_examples=50, deadline=None)


def test_wilson_interval_inverts_the_score_test():
    low, high = wilson_interval(9, 11)
    for share in (low, high):
        z = (9 / 11 - share) / math.sqrt(share * (1 - share) / 11)
        assert abs(z) == pytest.approx(1.959964, abs=1e-5)
    assert wilson_interval(0, 5)[0] == 0 and wilson_interval(5, 5)[1] == pytest.approx(1)


def test_score_without_answers_has_a_reason():
    score = gold.compute_score(np.zeros((3, 3), int))
    assert (score.n, score.accuracy, score.low, score.high, score.chance) == (0, *[None] * 4)
    assert score.reason == "no_gold_ratings"
    assert score.kappa["value"] is None
    assert score.bias["value"] is None


def test_score_of_one_category_has_accuracy_but_no_kappa():
    score = gold.compute_score([[4, 0], [0, 0]])
    assert score.accuracy == 1
    assert score.reason == "single_category"
    assert not score.has_enough_answers


def test_bias_is_the_mean_of_own_minus_gold():
    table = [[3, 0, 0], [2, 1, 0], [1, 0, 0]]
    differences = [0] * 3 + [1] * 2 + [0] + [2]
    score = gold.compute_score(table)
    assert score.bias["value"] == pytest.approx(np.mean(differences))
    assert score.bias["se"] == pytest.approx(np.std(differences, ddof=1) / math.sqrt(7))


def test_with_the_defaults_eleven_right_pass_and_five_wrong_fail():
    exam = gold.evaluate_exam([1] * 20)
    assert (exam.outcome, exam.n_answers) == ("passed", 11)
    assert exam.llr == pytest.approx(11 * math.log(4 / 3))
    exam = gold.evaluate_exam([0] * 20)
    assert (exam.outcome, exam.n_answers) == ("failed", 5)
    assert exam.llr == pytest.approx(-5 * math.log(2))
    assert gold.evaluate_exam([1] * 10).outcome == "undecided"


def test_sign_decides_after_the_maximum_of_answers():
    answers = [1, 1, 0] * 10
    assert gold.evaluate_exam(answers, max_answers=3).outcome == "failed"  # 2 ln(4/3) < ln 2
    assert gold.evaluate_exam([1, 1, 1, 0], max_answers=4).outcome == "passed"
    assert gold.evaluate_exam([1, 1, 1, 0], max_answers=5).outcome == "undecided"


def test_exam_keeps_both_error_rates():
    """Wald's bound is alpha / (1 - beta); 0.015 is three standard errors of 2,000 exams."""
    rng = np.random.default_rng(1)

    def simulate_answers(right: float) -> list[bool]:
        return (rng.random(500) < right).tolist()

    outcomes = [
        gold.evaluate_exam(simulate_answers(0.6), max_answers=500).outcome for _ in range(2000)
    ]
    assert outcomes.count("passed") / 2000 <= 0.05 / 0.95 + 0.015
    outcomes = [
        gold.evaluate_exam(simulate_answers(0.8), max_answers=500).outcome for _ in range(2000)
    ]
    assert outcomes.count("failed") / 2000 <= 0.05 / 0.95 + 0.015


@EXAMPLES
@given(st.lists(st.booleans(), min_size=1, max_size=30), st.sampled_from([0.3, 0.5, 0.7, 0.9]))
def test_evidence_is_the_mean_likelihood_ratio(answers, p0):
    n_right = sum(answers)
    n_wrong = len(answers) - n_right

    def compute_ratio(p):
        return (p / p0) ** n_right * ((1 - p) / (1 - p0)) ** n_wrong / p0

    expected = integrate.quad(compute_ratio, 0, p0, epsabs=0, epsrel=1e-10)[0]
    assert gold.compute_evidence(answers, p0)[-1] == pytest.approx(expected, rel=1e-6)


@EXAMPLES
@given(st.integers(0, 20), st.integers(0, 20), st.floats(0.1, 0.9))
def test_evidence_is_a_martingale_at_the_threshold(n_right, n_wrong, p0):
    current = gold.compute_evidence_from_counts(n_right, n_wrong, p0)
    if_right = gold.compute_evidence_from_counts(n_right + 1, n_wrong, p0)
    if_wrong = gold.compute_evidence_from_counts(n_right, n_wrong + 1, p0)
    assert p0 * if_right + (1 - p0) * if_wrong == pytest.approx(current, rel=1e-9)


def test_evidence_is_finite_for_many_answers():
    evidence = gold.compute_evidence_from_counts([100_000, 0, 50_000], [0, 100_000, 50_000], 0.7)
    assert np.isfinite(evidence).all()
    assert evidence[0] < 1e-4 and evidence[1] > 1e300
    # all right: E is 1 / (n + 1), also where the integral underflows
    for n in (1800, 1900, 2100, 5000, 100_000):
        assert gold.compute_evidence_from_counts(n, 0, 0.7) == pytest.approx(1 / (n + 1), rel=1e-6)


def test_pause_position_counts_answers_from_one():
    assert gold.count_answers_until_pause([0.5, 99.9, 100.0, 3.0]) == 3
    assert gold.count_answers_until_pause([0.5, 99.9]) is None


def compute_wrong_probability_slowly(answers, gold_by_item, k, item):
    """Return P(gold wrong) by the definition, in exact fractions."""
    products = []
    for truth in range(k):
        product = Fraction(97, 100) if truth == gold_by_item[item] else Fraction(3, 100) / (k - 1)
        for rater, code in answers[item].items():
            others = [
                other_item
                for other_item in gold_by_item
                if other_item != item and rater in answers[other_item]
            ]
            n_right = sum(
                answers[other_item][rater] == gold_by_item[other_item] for other_item in others
            )
            accuracy = Fraction(n_right + 4, len(others) + 5)
            product *= accuracy if code == truth else (1 - accuracy) / (k - 1)
        products.append(product)
    return 1 - products[gold_by_item[item]] / sum(products)


@EXAMPLES
@given(st.data())
def test_wrong_gold_probability_is_the_product_over_raters(data):
    k = data.draw(st.integers(2, 4))
    code = st.integers(0, k - 1)
    raters = st.dictionaries(st.sampled_from("abcde"), code)
    answers = {item: data.draw(raters) for item in range(4)}
    gold_by_item = {item: data.draw(code) for item in range(4)}
    suspects = gold.find_suspect_gold(answers, gold_by_item, k)
    for item, suspect in suspects.items():
        expected = float(compute_wrong_probability_slowly(answers, gold_by_item, k, item))
        assert suspect.probability == pytest.approx(expected, abs=1e-10)
        assert suspect.likely_code != gold_by_item[item]
        assert suspect.is_suspect == (suspect.probability >= 0.5 and len(answers[item]) >= 3)


def test_leaked_gold_item_is_detected():
    assert gold.is_answer_known_among_raters([0] * 10 + [1] * 20)
    assert not gold.is_answer_known_among_raters([1] * 30)
    assert not gold.is_answer_known_among_raters([0, 1] * 15)
    assert not gold.is_answer_known_among_raters([0, 1])


def test_gold_item_that_became_easier_as_all_others_is_not_known():
    """Everybody learns: the item alone seems to have leaked, beside the others it does not."""
    answers = [0, 1] * 6 + [1, 1, 1, 1, 0, 1] * 4
    answers[:6] = [0] * 6
    assert gold.is_answer_known_among_raters(answers)
    learning = gold.RightAnswers(n_before=120, right_before=30, n_after=240, right_after=200)
    assert not gold.is_answer_known_among_raters(answers, learning)
    steady = gold.RightAnswers(n_before=120, right_before=60, n_after=240, right_after=120)
    assert gold.is_answer_known_among_raters([0] * 10 + [1] * 20, steady)
    assert gold.RightAnswers().rise == gold.RightAnswers(n_before=3).variance == 0


@pytest.mark.parametrize("p0", [0, 1, -1])
def test_threshold_outside_probabilities_raises_an_error(p0):
    with pytest.raises(ValueError, match="p0"):
        gold.compute_evidence([1], p0)
    with pytest.raises(ValueError, match="p_fail"):
        gold.evaluate_exam([1], p_fail=0.8, p_pass=0.8)


@pytest.mark.parametrize(("n_right", "n_items"), [(8, 12), (8, 11), (9, 12), (6, 7), (0, 5)])
def test_pass_probability_of_one_answer_counts_all_orders_of_the_items(
    n_right: int, n_items: int
) -> None:
    passed = [
        gold.evaluate_exam(
            [number in right for number in range(n_items)], max_answers=n_items
        ).outcome
        == "passed"
        for right in itertools.combinations(range(n_items), n_right)
    ]
    assert gold.constant_answer_pass_probability(n_right, n_items) == pytest.approx(
        np.mean(passed), abs=1e-12
    )


def test_pass_probability_of_one_answer_is_that_of_independent_items_where_gold_is_long() -> None:
    assert gold.constant_answer_pass_probability(140_000, 200_000) == pytest.approx(
        gold.exam_pass_probability(0.7), abs=1e-3
    )
