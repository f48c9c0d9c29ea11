"""Test the agreement of raters with themselves."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.agreement.coefficients import cohen
from metrics.agreement.rater_quality import repeats

TABLES = st.lists(
    st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=3, max_size=3),
    min_size=1,
    max_size=4,
)


@settings(max_examples=50, deadline=None)
@given(TABLES)
def test_project_kappa_is_the_stratified_mean(tables):
    agreement = repeats.compute_intra_rater_agreement(tables)
    numerator = denominator = variance = 0.0
    for table in np.array(tables):
        n = table.sum()
        if n < 2:
            continue
        estimate = cohen.kappa(table)
        if not np.isfinite(estimate.value):
            continue
        numerator += n * (estimate.observed - estimate.expected)
        denominator += n * (1 - estimate.expected)
        variance += (n * (1 - estimate.expected) * estimate.se) ** 2
    if denominator == 0:
        assert agreement.project.kappa["value"] is None
        assert agreement.project.reason is not None
    else:
        assert agreement.project.kappa["value"] == pytest.approx(numerator / denominator)
        assert agreement.project.kappa["se"] == pytest.approx(math.sqrt(variance) / denominator)
    assert agreement.project.n == np.sum(tables)


def test_project_of_one_rater_equals_the_rater():
    agreement = repeats.compute_intra_rater_agreement([[[5, 1], [2, 7]]])
    assert agreement.project.kappa["value"] == pytest.approx(agreement.raters[0].kappa["value"])
    assert agreement.project.kappa["se"] == pytest.approx(agreement.raters[0].kappa["se"])
    assert agreement.project.same == 12 / 15


def test_different_category_use_is_not_mistaken_for_consistency():
    """Two raters answer at random, one mostly yes, one mostly no: only the summed table agrees."""
    tables = np.array([[[81, 9], [9, 1]], [[1, 9], [9, 81]]])
    assert repeats.compute_intra_rater_agreement(tables).project.kappa["value"] == pytest.approx(0)
    assert cohen.kappa(tables.sum(axis=0)).value > 0.5


def test_undefined_repeats_have_reasons():
    agreement = repeats.compute_intra_rater_agreement(
        [[[0, 0], [0, 0]], [[1, 0], [0, 0]], [[4, 0], [0, 0]]]
    )
    assert [rater_repeats.reason for rater_repeats in agreement.raters] == [
        "no_repeats",
        "too_few_items",
        "single_category",
    ]
    assert agreement.project.reason == "single_category"
    assert agreement.project.same == 1
    assert repeats.compute_intra_rater_agreement(np.zeros((1, 2, 2))).project.reason == "no_repeats"
    assert repeats.compute_intra_rater_agreement(np.zeros((0, 2, 2))).project.reason == "no_repeats"


def test_shift_is_second_minus_first():
    agreement = repeats.compute_intra_rater_agreement([[[0, 4, 0], [0, 0, 0], [0, 0, 4]]])
    shift = agreement.raters[0].shift
    assert shift is not None
    assert shift["value"] == pytest.approx(0.5)


def test_few_equal_answers_do_not_make_the_project_interval_a_point():
    """Two raters who gave all five second answers alike: kappa 1, from a wide interval."""
    tables = [np.diag([2, 1]), np.diag([1, 1])]
    kappa = repeats.compute_intra_rater_agreement(tables).project.kappa
    assert kappa["value"] == kappa["high"] == 1
    assert kappa["low"] is not None and kappa["low"] < 0.6


def test_raters_of_one_answer_are_no_reference_for_consistency():
    """Three raters always repeat their only answer; among the others, 15 of 30 is ordinary."""
    same, n = np.array([30, 30, 30, 20, 19, 18, 15]), np.full(7, 30)
    one_answer = np.array([1.0, 1.0, 0.95, 0.5, 0.6, 0.5, 0.6])
    assert not repeats.find_inconsistent_raters(same, n, one_answer).any()
    same[3:6] = 28
    assert repeats.find_inconsistent_raters(same, n, one_answer).nonzero()[0].tolist() == [6]
