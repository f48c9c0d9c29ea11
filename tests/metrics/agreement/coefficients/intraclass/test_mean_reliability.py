"""Test the reliability of the mean of several raters against slow pair counts and ICCs."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from metrics.agreement.coefficients.intraclass import icc, mean_reliability

EXAMPLES = settings(max_examples=50, deadline=None)


@st.composite
def ratings(draw):
    cells = [(item, rater) for item in range(5) for rater in range(4)]
    rated_cells = draw(st.lists(st.sampled_from(cells), unique=True, max_size=20))
    return [(item, rater, draw(st.integers(0, 9))) for item, rater in rated_cells]


def split_columns(rows):
    return ([row[index] for row in rows] for index in range(3))


def compute_components_slowly(rows):
    """Return the three components from the mean squared differences over all pairs."""
    same_item, same_rater, different = [], [], []
    for (i, g, v), (j, h, w) in combinations(rows, 2):
        if i == j:
            same_item.append((v - w) ** 2)
        elif g == h:
            same_rater.append((v - w) ** 2)
        else:
            different.append((v - w) ** 2)
    if not (same_item and same_rater and different):
        return None
    d_i, d_r, d_o = np.mean(same_item), np.mean(same_rater), np.mean(different)
    return (d_o - d_i) / 2, (d_o - d_r) / 2, (d_i + d_r - d_o) / 2


@EXAMPLES
@given(ratings())
def test_components_match_all_pairs(rows):
    components, expected = (
        mean_reliability.estimate_components(*split_columns(rows)),
        compute_components_slowly(rows),
    )
    if expected is None:
        assert components.reason == "needs_crossed_ratings"
        assert components.item is None
    else:
        assert (components.item, components.rater, components.rest) == pytest.approx(
            expected, abs=1e-9
        )


@EXAMPLES
@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=2, max_size=6))
def test_complete_ratings_give_the_intraclass_correlations(table):
    values = np.array(table, float)
    rows = [(i, g, values[i, g]) for i in range(len(values)) for g in range(3)]
    components = mean_reliability.estimate_components(*split_columns(rows))
    assume(not components.negative)
    icc_by_name = icc.icc(values)
    of_one_rater, of_three_raters = (
        mean_reliability.compute_reliability(components, 1),
        mean_reliability.compute_reliability(components, 3),
    )
    for value, name in (
        (of_one_rater.absolute, "icc2"),
        (of_one_rater.relative, "icc3"),
        (of_three_raters.absolute, "icc2k"),
        (of_three_raters.relative, "icc3k"),
    ):
        if icc_by_name[name].value is not None and value is not None:
            assert value == pytest.approx(icc_by_name[name].value, abs=1e-9)


@EXAMPLES
@given(st.floats(0.01, 5), st.floats(0, 5), st.floats(0, 5), st.floats(0.05, 0.95))
def test_raters_needed_is_the_smallest_number(item, rater, residual, target):
    components = mean_reliability.VarianceComponents(item, rater, residual)
    needed = mean_reliability.compute_raters_needed(components, target)
    for kind in ("absolute", "relative"):
        m = getattr(needed, kind)
        assert getattr(mean_reliability.compute_reliability(components, m), kind) >= target - 1e-9
        if m > 1:
            assert (
                getattr(mean_reliability.compute_reliability(components, m - 1), kind)
                < target + 1e-9
            )


def test_negative_component_counts_as_zero_and_is_listed():
    components = mean_reliability.VarianceComponents(2.0, -0.5, 1.0)
    assert components.negative == ("rater",)
    assert (
        mean_reliability.compute_reliability(components, 1).absolute
        == mean_reliability.compute_reliability(components, 1).relative
    )
    assert components.shares == {
        "item": pytest.approx(2 / 3),
        "rater": 0,
        "rest": pytest.approx(1 / 3),
    }


def test_undefined_reliability_has_reasons():
    without_variance = mean_reliability.estimate_components(
        [0, 0, 1, 1], [0, 1, 0, 1], [3, 3, 3, 3]
    )
    assert (
        mean_reliability.compute_reliability(without_variance, 2).absolute_reason == "zero_variance"
    )
    assert without_variance.shares is None
    assert (
        mean_reliability.compute_raters_needed(without_variance, 0.8).absolute_reason
        == "no_reliability"
    )
    only_noise = mean_reliability.VarianceComponents(-0.2, 0.1, 1.0)
    assert mean_reliability.compute_reliability(only_noise, 3).absolute == 0
    assert (
        mean_reliability.compute_raters_needed(only_noise, 0.8).relative_reason == "no_reliability"
    )
    assert mean_reliability.estimate_components([], [], []).reason == "needs_crossed_ratings"
    with pytest.raises(ValueError, match="target"):
        mean_reliability.compute_raters_needed(only_noise, 1)
    with pytest.raises(ValueError, match="one rater"):
        mean_reliability.compute_reliability(only_noise, 0)


def test_limits_match_icc_of_the_complete_table():
    values = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6.0]])
    item, rater = np.divmod(np.arange(16), 4)
    icc_by_name = icc.icc(values)
    of_one_rater = mean_reliability.compute_limits(item, rater, values.ravel())
    assert of_one_rater.absolute == pytest.approx(
        (icc_by_name["icc2"].ci_low, icc_by_name["icc2"].ci_high)
    )
    of_four_raters = mean_reliability.compute_limits(item, rater, values.ravel(), 4)
    assert of_four_raters.relative == pytest.approx(
        (icc_by_name["icc3k"].ci_low, icc_by_name["icc3k"].ci_high)
    )
    assert (
        mean_reliability.compute_limits(item[:-1], rater[:-1], values.ravel()[:-1]).reason
        == "needs_bootstrap"
    )
