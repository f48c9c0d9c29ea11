"""Test report(): invalid input raises errors with its position, and other libraries agree."""

import itertools

import krippendorff
import numpy as np
import pytest

from metrics.agreement import report, scale_coefficients
from metrics.agreement.coefficients import marginal_tests


@pytest.mark.parametrize(
    ("codes", "k", "message"),
    [
        ([[0, 1]], 1, "at least two categories, not 1"),
        ([[0, 1]], 0, "at least two categories, not 0"),
        ([[0, 1]], ["only"], "at least two categories, not 1"),
        (
            [[0, 1], [0, 3]],
            3,
            r"row 1, column 1: code 3 is not allowed; one of 0\.\.2, or -1 for a missing rating",
        ),
        ([[0, -2]], 3, "row 0, column 1: code -2"),
        ([[0, 0.5]], 3, r"row 0, column 1: code 0\.5"),
        ([[0, float("nan")]], 3, "row 0, column 1: code nan"),
        ([[0, "a"]], 3, r"integers: 0\.\.2"),
        ([[0, None]], 3, "row 0, column 1: code None"),
        ([[0, 1], [0]], 3, "rows of equal length"),
        ([0, 1], 3, r"\(items x raters\) array"),
        ([], 3, r"\(items x raters\) array"),
    ],
)
def test_invalid_codes_raise_errors_with_their_position(codes, k, message):
    with pytest.raises(ValueError, match=message):
        report(codes, k)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2], "3 numbers, one for each category, not 2"),
        ([1, "b", 2], "3 numbers"),
        ([1, 2, np.inf], "value 2"),
    ],
)
def test_invalid_values_raise_errors(values, message):
    with pytest.raises(ValueError, match=message):
        report([[0, 1]], 3, values)


def test_asymmetric_matrix_raises_an_error():
    with pytest.raises(ValueError, match="symmetric"):
        report([[0, 1]], 2, weight_matrix=[[1.0, 0.0], [0.5, 1.0]])


def test_lists_floats_and_small_integers_give_the_same_report():
    codes = [[0, 1, -1], [1, 1, 0]]
    expected = report(codes, 2)
    assert (
        report(np.array(codes, np.int8), 2)
        == report(np.array(codes, float), ["no", "yes"])
        == expected
    )


@pytest.mark.parametrize(
    "codes", [np.zeros((0, 2), int), np.full((3, 2), -1), np.zeros((3, 1), int), [[0]]]
)
def test_report_without_pairs_is_undefined_with_reasons(codes):
    values_by_name = report(codes, 2)
    for name in (
        "fleiss_kappa",
        "cohen_kappa",
        "krippendorff_alpha_nominal",
        "conger_kappa",
        "icc2",
        "light_kappa",
    ):
        assert values_by_name[name] is None
        assert values_by_name[f"{name}.reason"]
    assert values_by_name["fleiss_kappa.reason"] == "no_pairable_items"


def test_three_raters_have_no_two_rater_coefficients():
    values_by_name = report([[0, 1, 1], [1, 1, 0]], 2)
    assert values_by_name["cohen_kappa"] is None
    assert values_by_name["cohen_kappa.reason"] == "needs_two_raters"
    assert sorted(values_by_name["pairwise"]) == ["1-2", "1-3", "2-3"]


def test_pairwise_names_raters_by_their_column():
    assert list(report([[0, -1, 1], [1, -1, 1]], 2)["pairwise"]) == ["1-3"]


@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval", "ratio"])
@pytest.mark.parametrize("seed", range(5))
def test_alpha_equals_the_krippendorff_package(metric, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(-1, 5, (30, 4))
    values = np.array([1.0, 2, 3, 5, 8])
    expected = krippendorff.alpha(
        reliability_data=np.where(codes < 0, np.nan, values[codes]).T,
        level_of_measurement=metric,
        value_domain=list(values),
    )
    assert report(codes, 5, values)[f"krippendorff_alpha_{metric}"] == pytest.approx(
        expected, abs=1e-10
    )


def test_stuart_maxwell_adds_separate_groups_of_categories():
    table = np.array([[5, 3, 0, 0], [1, 5, 0, 0], [0, 0, 5, 4], [0, 0, 1, 5]])
    test_result = marginal_tests.stuart_maxwell(table)
    assert test_result.df == 2
    group_tests = [marginal_tests.mcnemar(group) for group in (table[:2, :2], table[2:, 2:])]
    assert test_result.chi2 == pytest.approx(sum(float(test.chi2) for test in group_tests))


def test_mcnemar_needs_two_categories():
    with pytest.raises(ValueError, match="2 x 2 tables, not 3 x 3"):
        marginal_tests.mcnemar(np.zeros((3, 3)))


def test_kappa_never_exceeds_its_maximum():
    for cells in itertools.product(range(3), repeat=4):
        estimates = scale_coefficients.table_coefficients(
            np.reshape(cells, (2, 2)), scale="nominal"
        )
        if estimates["cohen_kappa"].reason == 0:
            assert estimates["cohen_kappa"].value <= estimates["kappa_max"].value + 1e-12


def test_scale_decides_which_coefficients_are_computed():
    counts, n_items = np.array([[2, 1], [0, 3]]), np.array([4, 5])
    nominal = scale_coefficients.pattern_coefficients(counts, n_items, scale="nominal")
    assert not any("linear" in name or "ordinal" in name for name in nominal)
    ordinal = scale_coefficients.pattern_coefficients(counts, n_items, scale="ordinal")
    assert {"fleiss_kappa_quadratic", "krippendorff_alpha_ordinal"} <= ordinal.keys()
    assert "krippendorff_alpha_interval" not in ordinal
    selected = scale_coefficients.pattern_coefficients(
        counts, n_items, scale="nominal", names=["fleiss_kappa"]
    )
    assert list(selected) == ["fleiss_kappa"]
    with pytest.raises(ValueError, match="unknown for this scale: kappa; one of percent_agreement"):
        scale_coefficients.pattern_coefficients(counts, n_items, scale="nominal", names=["kappa"])
    with pytest.raises(ValueError, match="'cardinal'; one of nominal, ordinal"):
        scale_coefficients.pattern_coefficients(counts, n_items, scale="cardinal")


@pytest.mark.parametrize(
    "codes",
    [
        [[1, 2, 1], [1, 0, -1], [2, -1, 0], [2, 1, -1], [1, -1, 0], [1, 1, 2], [1, -1, 0]],
        [[1, 1, 1, 2], [3, 1, 0, 1], [2, 0, 0, 3]],
        [[2, 0, 3], [0, 3, 2]],
        [[0, 0, 2], [0, 1, 1], [0, 0, 2]],
        [[1, 1, 1], [0, 0, 2]],
    ],
)
def test_icc_does_not_depend_on_rounding_of_sums(codes):
    """Denominators that are zero but for rounding are undefined in any order of items and raters."""
    codes = np.array(codes)
    expected = report(codes, 4)
    names = [name for name in expected if name.startswith("icc") and not name.endswith(".reason")]
    for order in itertools.permutations(range(codes.shape[1])):
        for permuted in (report(codes[:, order], 4), report(codes[::-1, order], 4)):
            for name in names:
                assert (permuted[name] is None) == (expected[name] is None), name
                assert expected[name] is None or permuted[name] == pytest.approx(
                    expected[name], rel=1e-6, abs=1e-9
                ), name
