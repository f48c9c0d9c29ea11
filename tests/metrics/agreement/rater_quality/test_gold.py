"""Scores on gold, the exam, the evidence for a pause, suspicious gold: against slow versions."""

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


def test_wilson_is_the_interval_of_the_score_test():
    low, high = wilson_interval(9, 11)
    for share in (low, high):
        z = (9 / 11 - share) / math.sqrt(share * (1 - share) / 11)
        assert abs(z) == pytest.approx(1.959964, abs=1e-5)
    assert wilson_interval(0, 5)[0] == 0 and wilson_interval(5, 5)[1] == pytest.approx(1)


def test_a_score_without_answers_names_the_reason():
    score = gold.compute_score(np.zeros((3, 3), int))
    assert (score.n, score.accuracy, score.low, score.high, score.chance) == (0, *[None] * 4)
    assert score.reason == "no_gold_ratings"
    assert score.kappa["value"] is None
    assert score.bias["value"] is None


def test_a_score_of_one_category_has_an_accuracy_and_no_kappa():
    score = gold.compute_score([[4, 0], [0, 0]])
    assert score.accuracy == 1
    assert score.reason == "single_category"
    assert not score.has_enough_answers


def test_bias_is_the_mean_of_own_less_gold():
    table = [[3, 0, 0], [2, 1, 0], [1, 0, 0]]
    differences = [0] * 3 + [1] * 2 + [0] + [2]
    score = gold.compute_score(table)
    assert score.bias["value"] == pytest.approx(np.mean(differences))
    assert score.bias["se"] == pytest.approx(np.std(differences, ddof=1) / math.sqrt(7))


def test_with_the_defaults_eleven_right_pass_and_five_wrong_fail():
    found = gold.evaluate_exam([1] * 20)
    assert (found.outcome, found.n_answers) == ("passed", 11)
    assert found.llr == pytest.approx(11 * math.log(4 / 3))
    found = gold.evaluate_exam([0] * 20)
    assert (found.outcome, found.n_answers) == ("failed", 5)
    assert found.llr == pytest.approx(-5 * math.log(2))
    assert gold.evaluate_exam([1] * 10).outcome == "undecided"


def test_after_most_answers_the_sign_decides():
    turns = [1, 1, 0] * 10
    assert gold.evaluate_exam(turns, most=3).outcome == "failed"  # 2 ln(4/3) < ln 2
    assert gold.evaluate_exam([1, 1, 1, 0], most=4).outcome == "passed"
    assert gold.evaluate_exam([1, 1, 1, 0], most=5).outcome == "undecided"


def test_at_most_one_in_twenty_of_the_poor_passes():
    """Wald's bound is alpha / (1 - beta); 0.015 is three standard errors of 2,000 exams."""
    rng = np.random.default_rng(1)

    def turns(right: float) -> list[bool]:
        return (rng.random(500) < right).tolist()

    outcomes = [gold.evaluate_exam(turns(0.6), most=500).outcome for _ in range(2000)]
    assert outcomes.count("passed") / 2000 <= 0.05 / 0.95 + 0.015
    outcomes = [gold.evaluate_exam(turns(0.8), most=500).outcome for _ in range(2000)]
    assert outcomes.count("failed") / 2000 <= 0.05 / 0.95 + 0.015


@EXAMPLES
@given(st.lists(st.booleans(), min_size=1, max_size=30), st.sampled_from([0.3, 0.5, 0.7, 0.9]))
def test_evidence_is_the_mean_likelihood_ratio(answers, p0):
    right = sum(answers)
    wrong = len(answers) - right

    def ratio(p):
        return (p / p0) ** right * ((1 - p) / (1 - p0)) ** wrong / p0

    slow = integrate.quad(ratio, 0, p0, epsabs=0, epsrel=1e-10)[0]
    assert gold.compute_evidence(answers, p0)[-1] == pytest.approx(slow, rel=1e-6)


@EXAMPLES
@given(st.integers(0, 20), st.integers(0, 20), st.floats(0.1, 0.9))
def test_evidence_is_one_in_expectation_for_whoever_is_just_good_enough(right, wrong, p0):
    now = gold.compute_evidence_from_counts(right, wrong, p0)
    if_right = gold.compute_evidence_from_counts(right + 1, wrong, p0)
    if_wrong = gold.compute_evidence_from_counts(right, wrong + 1, p0)
    assert p0 * if_right + (1 - p0) * if_wrong == pytest.approx(now, rel=1e-9)


def test_evidence_is_finite_however_long():
    found = gold.compute_evidence_from_counts([100_000, 0, 50_000], [0, 100_000, 50_000], 0.7)
    assert np.isfinite(found).all()
    assert found[0] < 1e-4 and found[1] > 1e300
    # all right: E is 1 / (n + 1), also where the integral underflows
    for n in (1800, 1900, 2100, 5000, 100_000):
        assert gold.compute_evidence_from_counts(n, 0, 0.7) == pytest.approx(1 / (n + 1), rel=1e-6)


def test_paused_at_counts_answers_from_one():
    assert gold.find_pause([0.5, 99.9, 100.0, 3.0]) == 3
    assert gold.find_pause([0.5, 99.9]) is None


def slow_wrong(answers, key_of, k, item):
    """P(gold wrong) by the definition, in exact fractions."""
    products = []
    for truth in range(k):
        product = Fraction(97, 100) if truth == key_of[item] else Fraction(3, 100) / (k - 1)
        for rater, code in answers[item].items():
            others = [one for one in key_of if one != item and rater in answers[one]]
            right = sum(answers[one][rater] == key_of[one] for one in others)
            a = Fraction(right + 4, len(others) + 5)
            product *= a if code == truth else (1 - a) / (k - 1)
        products.append(product)
    return 1 - products[key_of[item]] / sum(products)


@EXAMPLES
@given(st.data())
def test_wrong_gold_is_the_product_over_raters(data):
    k = data.draw(st.integers(2, 4))
    code = st.integers(0, k - 1)
    raters = st.dictionaries(st.sampled_from("abcde"), code)
    answers = {item: data.draw(raters) for item in range(4)}
    key_of = {item: data.draw(code) for item in range(4)}
    found = gold.find_suspect_gold(answers, key_of, k)
    for item, one in found.items():
        slow = float(slow_wrong(answers, key_of, k, item))
        assert one.probability == pytest.approx(slow, abs=1e-10)
        assert one.likely_code != key_of[item]
        assert one.is_suspect == (one.probability >= 0.5 and len(answers[item]) >= 3)


def test_a_gold_item_that_became_known_is_told():
    assert gold.has_leaked([0] * 10 + [1] * 20)
    assert not gold.has_leaked([1] * 30)
    assert not gold.has_leaked([0, 1] * 15)
    assert not gold.has_leaked([0, 1])


@pytest.mark.parametrize("p0", [0, 1, -1])
def test_a_bar_outside_probabilities_is_refused(p0):
    with pytest.raises(ValueError, match="p0"):
        gold.compute_evidence([1], p0)
    with pytest.raises(ValueError, match="p_fail"):
        gold.evaluate_exam([1], p_fail=0.8, p_pass=0.8)
