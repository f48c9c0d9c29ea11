"""Scores of categories as means of gold scores."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.results.other_weights import compute_category_scores


@pytest.mark.parametrize(
    ("item_scores", "expected", "reason"),
    [
        ([1, 3, 5, 7, np.nan, 9], [2, 5, 8, 5], None),  # nobody uses the last category
        ([1, 3, np.nan, 7, np.nan, 9], None, "unscored_category"),
        ([np.nan] * 6, None, "no_scores"),
    ],
)
def test_category_scores_are_means_of_gold_scores(
    item_scores: list[float], expected: list[float] | None, reason: str | None
) -> None:
    codes = np.array([0, 0, 1, 2, 2, 2])
    scores, actual_reason = compute_category_scores(codes, np.array(item_scores, float), 4)
    assert (None if scores is None else scores.tolist(), actual_reason) == (expected, reason)
