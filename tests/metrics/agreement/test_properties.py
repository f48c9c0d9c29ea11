"""Properties of every coefficient, on random ratings: equal to the slow oracle, unmoved by what
must not matter."""

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
ONE_DIRECTION = {"bias_index"}  # changes sign when the two raters change places
ORDER_FREE = [
    "percent_agreement", "fleiss_kappa", "fleiss_kappa_gwet", "conger_kappa", "light_kappa", "gwet_ac1",
    "brennan_prediger", "krippendorff_alpha_nominal", "cohen_kappa", "scott_pi", "pabak", "bowker.chi2",
    "stuart_maxwell.chi2", "kappa_max",
]  # fmt: skip
BLIND_TO_UNUSED = [
    name for name in ORDER_FREE if name not in ("gwet_ac1", "brennan_prediger", "pabak")
]
FROM_PAIRS = [
    "percent_agreement", "light_kappa", "cohen_kappa", "scott_pi", "pabak", "pearson", "spearman", "kendall_tau_b",
    "lin_ccc", "krippendorff_alpha_nominal", "krippendorff_alpha_ordinal", "krippendorff_alpha_interval",
    "krippendorff_alpha_ratio", "weighted_kappa_linear", "weighted_kappa_quadratic", "kappa_max",
]  # fmt: skip


@st.composite
def ratings(draw, min_raters=2, max_raters=4, min_items=1, missing=True):
    """codes (items x raters), k."""
    k = draw(st.integers(2, 4))
    n_raters = draw(st.integers(min_raters, max_raters))
    code = st.integers(-1 if missing else 0, k - 1)
    rows = draw(
        st.lists(
            st.lists(code, min_size=n_raters, max_size=n_raters), min_size=min_items, max_size=9
        )
    )
    return np.array(rows), k


def same(one, other):
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if one is None or other is None:
        return one is other
    return one == pytest.approx(other, rel=1e-9, abs=1e-9)


def assert_same_report(one, other, names=NAMES):
    differing = {
        name: (one[name], other[name]) for name in names if not same(one[name], other[name])
    }
    assert not differing


