"""Bands, sensitivity, scores and diagnosis: what numbers mean in words."""

import itertools

import numpy as np
import pytest
from scipy import special

from metrics.agreement import report
from metrics.agreement.coefficients import cohen, fleiss
from metrics.agreement.coefficients import scores as coefficients_scores
from metrics.agreement.coefficients.intraclass.icc import icc
from metrics.agreement.counts import tally
from metrics.agreement.explain import bands
from metrics.agreement.explain.diagnosis import diagnose, list_confusions
from metrics.agreement.explain.sensitivity import compute_sensitivity
from tests.metrics.agreement.test_truth import CASES, codes_of, load

TRUTH = {path.stem: load(path) for path in CASES}


def counted(codes, k):
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
def test_band_of_a_value(scheme, value, name):
    band = bands.find_band(value, scheme)
    assert band and band.name == name


def test_what_is_nothing_but_rounding_is_zero():
    """0.00 had two names: slight, and poor where rounding had left it below."""
    assert bands.find_band(-1e-16) == bands.find_band(0.0)
    assert bands.find_band(0.2 + 1e-16) == bands.find_band(0.2)


@pytest.mark.parametrize(("scheme", "name", "fits"), [
    ("landis_koch", "cohen_kappa_linear", True), ("landis_koch", "icc2", False),
    ("altman", "gwet_ac1", False), ("cicchetti", "icc2", True),
    ("krippendorff", "krippendorff_alpha_ordinal", True), ("krippendorff", "fleiss_kappa", False),
])  # fmt: skip
def test_words_fit_what_they_were_made_for(scheme, name, fits):
    assert bands.is_designed_for(name, scheme) is fits


@pytest.mark.parametrize("scheme", bands.SCHEMES)
def test_bands_leave_no_gap(scheme):
    known = bands.get_bands(scheme)
    assert known[0].low == -np.inf
    assert [band.low for band in known] == sorted({band.low for band in known})
    assert all(bands.find_band(value, scheme) for value in np.linspace(-1, 1, 2001))


@pytest.mark.parametrize("scheme", bands.SCHEMES)
@pytest.mark.parametrize(
    ("value", "se"), [(0.64, 0.05), (0.99, 0.2), (-0.3, 0.01), (0.5, 0.0), (5.0, 0.01)]
)
def test_probabilities_of_bands_add_up(scheme, value, se):
    shares = bands.band_probabilities(value, se, scheme)
    assert shares
    assert all(share >= 0 for share in shares.values())
    if -1 <= value <= 1:
        assert sum(shares.values()) == pytest.approx(1)


def test_probabilities_follow_the_interval():
    shares = bands.band_probabilities(0.64, 0.05)
    assert shares and shares["substantial"] == pytest.approx(0.7875, abs=1e-4)
    for se, name in ((0.05, "moderate"), (0.001, "substantial"), (0.0, "substantial")):
        band = bands.find_safe_band(0.64, se)
        assert band and band.name == name


@pytest.mark.parametrize("df", [1, 4, 29, 1000])
def test_the_word_and_the_interval_rest_on_one_distribution(df):
    low = 0.64 - float(special.stdtrit(df, 0.975)) * 0.05
    assert bands.estimate_degrees_of_freedom(0.64, low, 0.05) == pytest.approx(df, rel=1e-6)
    # where the interval's lower end is a band's, 97.5 % lie above it, but for what is cut off at 1
    shares = bands.band_probabilities(0.4 + (0.64 - low), 0.05, df=df)
    assert shares is not None
    above = sum(shares[name] for name in ("moderate", "substantial", "almost_perfect"))
    steps = (1 - 0.4 - (0.64 - low)) / 0.05, (-1 - 0.4 - (0.64 - low)) / 0.05
    top, bottom = special.stdtr(df, steps)
    assert above == pytest.approx((top - 0.025) / (top - bottom))


def test_of_few_items_a_lower_word_is_sure():
    """Five items: the normal distribution says fair, t(4) slight."""
    low = 0.5 - float(special.stdtrit(4, 0.975)) * 0.17
    df = bands.estimate_degrees_of_freedom(0.5, low, 0.17)
    normal, by_t = bands.find_safe_band(0.5, 0.17), bands.find_safe_band(0.5, 0.17, df=df)
    assert normal and normal.name == "fair"
    assert by_t and by_t.name == "slight"


