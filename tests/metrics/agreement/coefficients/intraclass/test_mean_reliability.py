"""Reliability of the mean of several raters, against pairs counted one by one and ICCs."""

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
    chosen = draw(st.lists(st.sampled_from(cells), unique=True, max_size=20))
    return [(item, rater, draw(st.integers(0, 9))) for item, rater in chosen]


def columns(rows):
    return ([row[place] for row in rows] for place in range(3))


def slow(rows):
    """The three mean squared differences over all pairs."""
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
def test_components_are_those_of_all_pairs(rows):
    found, expected = mean_reliability.estimate_components(*columns(rows)), slow(rows)
    if expected is None:
        assert found.reason == "needs_crossed_ratings"
        assert found.item is None
    else:
        assert (found.item, found.rater, found.rest) == pytest.approx(expected, abs=1e-9)


@EXAMPLES
@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=2, max_size=6))
def test_complete_ratings_give_the_intraclass_correlations(table):
    values = np.array(table, float)
    rows = [(i, g, values[i, g]) for i in range(len(values)) for g in range(3)]
    found = mean_reliability.estimate_components(*columns(rows))
    assume(not found.negative)
    known = icc.icc(values)
    one, three = (
        mean_reliability.compute_reliability(found, 1),
        mean_reliability.compute_reliability(found, 3),
    )
    for value, name in (
        (one.absolute, "icc2"),
        (one.relative, "icc3"),
        (three.absolute, "icc2k"),
        (three.relative, "icc3k"),
    ):
        if known[name].value is not None and value is not None:
            assert value == pytest.approx(known[name].value, abs=1e-9)


@EXAMPLES
@given(st.floats(0.01, 5), st.floats(0, 5), st.floats(0, 5), st.floats(0.05, 0.95))
def test_the_raters_needed_are_the_fewest(item, rater, rest, target):
    found = mean_reliability.VarianceComponents(item, rater, rest)
    needed = mean_reliability.compute_raters_needed(found, target)
    for kind in ("absolute", "relative"):
        m = getattr(needed, kind)
        assert getattr(mean_reliability.compute_reliability(found, m), kind) >= target - 1e-9
        if m > 1:
            assert getattr(mean_reliability.compute_reliability(found, m - 1), kind) < target + 1e-9


def test_a_negative_component_counts_as_none_and_is_named():
    found = mean_reliability.VarianceComponents(2.0, -0.5, 1.0)
    assert found.negative == ("rater",)
    assert (
        mean_reliability.compute_reliability(found, 1).absolute
        == mean_reliability.compute_reliability(found, 1).relative
    )
    assert found.shares == {"item": pytest.approx(2 / 3), "rater": 0, "rest": pytest.approx(1 / 3)}


def test_reasons():
    nobody_differs = mean_reliability.estimate_components([0, 0, 1, 1], [0, 1, 0, 1], [3, 3, 3, 3])
    assert (
        mean_reliability.compute_reliability(nobody_differs, 2).absolute_reason == "zero_variance"
    )
    assert nobody_differs.shares is None
    assert (
        mean_reliability.compute_raters_needed(nobody_differs, 0.8).absolute_reason
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


def test_limits_are_those_of_the_complete_table():
    values = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6.0]])
    item, rater = np.divmod(np.arange(16), 4)
    known = icc.icc(values)
    one = mean_reliability.compute_limits(item, rater, values.ravel())
    assert one.absolute == pytest.approx((known["icc2"].ci_low, known["icc2"].ci_high))
    four = mean_reliability.compute_limits(item, rater, values.ravel(), 4)
    assert four.relative == pytest.approx((known["icc3k"].ci_low, known["icc3k"].ci_high))
    assert (
        mean_reliability.compute_limits(item[:-1], rater[:-1], values.ravel()[:-1]).reason
        == "needs_bootstrap"
    )
