"""Test bands, weighting sensitivity, scores and diagnosis."""

import itertools

import numpy as np
import pytest
from scipy import special

from metrics.agreement import report
from metrics.agreement.coefficients import cohen, fleiss
from metrics.agreement.coefficients.correlation import lin_ccc
from metrics.agreement.coefficients.intraclass.icc import icc
from metrics.agreement.counts import tally
from metrics.agreement.explain import bands
from metrics.agreement.explain.confusions import list_confusions
from metrics.agreement.explain.diagnosis import diagnose
from metrics.agreement.weights import score_weights
from metrics.templatetags.results import benchmark_band
from tests.metrics.agreement.test_truth import CASES, build_codes, load_case

TRUTH = {path.stem: load_case(path) for path in CASES}


def count_ratings(codes, k):
    item, rater = np.nonzero(np.asarray(codes) >= 0)
    code = np.asarray(codes)[item, rater]
    return tally.count_patterns(item, code, k), tally.count_pair_tables(item, rater, code, k)


@pytest.mark.parametrize(
    ("scheme", "value", "name"),
    [
        ("landis_koch", -0.01, "poor"), ("landis_koch", -0.004, "slight"), ("landis_koch", -0.006, "poor"),
        ("landis_koch", 0, "slight"), ("landis_koch", 0.004, "slight"), ("landis_koch", 0.2, "slight"),
        ("landis_koch", 0.205, "fair"), ("landis_koch", 0.6, "moderate"), ("landis_koch", 0.64, "substantial"),
        ("landis_koch", 0.8, "substantial"), ("landis_koch", 1, "almost_perfect"), ("fleiss", 0.39, "poor"),
        ("fleiss", 0.4, "fair_to_good"), ("fleiss", 0.75, "fair_to_good"), ("fleiss", 0.76, "excellent"),
        ("altman", 0.2, "poor"), ("altman", 0.61, "good"), ("cicchetti", 0.6, "good"), ("cicchetti", 0.75, "excellent"),
        ("krippendorff", 0.66, "unreliable"), ("krippendorff", 0.667, "tentative"), ("krippendorff", 0.8, "reliable"),
    ],
)  # fmt: skip
def test_value_falls_into_its_band(scheme, value, name):
    band = bands.find_band(value, scheme)
    assert band and band.name == name


def test_rounding_noise_counts_as_zero():
    """Regression: 0.00 had two names, slight, and poor where rounding had left it below zero."""
    assert bands.find_band(-1e-16) == bands.find_band(0.0)
    assert bands.find_band(0.2 + 1e-16) == bands.find_band(0.2)


@pytest.mark.parametrize(("scheme", "name", "fits"), [
    ("landis_koch", "cohen_kappa_linear", True), ("landis_koch", "icc2", False),
    ("altman", "gwet_ac1", False), ("cicchetti", "icc2", True),
    ("krippendorff", "krippendorff_alpha_ordinal", True), ("krippendorff", "fleiss_kappa", False),
])  # fmt: skip
def test_bands_apply_only_to_their_coefficients(scheme, name, fits):
    assert bands.is_designed_for(name, scheme) is fits


@pytest.mark.parametrize("scheme", bands.SCHEMES)
def test_bands_have_no_gaps(scheme):
    scheme_bands = bands.get_bands(scheme)
    assert scheme_bands[0].low == -np.inf
    assert [band.low for band in scheme_bands] == sorted({band.low for band in scheme_bands})
    assert all(bands.find_band(value, scheme) for value in np.linspace(-1, 1, 2001))


@pytest.mark.parametrize("scheme", bands.SCHEMES)
@pytest.mark.parametrize(
    ("value", "se"), [(0.64, 0.05), (0.99, 0.2), (-0.3, 0.01), (0.5, 0.0), (5.0, 0.01)]
)
def test_band_probabilities_sum_to_one(scheme, value, se):
    shares = bands.band_probabilities(value, se, scheme)
    assert shares
    assert all(share >= 0 for share in shares.values())
    if -1 <= value <= 1:
        assert sum(shares.values()) == pytest.approx(1)


def test_band_probabilities_follow_the_interval():
    shares = bands.band_probabilities(0.64, 0.05)
    assert shares and shares["substantial"] == pytest.approx(0.7875, abs=1e-4)
    for se, name in ((0.05, "moderate"), (0.001, "substantial"), (0.0, "substantial")):
        band = bands.find_benchmark_band(0.64, se)
        assert band and band.name == name