def test_without_an_interval_there_are_no_degrees_of_freedom():
    assert bands.estimate_degrees_of_freedom(0.5, None, 0.1) == np.inf
    assert bands.estimate_degrees_of_freedom(1.0, 1.0, 0.0) == np.inf
    assert bands.estimate_degrees_of_freedom(0.5, 0.5 - bands.NORMAL_QUANTILE * 0.1, 0.1) == np.inf


def test_no_value_has_no_band():
    assert bands.find_band(None) is None
    assert bands.band_probabilities(None, None) is bands.find_safe_band(0.5, None) is None


def test_unknown_scheme_names_the_known_ones():
    with pytest.raises(ValueError, match="'kappa'; one of landis_koch, fleiss, altman"):
        bands.find_band(0.5, "kappa")


def test_sensitivity_tells_whether_the_conclusion_depends_on_the_weights():
    case = TRUTH["05_seed002_custom_weights"]
    table = np.array(case["table"])
    found = compute_sensitivity(lambda w: cohen.kappa(table, w), 4, weight_matrix=case["weights"])
    names = {
        "none": "cohen_kappa",
        **{n: f"weighted_kappa_{n}" for n in ("linear", "quadratic", "custom")},
    }
    for name, key in names.items():
        assert found.values[name]["value"] == pytest.approx(case["expected"][key])
    assert {name: band and band.name for name, band in found.bands.items()} == {
        "none": "moderate", "linear": "substantial", "quadratic": "substantial", "custom": "substantial"
    }  # fmt: skip
    assert found.robust is False
    assert found.value_range == pytest.approx(0.7666214382 - 0.5146443514)


def test_sensitivity_of_something_undefined():
    found = compute_sensitivity(lambda w: cohen.kappa(np.zeros((3, 3)), w), 3)
    assert found.robust is found.value_range is None


def test_scores_are_means_of_gold():
    scores = coefficients_scores.compute_mean_scores([0, 0, 1, 2, 2, 2], [1, 3, 5, 7, np.nan, 9], 4)
    assert scores[:3].tolist() == [2, 5, 8]
    assert np.isnan(scores[3])


def test_quadratic_kappa_on_scores_is_lins_concordance_and_nearly_the_icc():
    table = np.array(TRUTH["05_seed002_custom_weights"]["table"])
    found = coefficients_scores.compute_score_agreement(table, [0, 1, 5, 20])
    assert float(found.kappa.value) == pytest.approx(float(found.concordance.value))
    n = table.sum()
    assert found.agreement.value == pytest.approx(float(found.kappa.value), abs=2 / n)
    with pytest.raises(ValueError, match="scores"):
        coefficients_scores.compute_score_agreement(table, [1, 2, 3])


def test_icc_of_bias_only():
    values = np.array([[1, 2], [4, 5], [8, 9]])
    found = icc(values)
    assert found["icc3"].value == 1
    icc2 = found["icc2"].value
    assert icc2 is not None and icc2 < 1
    assert found["icc3"].F_reason == "zero_error_variance"


def names(codes, k, **options):
    patterns, pairs = counted(codes, k)
    return {
        found.name: found
        for found in diagnose(patterns.counts, patterns.n_items, pairs=pairs, **options)
    }


def test_prevalence_paradox_is_found():
    found = names(codes_of(TRUTH["17_feinstein_cicchetti_1b"]), 2)["prevalence_paradox"]
    assert found.figures["percent_agreement"] == pytest.approx(0.85)
    assert found.figures["category"] == 0
    assert "85%" in found.sentence


def test_balanced_categories_are_no_paradox():
    assert "prevalence_paradox" not in names(codes_of(TRUTH["16_feinstein_cicchetti_1a"]), 2)


def test_constant_bias_is_consistency_without_agreement_and_rater_bias():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 4, 80)
    codes = np.column_stack([first, first + 1])
    found = names(codes, 5, ordered=True)
    assert found["consistency_only"].figures["mean_pearson"] == pytest.approx(1)
    assert found["rater_bias"].figures["differing_pairs"] == 1
    assert "consistency_only" not in names(codes, 5)


