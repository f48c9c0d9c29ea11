"""Agreement of raters with themselves."""

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
def test_the_project_is_the_stratified_mean(tables):
    found = repeats.compute_intra_rater_agreement(tables)
    above = below = spread = 0.0
    for table in np.array(tables):
        n = table.sum()
        if n < 2:
            continue
        one = cohen.kappa(table)
        if not np.isfinite(one.value):
            continue
        above += n * (one.observed - one.expected)
        below += n * (1 - one.expected)
        spread += (n * (1 - one.expected) * one.se) ** 2
    if below == 0:
        assert found.project.kappa["value"] is None
        assert found.project.reason is not None
    else:
        assert found.project.kappa["value"] == pytest.approx(above / below)
        assert found.project.kappa["se"] == pytest.approx(math.sqrt(spread) / below)
    assert found.project.n == np.sum(tables)


def test_one_rater_alone_is_the_project():
    found = repeats.compute_intra_rater_agreement([[[5, 1], [2, 7]]])
    assert found.project.kappa["value"] == pytest.approx(found.raters[0].kappa["value"])
    assert found.project.kappa["se"] == pytest.approx(found.raters[0].kappa["se"])
    assert found.project.same == 12 / 15


def test_a_difference_of_habits_is_not_taken_for_consistency():
    """Two raters who answer at random, one mostly yes, one mostly no: the summed table agrees."""
    tables = np.array([[[81, 9], [9, 1]], [[1, 9], [9, 81]]])
    assert repeats.compute_intra_rater_agreement(tables).project.kappa["value"] == pytest.approx(0)
    assert cohen.kappa(tables.sum(axis=0)).value > 0.5


def test_reasons():
    found = repeats.compute_intra_rater_agreement(
        [[[0, 0], [0, 0]], [[1, 0], [0, 0]], [[4, 0], [0, 0]]]
    )
    assert [one.reason for one in found.raters] == [
        "no_repeats",
        "too_few_items",
        "single_category",
    ]
    assert found.project.reason == "single_category"
    assert found.project.same == 1
    assert repeats.compute_intra_rater_agreement(np.zeros((1, 2, 2))).project.reason == "no_repeats"
    assert repeats.compute_intra_rater_agreement(np.zeros((0, 2, 2))).project.reason == "no_repeats"


def test_shift_is_second_less_first():
    found = repeats.compute_intra_rater_agreement([[[0, 4, 0], [0, 0, 0], [0, 0, 4]]])
    shift = found.raters[0].shift
    assert shift is not None
    assert shift["value"] == pytest.approx(0.5)