@pytest.mark.parametrize("df", [1, 4, 29, 1000])
def test_band_and_interval_use_the_same_distribution(df):
    low = 0.64 - float(special.stdtrit(df, 0.975)) * 0.05
    # where the interval's lower end is a band's, 97.5 % lie above it, but for what is cut off at 1
    shares = bands.band_probabilities(0.4 + (0.64 - low), 0.05, df=df)
    assert shares is not None
    above = sum(shares[name] for name in ("moderate", "substantial", "almost_perfect"))
    standardized_ends = (1 - 0.4 - (0.64 - low)) / 0.05, (-1 - 0.4 - (0.64 - low)) / 0.05
    top, bottom = special.stdtr(df, standardized_ends)
    assert above == pytest.approx((top - 0.025) / (top - bottom))


def test_wide_interval_gives_a_lower_safe_band():
    """The lower half of the interval stands for 1.96 standard errors."""
    estimate = {"value": 0.5, "se": 0.17, "low": 0.5 - 1.96 * 0.17}
    assert benchmark_band(estimate, "landis_koch") == "fair"
    assert benchmark_band(estimate | {"low": 0.03}, "landis_koch") == "slight"
    assert benchmark_band(estimate | {"low": None}, "landis_koch") == ""
    # Full agreement of a few items has a standard error of 0, and an interval.
    assert benchmark_band({"value": 1.0, "se": 0.0, "low": 0.2}, "landis_koch") == "fair"


def test_missing_value_has_no_band():
    assert bands.find_band(None) is None
    assert bands.band_probabilities(None, None) is bands.find_benchmark_band(0.5, None) is None


def test_unknown_scheme_error_lists_the_valid_ones():
    with pytest.raises(ValueError, match="'kappa'; one of landis_koch, fleiss, altman"):
        bands.find_band(0.5, "kappa")


def test_quadratic_kappa_on_scores_equals_lins_concordance():
    table, scores = np.array(TRUTH["05_seed002_custom_weights"]["table"]), np.array([0, 1, 5, 20])
    kappa = float(cohen.kappa(table, score_weights(scores)).value)
    assert kappa == pytest.approx(float(lin_ccc(table, scores).value))
    cells = np.repeat(np.argwhere(np.ones_like(table)), table.ravel(), axis=0)
    assert icc(scores[cells])["icc2"].value == pytest.approx(kappa, abs=2 / table.sum())


def test_icc_of_pure_bias():
    values = np.array([[1, 2], [4, 5], [8, 9]])
    icc_by_name = icc(values)
    assert icc_by_name["icc3"].value == 1
    icc2 = icc_by_name["icc2"].value
    assert icc2 is not None and icc2 < 1
    assert icc_by_name["icc3"].F_reason == "zero_error_variance"


def diagnose_by_name(codes, k, **options):
    patterns, pairs = count_ratings(codes, k)
    return {
        finding.name: finding
        for finding in diagnose(patterns.counts, patterns.n_items, pairs=pairs, **options)
    }


def test_prevalence_paradox_is_found():
    finding = diagnose_by_name(build_codes(TRUTH["17_feinstein_cicchetti_1b"]), 2)[
        "prevalence_paradox"
    ]
    assert finding.figures["percent_agreement"] == pytest.approx(0.85)
    assert finding.figures["category"] == 0
    assert "85%" in finding.sentence


def test_balanced_categories_give_no_paradox():
    assert "prevalence_paradox" not in diagnose_by_name(
        build_codes(TRUTH["16_feinstein_cicchetti_1a"]), 2
    )


def test_constant_bias_is_diagnosed():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 4, 80)
    codes = np.column_stack([first, first + 1])
    findings = diagnose_by_name(codes, 5, ordered=True)
    assert findings["consistency_only"].figures["mean_pearson"] == pytest.approx(1)
    assert findings["rater_bias"].figures["differing_pairs"] == 1
    assert "consistency_only" not in diagnose_by_name(codes, 5)


def test_unequal_numbers_of_ratings_are_found():
    pairs = [[0, 0, -1, -1, -1, -1]] * 30 + [[1, 1, -1, -1, -1, -1]] * 5
    several = [[0, 1, -1, -1, -1, -1]] * 5 + [[0, 1, 1, -1, -1, -1]] * 2
    finding = diagnose_by_name([*pairs, *several], 2)["unequal_numbers"]
    assert (finding.figures["fewest_ratings"], finding.figures["most_ratings"]) == (2, 3)
    apart = diagnose_by_name([*pairs, *[[0, 1, 1, 1, 1, 0]] * 20], 2)
    assert "definitions_apart" in apart  # which compares both definitions, too
    assert "unequal_numbers" not in apart