def test_unequal_numbers_of_ratings_are_found():
    codes = [[0, 0, -1, -1, -1, -1]] * 30 + [[1, 1, -1, -1, -1, -1]] * 5 + [[0, 1, 1, 1, 1, 0]] * 20
    found = names(codes, 2)["unequal_numbers"]
    assert (found.figures["fewest_ratings"], found.figures["most_ratings"]) == (2, 6)


def test_single_ratings_are_the_reason_and_not_harder_items():
    """A project that is being collected: chance is taken from the single ratings, too."""
    codes = [[0, 1]] * 9 + [[0, 0]] * 8 + [[1, -1]] * 13
    found = names(codes, 2)
    assert "unequal_numbers" not in found
    figures = found["single_ratings"].figures
    assert figures["single_items"] == 13
    paired = report(np.array(codes[:17]), 2)["fleiss_kappa"]
    assert figures["fleiss_kappa_paired"] == pytest.approx(paired)
    assert figures["fleiss_kappa"] == pytest.approx(report(np.array(codes), 2)["fleiss_kappa"])
    assert figures["fleiss_kappa"] - figures["fleiss_kappa_paired"] > 0.2
    assert "single_ratings" not in names(codes[:17], 2)


def test_a_category_that_nobody_was_compared_on_has_no_kappa():
    codes = np.array([[0, 0]] * 4 + [[1, -1]])
    counts = np.array([[2, 0, 0], [0, 1, 0]])
    n_items = np.array([4, 1])
    found = fleiss.category_kappas(counts, n_items).to_values()
    assert [one["value"] for one in found] == [None, None, None]
    assert [one["low"] for one in found] == [None, None, None]
    assert [one["reason"] for one in found] == [
        "single_category",
        "no_pairable_items",
        "single_category",
    ]
    assert report(codes, 3)["fleiss_kappa"] == 1.0  # that of all keeps its definition
    compared = fleiss.category_kappas(
        counts + np.array([[0, 0, 0], [0, 1, 0]]), n_items
    ).to_values()
    assert [one["value"] for one in compared[:2]] == [1.0, 1.0]


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
def test_few_items_that_all_agree_have_no_word(n_items, low, high, early):
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
def test_an_interval_wider_than_two_bands_has_no_word(low, high, scheme, wide):
    assert bands.is_too_wide(low, high, scheme) is wide


def test_little_overlap_is_found():
    found = names([[0, -1]] * 50 + [[0, 1]] * 5, 2)["little_overlap"]
    assert found.figures == {"rated_items": 55, "shared_items": 5}


def test_the_two_categories_that_are_confused_are_named():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 4, (200, 3))
    codes[:, 1:] = np.where(codes[:, [0]] >= 2, rng.integers(2, 4, (200, 2)), codes[:, [0]])
    codes[:20, 2] = -1
    found = names(codes, 4)["confused_categories"].figures
    disagreement = np.zeros((4, 4))
    for row in codes:
        said = row[row >= 0]
        for one, other in itertools.permutations(said, 2):
            disagreement[one, other] += (one != other) / (len(said) - 1)
    assert (found["category_a"], found["category_b"]) == (2, 3)
    assert found["share"] == pytest.approx(
        (disagreement[2, 3] + disagreement[3, 2]) / disagreement.sum()
    )
    shares = {
        (a, b): (disagreement[a, b] + disagreement[b, a]) / disagreement.sum()
        for a, b in itertools.combinations(range(4), 2)
    }
    patterns, _pairs = counted(codes, 4)
    told = list_confusions(patterns.counts, patterns.n_items)
    assert {(a, b): share for a, b, share in told} == pytest.approx(
        {pair: share for pair, share in shares.items() if share}
    )
    assert [share for _a, _b, share in told] == sorted(
        (s for s in shares.values() if s), reverse=True
    )
    assert "confused_categories" not in names(rng.integers(0, 4, (200, 3)), 4)
    assert "confused_categories" not in names(rng.integers(0, 2, (200, 3)), 2)


def test_good_data_have_no_diagnosis():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, 300)
    second = np.where(rng.random(300) < 0.9, first, rng.integers(0, 3, 300))
    assert names(np.column_stack([first, second]), 3, ordered=True) == {}
    assert diagnose(np.zeros((0, 2)), np.zeros(0)) == []
