"""Test the choice of the headline coefficient, agreement between groups, and ICC from counts."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.agreement import headline as headline_rules
from metrics.agreement.coefficients import cohen
from metrics.agreement.coefficients.groups import between_group_kappa
from metrics.agreement.coefficients.intraclass.icc import icc, icc_from_counts
from metrics.agreement.counts.tally import count_patterns
from metrics.agreement.headline import HeadlineFacts, choose_headline
from metrics.agreement.weights import quadratic_weights, score_weights

RNG = np.random.default_rng(13)


@pytest.mark.parametrize(
    ("facts", "name", "why"),
    [
        (HeadlineFacts("nominal", 2), "cohen_kappa", "two_raters"),
        (HeadlineFacts("nominal", 2, weights="quadratic"), "cohen_kappa", "two_raters"),
        (HeadlineFacts("ordinal", 2), "cohen_kappa_quadratic", "two_raters"),
        (HeadlineFacts("ordinal", 2, weights="linear"), "cohen_kappa_linear", "two_raters"),
        (HeadlineFacts("interval", 2, weights="custom"), "cohen_kappa_custom", "two_raters"),
        (HeadlineFacts("nominal", 6), "fleiss_kappa", "nominal"),
        (HeadlineFacts("nominal", 6, weights="custom"), "fleiss_kappa_custom", "nominal"),
        (HeadlineFacts("ordinal", 3), "fleiss_kappa_quadratic", "ordinal"),
        (HeadlineFacts("ordinal", 3, weights="custom"), "fleiss_kappa_custom", "ordinal"),
        (HeadlineFacts("interval", 4, complete=True), "icc2", "complete"),
        (HeadlineFacts("interval", 2, complete=True), "icc2", "complete"),
        (HeadlineFacts("interval", 4), "krippendorff_alpha_interval", "incomplete"),
        (HeadlineFacts("ratio", 4), "krippendorff_alpha_ratio", "incomplete"),
        (HeadlineFacts("ordinal", 1), "fleiss_kappa_quadratic", "ordinal"),
    ],
)
def test_headline_table_gives_one_coefficient(facts, name, why):
    result = choose_headline(facts)
    assert (result.name, result.reason) == (name, why)


def test_ordinal_alpha_is_a_companion_and_lead_may_choose():
    """So is the unweighted kappa, because weights raise the value."""
    assert choose_headline(HeadlineFacts("ordinal", 3)).companions == (
        "fleiss_kappa",
        "krippendorff_alpha_ordinal",
    )
    assert choose_headline(HeadlineFacts("ordinal", 2)).companions == ("cohen_kappa",)
    assert choose_headline(HeadlineFacts("ordinal", 3), choice="fleiss_kappa").companions == (
        "krippendorff_alpha_ordinal",
    )
    assert choose_headline(HeadlineFacts("nominal", 2)).companions == ()
    lead_choice = choose_headline(HeadlineFacts("ordinal", 3), choice="gwet_ac1")
    assert (lead_choice.name, lead_choice.reason, lead_choice.trend_name) == (
        "gwet_ac1",
        "chosen",
        "gwet_ac1",
    )
    assert choose_headline(HeadlineFacts("ordinal", 2)).trend_name == "fleiss_kappa_quadratic"
    assert (
        choose_headline(HeadlineFacts("ratio", 3, complete=True)).trend_name
        == "krippendorff_alpha_ratio"
    )


def test_every_default_is_among_the_choices():
    for scale in ("nominal", "ordinal", "interval", "ratio"):
        offered = headline_rules.list_headline_choices(scale, values=[1, 2, 3], custom=True)
        for n_raters in (2, 5):
            for weights in ("none", "linear", "custom"):
                for complete in (False, True):
                    facts = HeadlineFacts(scale, n_raters, weights=weights, complete=complete)
                    assert choose_headline(facts).name in offered
    assert "icc2" not in headline_rules.list_headline_choices("ordinal")
    assert "cohen_kappa_linear" not in headline_rules.list_headline_choices("nominal")


def _simulate_ratings(n: int, raters: int, k: int) -> np.ndarray:
    truth = RNG.integers(0, k, n)
    noise = RNG.integers(0, k, (n, raters))
    return np.where(RNG.random((n, raters)) < 0.6, truth[:, None], noise)


def _count_categories(codes: np.ndarray, k: int) -> np.ndarray:
    return (codes[:, :, None] == np.arange(k)).sum(axis=1)


@pytest.mark.parametrize("weights", [None, quadratic_weights(4)])
def test_one_rater_in_each_group_gives_cohens_kappa(weights):
    codes = _simulate_ratings(60, 2, 4)
    first_counts, second_counts = (
        _count_categories(codes[:, :1], 4),
        _count_categories(codes[:, 1:], 4),
    )
    values = between_group_kappa(
        first_counts, second_counts, np.ones(60), weights=weights
    ).to_value()
    grid = np.zeros((4, 4))
    np.add.at(grid, (codes[:, 0], codes[:, 1]), 1)
    pair = cohen.kappa(grid, weights).to_value()
    assert values["value"] == pytest.approx(pair["value"])
    assert values["expected"] == pytest.approx(pair["expected"])
    # Cohen's error divides by n, the group error by n - 1.
    assert values["se"] == pytest.approx(pair["se"] * np.sqrt(60 / 59))


@pytest.mark.parametrize("chance", ["margins", "gwet", "none"])
def test_group_agreement_matches_slow_count_and_jackknife(chance):
    codes = _simulate_ratings(150, 5, 3)
    people, models = _count_categories(codes[:, :3], 3), _count_categories(codes[:, 3:], 3)
    values_by_name = between_group_kappa(people, models, np.ones(150), chance=chance).to_value()
    expected = np.mean(
        [
            [human_code == model_code for human_code in row[:3] for model_code in row[3:]]
            for row in codes
        ]
    )
    assert values_by_name["observed"] == pytest.approx(expected)
    left_out = 1 - np.eye(150)
    values = between_group_kappa(people, models, left_out, chance=chance).value
    jackknife = np.sqrt(149 / 150 * ((values - values.mean()) ** 2).sum())
    assert values_by_name["se"] == pytest.approx(jackknife, rel=0.03)


def test_groups_that_share_no_item_have_no_agreement():
    values = between_group_kappa([[1, 0], [0, 0]], [[0, 0], [0, 1]], [3, 4]).to_value()
    assert (values["value"], values["reason"]) == (None, "no_pairable_items")


def test_icc_from_counts_equals_icc_from_table():
    codes = _simulate_ratings(40, 4, 5)
    values = np.array([0.0, 1.0, 2.5, 3.0, 7.0])
    item = np.repeat(np.arange(40), 4)
    pattern_counts = count_patterns(item, codes.ravel(), 5)
    counts_by_rater = np.stack([np.bincount(column, minlength=5) for column in codes.T])
    from_counts = icc_from_counts(
        pattern_counts.counts, pattern_counts.n_items, counts_by_rater, values
    )
    for name, expected in icc(values[codes]).items():
        for field in ("value", "F", "ci_low", "ci_high"):
            assert getattr(from_counts[name], field) == pytest.approx(getattr(expected, field)), (
                name,
                field,
            )


def test_icc_from_counts_has_the_same_undefined_reasons():
    pattern_counts = np.array([[2, 0]])
    assert (
        icc_from_counts(pattern_counts, [5], [[5, 0], [5, 0]], [1, 2])["icc2"].reason
        == "zero_variance"
    )
    assert (
        icc_from_counts(pattern_counts, [1], [[1, 0], [1, 0]], [1, 2])["icc2"].reason
        == "too_few_items"
    )
    assert (
        icc_from_counts(pattern_counts, [5], [[5, 0]], [1, 2])["icc2"].reason == "needs_two_raters"
    )


def test_score_weights_between_groups_tolerate_a_shift():
    """The second group answers one category higher: with score weights this costs little."""
    codes = RNG.integers(0, 4, (200, 2))
    codes[:, 1] = codes[:, 0] + 1
    first_counts, second_counts = (
        _count_categories(codes[:, :1], 5),
        _count_categories(codes[:, 1:], 5),
    )
    unweighted = between_group_kappa(first_counts, second_counts, np.ones(200)).value
    by_value = between_group_kappa(
        first_counts, second_counts, np.ones(200), weights=score_weights(np.arange(5))
    ).value
    assert unweighted < 0
    assert by_value > 0.5
