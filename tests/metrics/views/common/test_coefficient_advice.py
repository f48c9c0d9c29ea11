"""Test that the advice on coefficients is true, on data where it applies and where it does not."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.agreement import estimate_coefficient
from metrics.agreement.coefficients import cohen
from metrics.agreement.weights import get_weight_matrix
from metrics.views.common import coefficient_advice


def estimate_from_table(name: str, table: list[list[int]]) -> float:
    """Return a coefficient of two raters from their table (2, 2)."""
    counts = np.array([[2, 0], [1, 1], [0, 2]])
    (both_first, first), (second, both_second) = table
    n_items = np.array([both_first, first + second, both_second])
    return float(estimate_coefficient(name, counts, n_items).value)


@pytest.mark.parametrize(("share", "percent"), [(0.95, 90), (0.5, 50)])
def test_blind_raters_agree_as_often_as_the_advice_says(share: float, percent: int) -> None:
    """They agree on 90 of 100 items only where they give one category to 95 of them."""
    cells = np.outer([share, 1 - share], [share, 1 - share]) * 10_000
    table = np.rint(cells).astype(int).tolist()
    assert 100 * estimate_from_table("percent_agreement", table) == pytest.approx(percent, abs=0.6)
    text = str(coefficient_advice.ADVICE["percent_agreement"].distrust)
    assert ("95 of 100" in text, "about 90" in text) == (True, True)


@pytest.mark.parametrize(
    ("table", "is_far_below"), [([[94, 3], [3, 0]], True), ([[47, 3], [3, 47]], False)]
)
def test_kappa_and_alpha_are_far_below_ac1_where_raters_disagree_on_a_rare_category(
    table: list[list[int]], is_far_below: bool
) -> None:
    """Both tables have six disagreements; only in the first they are all of a category's ratings."""
    ac1 = estimate_from_table("gwet_ac1", table)
    for name in ("fleiss_kappa", "krippendorff_alpha_nominal"):
        assert (ac1 - estimate_from_table(name, table) > 0.5) == is_far_below


@pytest.mark.parametrize(
    ("table", "raises"), [([[40, 30], [0, 30]], True), ([[40, 15], [15, 30]], False)]
)
def test_different_habits_raise_cohen_kappa(table: list[list[int]], raises: bool) -> None:
    """Compared with Fleiss' kappa, which pools the raters' shares of the categories."""
    difference = float(cohen.kappa(np.array(table)).value) - estimate_from_table(
        "fleiss_kappa", table
    )
    assert (difference > 0.03) == raises
    assert difference > -1e-9


@pytest.mark.parametrize("weighting", ["linear", "quadratic"])
def test_advice_on_weights_states_the_weights_of_four_categories(weighting: str) -> None:
    """Other numbers of categories have other weights, so the text says how many it means."""
    text = str(coefficient_advice.WEIGHTING_ADVICE[weighting])
    weights = get_weight_matrix(weighting, 4)
    assert text == (
        f"Of four categories, one step apart counts {weights[0, 1]:.2f},"
        f" two steps {weights[0, 2]:.2f}."
    )
    assert f"{get_weight_matrix(weighting, 5)[0, 1]:.2f}" not in text
