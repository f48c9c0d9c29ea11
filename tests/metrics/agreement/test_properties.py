"""Tests of properties of every coefficient on random ratings: invariances, a slow oracle."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metrics.agreement import COEFFICIENTS, pattern_coefficients, report, table_coefficients
from metrics.agreement.counts import tally
from metrics.agreement.registry import list_report_names
from tests.metrics.agreement import oracles

EXAMPLES = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])

NAMES = [name for entry in COEFFICIENTS for name in list_report_names(entry)]
SIGNED_BY_RATER_ORDER = {"bias_index"}  # changes sign when the two raters are swapped
IGNORES_CATEGORY_ORDER = [
    "percent_agreement", "fleiss_kappa", "fleiss_kappa_gwet", "conger_kappa", "light_kappa", "gwet_ac1",
    "brennan_prediger", "krippendorff_alpha_nominal", "cohen_kappa", "scott_pi", "pabak", "bowker.chi2",
    "stuart_maxwell.chi2", "kappa_max",
]  # fmt: skip
IGNORES_UNUSED_CATEGORIES = [
    name for name in IGNORES_CATEGORY_ORDER if name not in ("gwet_ac1", "brennan_prediger", "pabak")
]
USES_ONLY_PAIRS = [
    "percent_agreement", "light_kappa", "cohen_kappa", "scott_pi", "pabak", "pearson", "spearman", "kendall_tau_b",
    "lin_ccc", "krippendorff_alpha_nominal", "krippendorff_alpha_ordinal", "krippendorff_alpha_interval",
    "krippendorff_alpha_ratio", "weighted_kappa_linear", "weighted_kappa_quadratic", "kappa_max",
]  # fmt: skip


@st.composite
def ratings(draw, min_raters=2, max_raters=4, min_items=1, missing=True):
    """Draw codes (items x raters) and k."""
    k = draw(st.integers(2, 4))
    n_raters = draw(st.integers(min_raters, max_raters))
    code = st.integers(-1 if missing else 0, k - 1)
    rows = draw(
        st.lists(
            st.lists(code, min_size=n_raters, max_size=n_raters), min_size=min_items, max_size=9
        )
    )
    return np.array(rows), k


def is_same(value, expected):
    if isinstance(value, list):
        return len(value) == len(expected) and all(map(is_same, value, expected))
    if value is None or expected is None:
        return value is expected
    return value == pytest.approx(expected, rel=1e-9, abs=1e-9)


def assert_same_report(actual, expected, names=NAMES):
    differing = {
        name: (actual[name], expected[name])
        for name in names
        if not is_same(actual[name], expected[name])
    }
    assert not differing


WEIGHTED_ORACLES = {
    "percent_agreement": oracles.percent_agreement,
    "fleiss_kappa": oracles.fleiss_kappa,
    "fleiss_kappa_gwet": oracles.fleiss_kappa_gwet,
    "gwet_ac2": oracles.gwet_ac,
    "brennan_prediger": oracles.brennan_prediger,
    "conger_kappa": oracles.conger_kappa,
}


@EXAMPLES
@given(ratings())
def test_values_equal_the_oracle(case):
    codes, k = case
    rows = [[None if code < 0 else int(code) for code in row] for row in codes]
    values = [1, 2, 4, 7][:k]
    values_by_name = report(codes, k, values)
    for suffix, weights in (
        ("", oracles.identity_weights),
        ("_linear", oracles.linear_weights),
        ("_quadratic", oracles.quadratic_weights),
    ):
        for name, oracle in WEIGHTED_ORACLES.items():
            key = "gwet_ac1" if (name, suffix) == ("gwet_ac2", "") else name + suffix
            assert is_same(values_by_name[key], to_float(oracle(rows, k, weights(k)))), key
        pairs = [oracles.cohen_kappa(rows, k, weights(k), a, b) for a, b in list_pairs(codes)]
        defined = [value for value in pairs if value is not None]
        assert is_same(
            values_by_name["light_kappa" + suffix], to_float(oracles.compute_mean(defined))
        )
    for metric in ("nominal", "ordinal", "interval", "ratio"):
        assert is_same(
            values_by_name[f"krippendorff_alpha_{metric}"],
            to_float(oracles.krippendorff_alpha(rows, k, metric, values)),
        ), metric


def list_pairs(codes):
    return [(a, b) for b in range(codes.shape[1]) for a in range(b)]


def to_float(value):
    return None if value is None else float(value)


@EXAMPLES
@given(ratings(max_raters=2))
def test_values_of_two_raters_equal_the_oracle(case):
    codes, k = case
    rows = [[None if code < 0 else int(code) for code in row] for row in codes]
    values_by_name = report(codes, k)
    assert is_same(
        values_by_name["cohen_kappa"],
        to_float(oracles.cohen_kappa(rows, k, oracles.identity_weights(k))),
    )
    assert is_same(
        values_by_name["weighted_kappa_linear"],
        to_float(oracles.cohen_kappa(rows, k, oracles.linear_weights(k))),
    )
    assert is_same(
        values_by_name["weighted_kappa_quadratic"],
        to_float(oracles.cohen_kappa(rows, k, oracles.quadratic_weights(k))),
    )
    assert is_same(
        values_by_name["scott_pi"], to_float(oracles.scott_pi(rows, k, oracles.identity_weights(k)))
    )


@EXAMPLES
@given(ratings(), st.randoms(use_true_random=False))
def test_order_of_items_does_not_matter(case, random):
    codes, k = case
    order = random.sample(range(len(codes)), len(codes))
    assert_same_report(report(codes, k), report(codes[order], k))


@EXAMPLES
@given(ratings(), st.randoms(use_true_random=False))
def test_order_of_raters_does_not_matter(case, random):
    codes, k = case
    order = random.sample(range(codes.shape[1]), codes.shape[1])
    names = [name for name in NAMES if name not in SIGNED_BY_RATER_ORDER]
    assert_same_report(report(codes, k), report(codes[:, order], k), names)


@EXAMPLES
@given(ratings(), st.randoms(use_true_random=False))
def test_names_of_nominal_categories_do_not_matter(case, random):
    codes, k = case
    renamed = np.array([*random.sample(range(k), k), -1])[codes]
    assert_same_report(report(codes, k), report(renamed, k), IGNORES_CATEGORY_ORDER)


@EXAMPLES
@given(ratings())
def test_direction_of_a_scale_does_not_matter(case):
    codes, k = case
    reversed_codes = np.where(codes < 0, -1, k - 1 - codes)
    names = [name for name in NAMES if name.split(".")[0] not in
             {"krippendorff_alpha_ratio", "prevalence_index", "bias_index", "fleiss_kappa_category",
              "cohen_kappa_category"}]  # fmt: skip
    assert_same_report(report(codes, k), report(reversed_codes, k), names)


@EXAMPLES
@given(ratings(), st.integers(0, 3), st.integers(0, 1))
def test_item_with_one_rating_changes_no_pair_coefficient(case, rater, code):
    codes, k = case
    rater %= codes.shape[1]
    if not (codes[:, rater] >= 0).any():
        return  # the rating would add a rater
    single = np.full((1, codes.shape[1]), -1)
    single[0, rater] = code
    assert_same_report(report(codes, k), report(np.vstack([codes, single]), k), USES_ONLY_PAIRS)


@EXAMPLES
@given(ratings())
def test_unused_category_changes_no_unweighted_coefficient(case):
    codes, k = case
    assert_same_report(report(codes, k), report(codes, k + 1), IGNORES_UNUSED_CATEGORIES)


@EXAMPLES
@given(ratings())
def test_unrated_items_and_idle_raters_are_ignored(case):
    codes, k = case
    if (codes < 0).all(axis=0).any():
        return
    wider = np.pad(codes, ((0, 1), (0, 1)), constant_values=-1)
    assert_same_report(report(codes, k), report(wider, k))


@EXAMPLES
@given(ratings())
def test_values_lie_in_registry_range_and_in_their_interval(case):
    codes, k = case
    values_by_name = report(codes, k)
    for entry in COEFFICIENTS:
        low, high = COEFFICIENTS[entry].low, COEFFICIENTS[entry].high
        for name in list_report_names(entry):
            for value in (
                values_by_name[name]
                if isinstance(values_by_name[name], list)
                else [values_by_name[name]]
            ):
                if value is None:
                    continue
                assert low is None or value >= low - 1e-9, name
                assert high is None or value <= high + 1e-9, name
            if values_by_name.get(f"{name}.se") is not None:
                assert values_by_name[f"{name}.ci_low"] <= values_by_name[name] + 1e-12
                assert values_by_name[name] <= values_by_name[f"{name}.ci_high"] + 1e-9


@EXAMPLES
@given(ratings())
def test_undefined_values_have_a_reason_from_the_registry(case):
    codes, k = case
    values_by_name = report(codes, k)
    for entry, coefficient in COEFFICIENTS.items():
        for name in list_report_names(entry):
            if values_by_name[name] is None:
                assert values_by_name[f"{name}.reason"] in coefficient.undefined, name


@EXAMPLES
@given(ratings(missing=False, min_items=2))
def test_raters_who_all_agree_have_full_agreement(case):
    codes, k = case
    agreeing = np.repeat(codes[:, :1], codes.shape[1], axis=1)
    values_by_name = report(agreeing, k)
    distinct = len(np.unique(agreeing)) > 1
    for name in ("percent_agreement", "gwet_ac1", "brennan_prediger"):
        assert values_by_name[name] == pytest.approx(1)
    for name in ("fleiss_kappa", "conger_kappa", "krippendorff_alpha_ordinal", "light_kappa"):
        assert is_same(values_by_name[name], 1.0 if distinct else None)


@EXAMPLES
@given(ratings(max_raters=2, missing=False, min_items=2))
def test_identities_of_two_raters_with_complete_data(case):
    codes, k = case
    values_by_name, n = report(codes, k), len(codes)
    factor = np.sqrt(n / (n - 1))
    for first_name, second_name in (
        ("conger_kappa", "cohen_kappa"),
        ("fleiss_kappa", "scott_pi"),
        ("pabak", "brennan_prediger"),
    ):
        assert is_same(values_by_name[first_name], values_by_name[second_name]), (
            first_name,
            second_name,
        )
    for suffix in ("_linear", "_quadratic"):
        assert is_same(
            values_by_name["conger_kappa" + suffix], values_by_name["weighted_kappa" + suffix]
        )
    for name in ("gwet_ac1", "brennan_prediger", "percent_agreement"):
        assert is_same(values_by_name[f"{name}.se"], values_by_name[f"{name}.se_table"] * factor)
    if values_by_name["cohen_kappa.se"] is not None:
        assert is_same(values_by_name["conger_kappa.se"], values_by_name["cohen_kappa.se"] * factor)
        assert values_by_name["cohen_kappa"] <= values_by_name["kappa_max"] + 1e-12
    if values_by_name["scott_pi.se"] is not None:
        assert is_same(values_by_name["fleiss_kappa.se"], values_by_name["scott_pi.se"] * factor)
    if values_by_name["lin_ccc"] is not None:
        assert is_same(values_by_name["weighted_kappa_quadratic"], values_by_name["lin_ccc"])


@EXAMPLES
@given(ratings(missing=False, min_items=2))
def test_identities_of_equal_numbers_of_ratings(case):
    codes, k = case
    values_by_name, size = report(codes, k), codes.size
    for suffix in ("", ".se"):
        assert is_same(
            values_by_name[f"fleiss_kappa{suffix}"], values_by_name[f"fleiss_kappa_gwet{suffix}"]
        )
    if values_by_name["fleiss_kappa"] is not None:
        assert is_same(
            values_by_name["krippendorff_alpha_nominal"],
            1 - (1 - values_by_name["fleiss_kappa"]) * (size - 1) / size,
        )
        quadratic = 1 - (1 - values_by_name["fleiss_kappa_quadratic"]) * (size - 1) / size
        assert is_same(values_by_name["krippendorff_alpha_interval"], quadratic)


@EXAMPLES
@given(ratings(), st.integers(0, 9))
def test_batches_of_items_add_up(case, cut):
    codes, k = case
    item, rater = np.nonzero(codes >= 0)
    code = codes[item, rater]
    in_first_batch = item < cut
    all_counts = tally.count_patterns(item, code, k)
    summed_counts = tally.count_patterns(
        item[in_first_batch], code[in_first_batch], k
    ) + tally.count_patterns(item[~in_first_batch], code[~in_first_batch], k)
    assert summed_counts == all_counts
    of_all, of_sum = (
        pattern_coefficients(pattern_counts.counts, pattern_counts.n_items, scale="ordinal")
        for pattern_counts in (all_counts, summed_counts)
    )
    assert all(of_all[name].to_value() == of_sum[name].to_value() for name in of_all)


@EXAMPLES
@given(st.lists(ratings(min_raters=3, max_raters=3), min_size=2, max_size=4))
def test_batch_computation_equals_single_computation(cases):
    patterns = []
    for day, (codes, _) in enumerate(cases):
        item, rater = np.nonzero(codes >= 0)
        patterns.append(
            tally.count_patterns(item, codes[item, rater], 4, day=np.full(item.size, day))
        )
    all_counts = sum(patterns[1:], patterns[0])
    days, counts, n_items = all_counts.split_by_day()
    batch = pattern_coefficients(counts, n_items, scale="interval", values=[1, 2, 4, 8])
    for row, day in enumerate(days.tolist()):
        of_day = all_counts.day == day
        single = pattern_coefficients(
            all_counts.counts[of_day],
            all_counts.n_items[of_day],
            scale="interval",
            values=[1, 2, 4, 8],
        )
        for name, estimate in batch.items():
            single_value = dict(single[name].to_value())
            for key, value in estimate.to_value((row,)).items():
                expected = single_value[key]
                assert value == expected or is_same(value, expected), (name, key)


@EXAMPLES
@given(ratings(min_raters=3))
def test_all_pairs_in_batch_equal_each_pair(case):
    codes, k = case
    item, rater = np.nonzero(codes >= 0)
    pairs = tally.count_pair_tables(item, rater, codes[item, rater], k)
    batch = table_coefficients(pairs.tables, scale="ordinal")
    for index in range(len(pairs)):
        values_by_name = report(codes[:, [pairs.rater_a[index], pairs.rater_b[index]]], k)
        for name in (
            "cohen_kappa",
            "scott_pi",
            "weighted_kappa_linear",
            "pearson",
            "kendall_tau_b",
            "lin_ccc",
        ):
            assert is_same(batch[name].to_value((index,))["value"], values_by_name[name]), name
            assert is_same(
                batch[name].to_value((index,))["se"], values_by_name.get(f"{name}.se")
            ), name
