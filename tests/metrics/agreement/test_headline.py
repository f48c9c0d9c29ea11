"""The one table of what is read first, agreement between groups, and ICC from counts."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.agreement import headline as table
from metrics.agreement.coefficients import cohen
from metrics.agreement.coefficients.groups.two_groups import between
from metrics.agreement.coefficients.intraclass.icc import icc, icc_of_counts
from metrics.agreement.counts.tally import patterns
from metrics.agreement.headline import Facts, headline
from metrics.agreement.weights import quadratic, scored

RNG = np.random.default_rng(13)


@pytest.mark.parametrize(
    ("facts", "name", "why"),
    [
        (Facts("nominal", 2), "cohen_kappa", "two_raters"),
        (Facts("nominal", 2, weights="quadratic"), "cohen_kappa", "two_raters"),
        (Facts("ordinal", 2), "cohen_kappa_quadratic", "two_raters"),
        (Facts("ordinal", 2, weights="linear"), "cohen_kappa_linear", "two_raters"),
        (Facts("interval", 2, weights="custom"), "cohen_kappa_custom", "two_raters"),
        (Facts("nominal", 6), "fleiss_kappa", "nominal"),
        (Facts("nominal", 6, weights="custom"), "fleiss_kappa_custom", "nominal"),
        (Facts("ordinal", 3), "fleiss_kappa_quadratic", "ordinal"),
        (Facts("ordinal", 3, weights="custom"), "fleiss_kappa_custom", "ordinal"),
        (Facts("interval", 4, complete=True), "icc2", "complete"),
        (Facts("interval", 2, complete=True), "icc2", "complete"),
        (Facts("interval", 4), "krippendorff_alpha_interval", "incomplete"),
        (Facts("ratio", 4), "krippendorff_alpha_ratio", "incomplete"),
        (Facts("ordinal", 1), "fleiss_kappa_quadratic", "ordinal"),
    ],
)
def test_the_table_names_one_coefficient(facts, name, why):
    found = headline(facts)
    assert (found.name, found.why) == (name, why)


def test_alpha_ordinal_stands_beside_and_the_lead_may_choose():
    assert headline(Facts("ordinal", 3)).beside == ("krippendorff_alpha_ordinal",)
    chosen = headline(Facts("ordinal", 3), chosen="gwet_ac1")
    assert (chosen.name, chosen.why, chosen.over_time) == ("gwet_ac1", "chosen", "gwet_ac1")
    assert headline(Facts("ordinal", 2)).over_time == "fleiss_kappa_quadratic"
    assert headline(Facts("ratio", 3, complete=True)).over_time == "krippendorff_alpha_ratio"


def test_every_default_can_be_chosen_too():
    for scale in ("nominal", "ordinal", "interval", "ratio"):
        offered = table.choices(scale, values=[1, 2, 3], custom=True)
        for n_raters in (2, 5):
            for weights in ("none", "linear", "custom"):
                for complete in (False, True):
                    facts = Facts(scale, n_raters, weights=weights, complete=complete)
                    assert headline(facts).name in offered
    assert "icc2" not in table.choices("ordinal")
    assert "cohen_kappa_linear" not in table.choices("nominal")


def _ratings(n: int, raters: int, k: int) -> np.ndarray:
    truth = RNG.integers(0, k, n)
    noise = RNG.integers(0, k, (n, raters))
    return np.where(RNG.random((n, raters)) < 0.6, truth[:, None], noise)


def _counts(codes: np.ndarray, k: int) -> np.ndarray:
    return (codes[:, :, None] == np.arange(k)).sum(axis=1)


@pytest.mark.parametrize("weights", [None, quadratic(4)])
def test_one_rater_in_each_group_is_cohens_kappa(weights):
    codes = _ratings(60, 2, 4)
    one, other = _counts(codes[:, :1], 4), _counts(codes[:, 1:], 4)
    found = between(one, other, np.ones(60), weights=weights).reading()
    grid = np.zeros((4, 4))
    np.add.at(grid, (codes[:, 0], codes[:, 1]), 1)
    pair = cohen.kappa(grid, weights).reading()
    assert found["value"] == pytest.approx(pair["value"])
    assert found["expected"] == pytest.approx(pair["expected"])
    # the one divides by n, the other by n - 1
    assert found["se"] == pytest.approx(pair["se"] * np.sqrt(60 / 59))


@pytest.mark.parametrize("chance", ["margins", "gwet", "none"])
def test_groups_against_a_slow_count_and_a_jackknife(chance):
    codes = _ratings(150, 5, 3)
    people, models = _counts(codes[:, :3], 3), _counts(codes[:, 3:], 3)
    found = between(people, models, np.ones(150), chance=chance).reading()
    slow = np.mean([[one == other for one in row[:3] for other in row[3:]] for row in codes])
    assert found["observed"] == pytest.approx(slow)
    left_out = 1 - np.eye(150)
    values = between(people, models, left_out, chance=chance).value
    jackknife = np.sqrt(149 / 150 * ((values - values.mean()) ** 2).sum())
    assert found["se"] == pytest.approx(jackknife, rel=0.03)


def test_groups_that_share_no_item_have_no_agreement():
    found = between([[1, 0], [0, 0]], [[0, 0], [0, 1]], [3, 4]).reading()
    assert (found["value"], found["reason"]) == (None, "no_pairable_items")


def test_icc_of_counts_is_that_of_the_table():
    codes = _ratings(40, 4, 5)
    values = np.array([0.0, 1.0, 2.5, 3.0, 7.0])
    item = np.repeat(np.arange(40), 4)
    counted = patterns(item, codes.ravel(), 5)
    own = np.stack([np.bincount(column, minlength=5) for column in codes.T])
    found = icc_of_counts(counted.counts, counted.n_items, own, values)
    for name, one in icc(values[codes]).items():
        for part in ("value", "F", "ci_low", "ci_high"):
            assert getattr(found[name], part) == pytest.approx(getattr(one, part)), (name, part)


def test_icc_of_counts_is_undefined_for_the_same_reasons():
    same = np.array([[2, 0]])
    assert icc_of_counts(same, [5], [[5, 0], [5, 0]], [1, 2])["icc2"].reason == "zero_variance"
    assert icc_of_counts(same, [1], [[1, 0], [1, 0]], [1, 2])["icc2"].reason == "too_few_items"
    assert icc_of_counts(same, [5], [[5, 0]], [1, 2])["icc2"].reason == "needs_two_raters"


def test_scored_weights_between_groups_see_a_level():
    """The second group answers one higher: with weights in values this costs little."""
    codes = RNG.integers(0, 4, (200, 2))
    codes[:, 1] = codes[:, 0] + 1
    one, other = _counts(codes[:, :1], 5), _counts(codes[:, 1:], 5)
    plain = between(one, other, np.ones(200)).value
    by_value = between(one, other, np.ones(200), weights=scored(np.arange(5))).value
    assert plain < 0
    assert by_value > 0.5