WEIGHTED = {
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
    plain = [[None if code < 0 else int(code) for code in row] for row in codes]
    values = [1, 2, 4, 7][:k]
    found = report(codes, k, values)
    for suffix, weights in (
        ("", oracles.none),
        ("_linear", oracles.linear),
        ("_quadratic", oracles.quadratic),
    ):
        for name, oracle in WEIGHTED.items():
            key = "gwet_ac1" if (name, suffix) == ("gwet_ac2", "") else name + suffix
            assert same(found[key], fraction(oracle(plain, k, weights(k)))), key
        pairs = [oracles.cohen_kappa(plain, k, weights(k), a, b) for a, b in pairs_of(codes)]
        defined = [value for value in pairs if value is not None]
        assert same(found["light_kappa" + suffix], fraction(oracles.mean(defined)))
    for metric in ("nominal", "ordinal", "interval", "ratio"):
        assert same(
            found[f"krippendorff_alpha_{metric}"], fraction(oracles.alpha(plain, k, metric, values))
        ), metric


def pairs_of(codes):
    return [(a, b) for b in range(codes.shape[1]) for a in range(b)]


def fraction(value):
    return None if value is None else float(value)


@EXAMPLES
@given(ratings(max_raters=2))
def test_values_of_two_raters_equal_the_oracle(case):
    codes, k = case
    plain = [[None if code < 0 else int(code) for code in row] for row in codes]
    found = report(codes, k)
    assert same(found["cohen_kappa"], fraction(oracles.cohen_kappa(plain, k, oracles.none(k))))
    assert same(
        found["weighted_kappa_linear"], fraction(oracles.cohen_kappa(plain, k, oracles.linear(k)))
    )
    assert same(
        found["weighted_kappa_quadratic"],
        fraction(oracles.cohen_kappa(plain, k, oracles.quadratic(k))),
    )
    assert same(found["scott_pi"], fraction(oracles.scott_pi(plain, k, oracles.none(k))))


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
    names = [name for name in NAMES if name not in ONE_DIRECTION]
    assert_same_report(report(codes, k), report(codes[:, order], k), names)


@EXAMPLES
@given(ratings(), st.randoms(use_true_random=False))
def test_names_of_nominal_categories_do_not_matter(case, random):
    codes, k = case
    renamed = np.array([*random.sample(range(k), k), -1])[codes]
    assert_same_report(report(codes, k), report(renamed, k), ORDER_FREE)


@EXAMPLES
@given(ratings())
def test_direction_of_a_scale_does_not_matter(case):
    codes, k = case
    turned = np.where(codes < 0, -1, k - 1 - codes)
    names = [name for name in NAMES if name.split(".")[0] not in
             {"krippendorff_alpha_ratio", "prevalence_index", "bias_index", "fleiss_kappa_category",
              "cohen_kappa_category"}]  # fmt: skip
    assert_same_report(report(codes, k), report(turned, k), names)


@EXAMPLES
@given(ratings(), st.integers(0, 3), st.integers(0, 1))
def test_an_item_with_one_rating_changes_no_coefficient_of_pairs(case, rater, code):
    codes, k = case
    rater %= codes.shape[1]
    if not (codes[:, rater] >= 0).any():
        return  # the rating would add a rater
    single = np.full((1, codes.shape[1]), -1)
    single[0, rater] = code
    assert_same_report(report(codes, k), report(np.vstack([codes, single]), k), FROM_PAIRS)


@EXAMPLES
@given(ratings())
def test_an_unused_category_changes_nothing_without_weights(case):
    codes, k = case
    assert_same_report(report(codes, k), report(codes, k + 1), BLIND_TO_UNUSED)


@EXAMPLES
@given(ratings())
def test_an_unrated_item_and_an_idle_rater_do_not_exist(case):
    codes, k = case
    if (codes < 0).all(axis=0).any():
        return
    wider = np.pad(codes, ((0, 1), (0, 1)), constant_values=-1)
    assert_same_report(report(codes, k), report(wider, k))


@EXAMPLES
@given(ratings())
def test_values_lie_in_the_range_of_the_registry_and_in_their_interval(case):
    codes, k = case
    found = report(codes, k)
    for entry in COEFFICIENTS:
        low, high = COEFFICIENTS[entry].low, COEFFICIENTS[entry].high
        for name in list_report_names(entry):
            for value in found[name] if isinstance(found[name], list) else [found[name]]:
                if value is None:
                    continue
                assert low is None or value >= low - 1e-9, name
                assert high is None or value <= high + 1e-9, name
            if found.get(f"{name}.se") is not None:
                assert found[f"{name}.ci_low"] <= found[name] + 1e-12
                assert found[name] <= found[f"{name}.ci_high"] + 1e-9


@EXAMPLES
@given(ratings())
def test_undefined_values_have_a_reason_that_the_registry_names(case):
    codes, k = case
    found = report(codes, k)
    for entry, coefficient in COEFFICIENTS.items():
        for name in list_report_names(entry):
            if found[name] is None:
                assert found[f"{name}.reason"] in coefficient.undefined, name


@EXAMPLES
@given(ratings(missing=False, min_items=2))
def test_raters_who_all_agree_have_full_agreement(case):
    codes, k = case
    agreeing = np.repeat(codes[:, :1], codes.shape[1], axis=1)
    found = report(agreeing, k)
    distinct = len(np.unique(agreeing)) > 1
    for name in ("percent_agreement", "gwet_ac1", "brennan_prediger"):
        assert found[name] == pytest.approx(1)
    for name in ("fleiss_kappa", "conger_kappa", "krippendorff_alpha_ordinal", "light_kappa"):
        assert same(found[name], 1.0 if distinct else None)


@EXAMPLES
@given(ratings(max_raters=2, missing=False, min_items=2))
def test_identities_of_two_raters_with_complete_data(case):
    codes, k = case
    found, n = report(codes, k), len(codes)
    raw = np.sqrt(n / (n - 1))
    for one, other in (
        ("conger_kappa", "cohen_kappa"),
        ("fleiss_kappa", "scott_pi"),
        ("pabak", "brennan_prediger"),
    ):
        assert same(found[one], found[other]), (one, other)
    for suffix in ("_linear", "_quadratic"):
        assert same(found["conger_kappa" + suffix], found["weighted_kappa" + suffix])
    for name in ("gwet_ac1", "brennan_prediger", "percent_agreement"):
        assert same(found[f"{name}.se"], found[f"{name}.se_table"] * raw)
    if found["cohen_kappa.se"] is not None:
        assert same(found["conger_kappa.se"], found["cohen_kappa.se"] * raw)
        assert found["cohen_kappa"] <= found["kappa_max"] + 1e-12
    if found["scott_pi.se"] is not None:
        assert same(found["fleiss_kappa.se"], found["scott_pi.se"] * raw)
    if found["lin_ccc"] is not None:
        assert same(found["weighted_kappa_quadratic"], found["lin_ccc"])


@EXAMPLES
@given(ratings(missing=False, min_items=2))
def test_identities_of_equal_numbers_of_ratings(case):
    codes, k = case
    found, size = report(codes, k), codes.size
    for part in ("", ".se"):
        assert same(found[f"fleiss_kappa{part}"], found[f"fleiss_kappa_gwet{part}"])
    if found["fleiss_kappa"] is not None:
        assert same(
            found["krippendorff_alpha_nominal"], 1 - (1 - found["fleiss_kappa"]) * (size - 1) / size
        )
        quadratic = 1 - (1 - found["fleiss_kappa_quadratic"]) * (size - 1) / size
        assert same(found["krippendorff_alpha_interval"], quadratic)


@EXAMPLES
@given(ratings(), st.integers(0, 9))
def test_batches_of_items_add_up(case, cut):
    codes, k = case
    item, rater = np.nonzero(codes >= 0)
    code = codes[item, rater]
    first = item < cut
    whole = tally.count_patterns(item, code, k)
    parts = tally.count_patterns(item[first], code[first], k) + tally.count_patterns(
        item[~first], code[~first], k
    )
    assert parts == whole
    one, other = (
        pattern_coefficients(p.counts, p.n_items, scale="ordinal") for p in (whole, parts)
    )
    assert all(one[name].to_value() == other[name].to_value() for name in one)


@EXAMPLES
@given(st.lists(ratings(min_raters=3, max_raters=3), min_size=2, max_size=4))
def test_many_at_once_equal_one_by_one(cases):
    patterns = []
    for day, (codes, _) in enumerate(cases):
        item, rater = np.nonzero(codes >= 0)
        patterns.append(
            tally.count_patterns(item, codes[item, rater], 4, day=np.full(item.size, day))
        )
    together = sum(patterns[1:], patterns[0])
    days, counts, n_items = together.split_by_day()
    many = pattern_coefficients(counts, n_items, scale="interval", values=[1, 2, 4, 8])
    for row, day in enumerate(days.tolist()):
        mine = together.day == day
        alone = pattern_coefficients(
            together.counts[mine], together.n_items[mine], scale="interval", values=[1, 2, 4, 8]
        )
        for name, estimate in many.items():
            mine_alone = dict(alone[name].to_value())
            for key, value in estimate.to_value((row,)).items():
                expected = mine_alone[key]
                assert value == expected or same(value, expected), (name, key)


@EXAMPLES
@given(ratings(min_raters=3))
def test_all_pairs_at_once_equal_each_pair(case):
    codes, k = case
    item, rater = np.nonzero(codes >= 0)
    pairs = tally.count_pair_tables(item, rater, codes[item, rater], k)
    many = table_coefficients(pairs.tables, scale="ordinal")
    for place in range(len(pairs)):
        alone = report(codes[:, [pairs.rater_a[place], pairs.rater_b[place]]], k)
        for name in (
            "cohen_kappa",
            "scott_pi",
            "weighted_kappa_linear",
            "pearson",
            "kendall_tau_b",
            "lin_ccc",
        ):
            assert same(many[name].to_value((place,))["value"], alone[name]), name
            assert same(many[name].to_value((place,))["se"], alone.get(f"{name}.se")), name
