"""Test ratings that are sets of labels: distances, alpha over sets and of each label."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.agreement import label_sets
from metrics.agreement.coefficients import krippendorff

LABELS = ["joy", "fear", "irony"]
SET = st.frozensets(st.sampled_from(LABELS))


@pytest.mark.parametrize(
    ("first", "second", "jaccard", "masi"),
    [
        ("", "", 0, 0),
        ("a", "a", 0, 0),
        ("a", "", 1, 1),
        ("a", "b", 1, 1),
        ("a", "ab", 1 / 2, 1 - 1 / 2 * 2 / 3),
        ("ab", "bc", 2 / 3, 1 - 1 / 3 * 1 / 3),
    ],
)
def test_distances_between_sets(first, second, jaccard, masi):
    for a, b in ((first, second), (second, first)):
        assert label_sets.jaccard_distance(a, b) == pytest.approx(jaccard)
        assert label_sets.masi_distance(a, b) == pytest.approx(masi)


def compute_alpha_slowly(items, distance):
    """Return 1 - D_o / D_e over all pairs of ratings; None where undefined."""
    pairable = [ratings for ratings in items if len(ratings) > 1]
    all_ratings = [rating for ratings in pairable for rating in ratings]
    n = len(all_ratings)
    if not n:
        return None
    observed = sum(
        sum(distance(a, b) for a, b in permutations(ratings, 2)) / (len(ratings) - 1)
        for ratings in pairable
    )
    expected = sum(distance(a, b) for a, b in permutations(all_ratings, 2)) / (n - 1)
    return None if expected == 0 else 1 - observed / expected


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(SET, max_size=3), min_size=1, max_size=6))
def test_alpha_matches_all_pairs(items):
    item = [index for index, ratings in enumerate(items) for _ in ratings]
    sets = [rating for ratings in items for rating in ratings]
    agreement = label_sets.compute_agreement(item, sets, LABELS)
    for value, distance in (
        (agreement.jaccard, label_sets.jaccard_distance),
        (agreement.masi, label_sets.masi_distance),
    ):
        expected = compute_alpha_slowly(items, distance)
        assert value["value"] == (None if expected is None else pytest.approx(expected, abs=1e-9))
        assert (value["reason"] is None) == (expected is not None)
    for label, value in agreement.labels.items():
        has_label = [[label in rating for rating in ratings] for ratings in items]
        expected = compute_alpha_slowly(has_label, lambda a, b: a != b)
        assert value["value"] == (None if expected is None else pytest.approx(expected, abs=1e-9))


def test_too_many_sets_still_give_alpha_of_each_label():
    labels = [f"l{number}" for number in range(7)]
    sets = [
        [label for index, label in enumerate(labels) if number >> index & 1] for number in range(65)
    ]
    agreement = label_sets.compute_agreement(np.arange(130) % 65, [*sets, *sets], labels)
    assert agreement.jaccard["reason"] == "too_many_sets"
    assert agreement.masi["value"] is None
    assert agreement.labels["l0"]["value"] == pytest.approx(1)
    at_most = label_sets.compute_agreement(np.arange(128) % 64, [*sets[:64], *sets[:64]], labels)
    assert at_most.jaccard["value"] == pytest.approx(1)


def test_undeclared_label_is_named_in_the_error():
    with pytest.raises(ValueError, match="rating 1: unknown label 'anger'"):
        label_sets.compute_agreement([0, 0], [["joy"], ["anger"]], LABELS)


def test_alpha_from_distances_equals_alpha_of_the_metric():
    counts, n_items = [[2, 1, 0], [0, 3, 0], [1, 0, 2]], [4, 2, 3]
    squares = (np.arange(3)[:, None] - np.arange(3)[None, :]) ** 2
    from_distances = krippendorff.alpha_from_distances(counts, n_items, squares)
    from_metric = krippendorff.krippendorff_alpha(
        counts, n_items, metric="interval", values=[0, 1, 2]
    )
    assert (from_distances.value, from_distances.se) == (
        pytest.approx(from_metric.value),
        pytest.approx(from_metric.se),
    )


@pytest.mark.parametrize(
    "distances", [np.ones((2, 2)), [[0, 1], [2, 0]], [[0, -1], [-1, 0]], np.zeros((3, 3))]
)
def test_invalid_distances_raise_an_error(distances):
    with pytest.raises(ValueError, match="distances"):
        krippendorff.alpha_from_distances([[1, 1]], [3], distances)
