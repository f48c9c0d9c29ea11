"""Test weights by rank, by scores and custom; an invalid matrix raises an error with its position."""

import numpy as np
import pytest

from metrics.agreement import weights


def test_weights_by_rank():
    assert weights.get_weight_matrix("none", 3).tolist() == np.eye(3).tolist()
    assert weights.get_weight_matrix("linear", 3).tolist() == [
        [1, 0.5, 0],
        [0.5, 1, 0.5],
        [0, 0.5, 1],
    ]
    assert weights.get_weight_matrix("quadratic", 3).tolist() == [
        [1, 0.75, 0],
        [0.75, 1, 0.75],
        [0, 0.75, 1],
    ]


def test_equally_spaced_scores_give_quadratic_weights():
    assert weights.score_weights([10, 20, 30, 40]) == pytest.approx(weights.quadratic_weights(4))


def test_unknown_weights_error_lists_the_valid_ones():
    with pytest.raises(ValueError, match="'cubic'; one of none, linear, quadratic"):
        weights.get_weight_matrix("cubic", 3)


@pytest.mark.parametrize("scores", [[1, 1], [1, float("nan")], [[1, 2]]])
def test_invalid_scores_raise_an_error(scores):
    with pytest.raises(ValueError, match="scores"):
        weights.score_weights(scores)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1, 0]], "square, 2 x 2 for 2 categories, not 1 x 2"),
        (1, "not a single number"),
        ([[1, "a"], [0, 1]], "2 rows of 2 numbers"),
        ([[1, 0], [0]], "2 rows of 2 numbers"),
        ([[1, 0], [0, 0.9]], r"row 2, column 2 .* must be 1, not 0\.9"),
        ([[1, 1.5], [1.5, 1]], r"row 1, column 2 .* 0\.\.1, not 1\.5"),
        ([[1, 0.5], [0.4, 1]], r"symmetric: row 1, column 2 is 0\.5, but row 2, column 1 is 0\.4"),
        ([[1, float("nan")], [0, 1]], "row 1, column 2 .* finite number, not nan"),
        ([[1, float("inf")], [0, 1]], "row 1, column 2 .* finite number, not inf"),
    ],
)
def test_invalid_matrix_raises_an_error_with_its_position(matrix, message):
    with pytest.raises(ValueError, match=message):
        weights.validate_weight_matrix(matrix, 2)


def test_valid_matrix_is_returned_as_floats():
    assert weights.validate_weight_matrix([[1, 0], [0, 1]], 2).dtype == float