def test_single_ratings_are_diagnosed_instead_of_unequal_numbers():
    """In an unfinished project, single ratings count in the chance agreement, too."""
    codes = [[0, 1]] * 9 + [[0, 0]] * 8 + [[1, -1]] * 13
    findings = diagnose_by_name(codes, 2)
    assert "unequal_numbers" not in findings
    figures = findings["single_ratings"].figures
    assert figures["single_items"] == 13
    paired_kappa = report(np.array(codes[:17]), 2)["fleiss_kappa"]
    assert figures["fleiss_kappa_paired"] == pytest.approx(paired_kappa)
    assert figures["fleiss_kappa"] == pytest.approx(report(np.array(codes), 2)["fleiss_kappa"])
    assert figures["fleiss_kappa"] - figures["fleiss_kappa_paired"] > 0.2
    assert "single_ratings" not in diagnose_by_name(codes[:17], 2)


def test_category_without_compared_ratings_has_no_kappa():
    codes = np.array([[0, 0]] * 4 + [[1, -1]])
    counts = np.array([[2, 0, 0], [0, 1, 0]])
    n_items = np.array([4, 1])
    values = fleiss.category_kappas(counts, n_items).to_values()
    assert [value["value"] for value in values] == [None, None, None]
    assert [value["low"] for value in values] == [None, None, None]
    assert [value["reason"] for value in values] == [
        "single_category",
        "no_pairable_items",
        "single_category",
    ]
    assert report(codes, 3)["fleiss_kappa"] == 1.0  # that of all keeps its definition
    values_with_pairs = fleiss.category_kappas(
        counts + np.array([[0, 0, 0], [0, 1, 0]]), n_items
    ).to_values()
    assert [value["value"] for value in values_with_pairs[:2]] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("n_items", "low", "high", "early"),
    [
        (4, 1.0, 1.0, True),
        (29, 1.0, 1.0, True),
        (30, 1.0, 1.0, False),
        (12, 0.9, 1.0, False),
        (5, -1e-17, 1e-17, True),  # the same but for rounding
    ],
)
def test_few_unanimous_items_are_inconclusive(n_items, low, high, early):
    assert bands.is_inconclusive(n_items, low, high) is early


@pytest.mark.parametrize(
    ("low", "high", "scheme", "wide"),
    [
        (0.58, 0.82, "landis_koch", False),
        (0.45, 0.84, "landis_koch", False),
        (0.51, 1.0, "landis_koch", True),
        (-0.42, 0.35, "landis_koch", True),
        (0.1, 0.7, "landis_koch", True),
        (0.3, 0.8, "fleiss", False),
        (0.1, 0.8, "fleiss", True),
    ],
)
def test_interval_wider_than_two_bands_is_too_wide(low, high, scheme, wide):
    assert bands.is_too_wide(low, high, scheme) is wide


def test_little_overlap_is_found():
    finding = diagnose_by_name([[0, -1]] * 50 + [[0, 1]] * 5, 2)["little_overlap"]
    assert finding.figures == {"rated_items": 55, "shared_items": 5}


def test_most_confused_pair_of_categories_is_named():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 4, (200, 3))
    codes[:, 1:] = np.where(codes[:, [0]] >= 2, rng.integers(2, 4, (200, 2)), codes[:, [0]])
    codes[:60, 2] = -1  # an item with three ratings has three comparisons
    figures = diagnose_by_name(codes, 4)["confused_categories"].figures
    disagreement = np.zeros((4, 4))
    for row in codes:
        item_codes = row[row >= 0]
        for first, second in itertools.permutations(item_codes, 2):
            disagreement[first, second] += first != second
    assert (figures["category_a"], figures["category_b"]) == (2, 3)
    assert figures["differing_pairs"] == disagreement.sum() / 2
    assert figures["share"] == pytest.approx(
        (disagreement[2, 3] + disagreement[3, 2]) / disagreement.sum()
    )
    shares = {
        (a, b): (disagreement[a, b] + disagreement[b, a]) / disagreement.sum()
        for a, b in itertools.combinations(range(4), 2)
    }
    patterns, _pairs = count_ratings(codes, 4)
    confused_pairs = list_confusions(patterns.counts, patterns.n_items)
    assert {(a, b): share for a, b, share in confused_pairs} == pytest.approx(
        {pair: share for pair, share in shares.items() if share}
    )
    assert [share for _a, _b, share in confused_pairs] == sorted(
        (s for s in shares.values() if s), reverse=True
    )
    assert "confused_categories" not in diagnose_by_name(rng.integers(0, 4, (200, 3)), 4)
    assert "confused_categories" not in diagnose_by_name(rng.integers(0, 2, (200, 3)), 2)


def test_good_data_have_no_diagnosis():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, 300)
    second = np.where(rng.random(300) < 0.9, first, rng.integers(0, 3, 300))
    assert diagnose_by_name(np.column_stack([first, second]), 3, ordered=True) == {}
    assert diagnose(np.zeros((0, 2)), np.zeros(0)) == []
