"""Sentences that compare a rater with the others: true cases, and tempting ones beside them."""

from __future__ import annotations

from typing import Any

import pytest

from quality.rater_status import status_texts
from quality.rater_status.comparison import ComparedRater, RaterComparison

LABELS = ("no", "yes")


def make_rater(**changes: Any) -> ComparedRater:
    values: dict[str, Any] = {
        "rater": 1,
        "n_ratings": 100,
        "n_items": 80,
        "value": 0.5,
        "low": 0.4,
        "high": 0.6,
        "se": 0.05,
        "bias": 0.3,
        "bias_low": 0.1,
        "bias_high": 0.5,
        "is_biased": True,
        "seconds": None,
        "category": 0,
        "share": 0.5,
        "peers": 0.4,
        "contrast": (1, 0.75, 0.5),
    }
    return ComparedRater(**(values | changes))


def make_comparison(middle: float | None = 0.7, **changes: Any) -> RaterComparison:
    return RaterComparison(None, "none", middle, 0.5, {1: make_rater(**changes)})


@pytest.mark.parametrize(
    ("comparison", "is_outlier", "expected"),
    [
        (make_comparison(), True, "Agrees far less than the others"),
        # The value is the same, but no alert says that it is more than chance.
        (
            make_comparison(),
            False,
            "Below the team’s median (0.70): 0.50, reason unclear.",
        ),
        (make_comparison(value=0.7), False, "Not below the team’s median (0.70): 0.70."),
        (
            make_comparison()._replace(outlying={1: (-0.2, 80)}),
            False,
            "Agrees less than the others: 0.50",
        ),
        (make_comparison(n_items=29), True, "Not enough data yet: 29 shared items."),
        # 80 items are enough data: two raters have no median, and one category has no kappa.
        (make_comparison(middle=None), True, "Agreement: 0.50. A comparison"),
        (make_comparison(value=None), True, "Agreement is undefined"),
    ],
)
def test_agreement_is_called_low_only_with_an_alert(
    comparison: RaterComparison, is_outlier: bool, expected: str
) -> None:
    sentence = status_texts.describe_agreement(comparison, 1, is_outlier=is_outlier)
    assert sentence.startswith(expected)
    assert "clearly" not in sentence or expected.startswith("Agrees clearly")
    assert status_texts.describe_agreement(comparison, 2, is_outlier=is_outlier) == ""


def test_items_are_no_explanation_of_a_rater_with_a_known_cause() -> None:
    assert "reason unclear." in status_texts.describe_agreement(
        make_comparison(), 1, is_outlier=False
    )
    assert (
        status_texts.describe_agreement(make_comparison(), 1, is_outlier=False, has_cause=True)
        == ""
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "Rates 0.30 [0.10, 0.50] higher than the others."),
        (
            {"bias": -0.3, "bias_low": -0.5, "bias_high": -0.1},
            "Rates 0.30 [0.10, 0.50] lower than the others.",
        ),
    ],
)
def test_bias_states_its_interval_and_items(changes: dict[str, Any], expected: str) -> None:
    sentence = status_texts.describe_bias(make_rater(**changes), LABELS)
    assert sentence.startswith(expected)
    assert "“yes” in 75% of comparisons on these 80 items, the others in 50%." in sentence
    assert status_texts.describe_bias(make_rater(**changes), ("no",)) == expected
