"""Test comparisons of periods and of a model with humans, against slow versions."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from metrics.agreement import weights
from metrics.agreement.coefficients import fleiss
from metrics.agreement.comparison import before_after, model_comparison

EXAMPLES = settings(max_examples=40, deadline=None)
PATTERN = st.lists(st.integers(0, 3), min_size=3, max_size=3)
SETS = st.lists(
    st.tuples(PATTERN, st.integers(1, 5)),
    min_size=1,
    max_size=6,
    unique_by=lambda pair: tuple(pair[0]),
)


def split_pairs(pairs):
    return [pattern for pattern, _ in pairs], [number for _, number in pairs]


def compute_kappa(items, w):
    """Return Fleiss' kappa of items listed one by one; None where undefined."""
    value = float(fleiss.fleiss_kappa(items, np.ones(len(items)), weights=w).value)
    return value if math.isfinite(value) else None


@EXAMPLES
@given(SETS, st.sampled_from([None, "linear"]))
def test_influence_gives_standard_error_and_sums_to_zero(pairs, weighting):
    counts, n_items = split_pairs(pairs)
    w = None if weighting is None else weights.get_weight_matrix(weighting, 3)
    estimate = fleiss.fleiss_kappa(counts, n_items, weights=w)
    assume(np.isfinite(estimate.se))
    f = fleiss.influence(counts, n_items, w)
    rated = np.array(counts).sum(axis=1) > 0
    n = np.array(n_items)[rated].sum()
    assert (f[~rated] == 0).all()
    assert np.dot(n_items, f) == pytest.approx(0, abs=1e-8)
    assert math.sqrt(np.dot(n_items, f**2) / (n * (n - 1))) == pytest.approx(estimate.se, abs=1e-9)


@EXAMPLES
@given(SETS, SETS)
def test_disjoint_items_get_welchs_interval(first, second):
    first, second = split_pairs(first), split_pairs(second)
    change = before_after.compare_before_after(first, second)
    estimate_before, estimate_after = (fleiss.fleiss_kappa(*period) for period in (first, second))
    if not (np.isfinite(estimate_before.value) and np.isfinite(estimate_after.value)):
        assert change.reason in ("no_pairable_items", "single_category")
        return
    assert change.difference == pytest.approx(estimate_after.value - estimate_before.value)
    if change.p is None:
        assert change.se_reason == "too_few_items" or change.test_reason == "zero_variance"
        return
    n = [
        sum(number for row, number in zip(*period, strict=True) if sum(row))
        for period in (first, second)
    ]
    test = stats.ttest_ind_from_stats(
        estimate_after.value, estimate_after.se * math.sqrt(n[1]), n[1], estimate_before.value, estimate_before.se * math.sqrt(n[0]), n[0], equal_var=False
    )  # fmt: skip
    assert change.p == pytest.approx(test.pvalue, abs=1e-9)
    half = stats.t.ppf(0.975, change.df) * change.se
    assert (change.low, change.high) == pytest.approx(
        (change.difference - half, change.difference + half)
    )


def simulate_repeated_items(seed=0, n=150):
    """Return counts of the same items before and after, of different difficulty."""
    rng = np.random.default_rng(seed)
    hard = rng.random(n) < 0.4
    truth = rng.integers(0, 3, n)

    def rate_items():
        codes = np.where(
            rng.random((n, 4)) < np.where(hard, 0.4, 0.95)[:, None],
            truth[:, None],
            rng.integers(0, 3, (n, 4)),
        )
        return np.array([np.bincount(row, minlength=3) for row in codes])

    return rate_items(), rate_items()


def test_items_in_both_sets_are_paired():
    before, after = simulate_repeated_items()
    ones = np.ones(len(before))
    paired = before_after.compare_before_after(
        (before, ones), (after, ones), shared=(before, after, ones)
    )
    unpaired = before_after.compare_before_after((before, ones), (after, ones))
    assert paired.se is not None and unpaired.se is not None
    assert paired.se < unpaired.se
    assert paired.df == len(before) - 1
    # the jackknife over items, each removed from both sets
    left_out = []
    for item in range(len(before)):
        other_items = np.arange(len(before)) != item
        left_out.append(
            compute_kappa(after[other_items], None) - compute_kappa(before[other_items], None)
        )
    n = len(before)
    jackknife = math.sqrt((n - 1) / n * ((np.array(left_out) - np.mean(left_out)) ** 2).sum())
    assert paired.se == pytest.approx(jackknife, rel=0.03)


def test_shared_pattern_missing_from_a_set_raises_an_error():
    with pytest.raises(ValueError, match="one lacks"):
        before_after.compare_before_after(
            ([[2, 0], [1, 1], [0, 2]], [3, 3, 3]),
            ([[2, 0], [1, 1], [0, 2]], [3, 3, 4]),
            shared=([[3, 0]], [[2, 0]], [1]),
        )


def test_a_set_without_items_has_no_kappa():
    patterns = [[2, 0], [1, 1], [0, 2]], [3, 3, 3]
    change = before_after.compare_before_after((np.zeros((0, 2), int), []), patterns)
    assert change.reason == "no_pairable_items"
    assert change.after["value"] is not None


def test_perfect_agreement_has_zero_error_and_no_p_value():
    patterns = [[2, 0], [0, 2]], [5, 5]
    change = before_after.compare_before_after(patterns, patterns)
    assert (change.difference, change.se, change.low, change.high) == (0, 0, 0, 0)
    assert change.p is None and change.test_reason == "zero_variance"


def test_permutation_p_is_small_only_with_a_difference():
    before, after = simulate_repeated_items()
    ones = np.ones(len(before), int)
    p_value = before_after.permutation_p_value((before, ones), (after, ones))
    assert p_value is not None and p_value > 0.05
    assert p_value == before_after.permutation_p_value((before, ones), (after, ones))
    unanimous = 4 * np.eye(3, dtype=int)[after.argmax(axis=1)]
    assert before_after.permutation_p_value((before, ones), (unanimous, ones)) == 1 / 1000
    assert (
        before_after.permutation_p_value((unanimous, ones), (unanimous, ones)) is None
    )  # no error to divide by


def test_permutation_p_is_uniform_without_a_change():
    rng = np.random.default_rng(8)
    values = []
    for _ in range(60):
        counts = rng.multinomial(3, [0.6, 0.3, 0.1], 60)
        values.append(
            before_after.permutation_p_value(
                (counts[:25], np.ones(25)), (counts[25:], np.ones(35)), replicates=99
            )
        )
    assert stats.kstest(values, "uniform").pvalue > 0.01


def test_holm_adjusts_p_values():
    assert before_after.adjust_holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert before_after.adjust_holm([0.6, 0.9]) == [1.0, 1.0]
    assert before_after.adjust_holm([]) == []


# --- alt-test


def compute_score_slowly(own, others, score, w, v):
    if score == "accuracy":
        return np.mean([own == other for other in others])
    if score == "weights":
        return np.mean([w[own, other] for other in others])
    return -math.sqrt(np.mean([(v[own] - v[other]) ** 2 for other in others]))


@EXAMPLES
@given(
    st.lists(st.lists(st.integers(-1, 3), min_size=4, max_size=4), min_size=1, max_size=12),
    st.sampled_from(["accuracy", "weights", "rmse"]),
)
def test_contests_are_won_by_the_closer_rater(table, score):
    codes = np.array(table)
    humans, model = codes[:, :3], codes[:, 3]
    w, v = weights.get_weight_matrix("quadratic", 4), [0.0, 1.0, 5.0, 6.0]
    counts = model_comparison.count_contests(
        humans, model, score=score, values=v, weights=w if score == "weights" else None
    )
    for h in range(3):
        expected = [0, 0, 0]
        for row, own in zip(humans, model, strict=True):
            others = [code for index, code in enumerate(row) if index != h and code >= 0]
            if own < 0 or row[h] < 0 or not others:
                continue
            lead = compute_score_slowly(own, others, score, w, v) - compute_score_slowly(
                row[h], others, score, w, v
            )
            expected[0 if lead > 1e-9 else 2 if lead < -1e-9 else 1] += 1
        assert counts[h].tolist() == expected


@EXAMPLES
@given(
    st.lists(st.tuples(*[st.integers(0, 40)] * 3), min_size=2, max_size=6),
    st.sampled_from([0.1, 0.15, 0.2]),
)
def test_alt_test_matches_scipy_t_test_and_by_procedure(counts, epsilon):
    result = model_comparison.evaluate_contests(counts, epsilon, least=30)
    p = []
    for (win, tie, lose), human in zip(counts, result.humans, strict=True):
        n = win + tie + lose
        if n < 30:
            assert (human.p, human.reason) == (None, "too_few_items")
            continue
        sample = np.repeat([-1.0, 0.0, 1.0], [win, tie, lose])
        if np.ptp(sample) == 0:
            assert human.p == float(sample[0] >= epsilon)
        else:
            assert human.p == pytest.approx(
                stats.ttest_1samp(sample, epsilon, alternative="less").pvalue, abs=1e-9
            )
        p.append(human.p)
    if len(p) < 2:
        assert result.reason == ("needs_three_raters" if p else "too_few_items")
        assert result.winning_rate is None and result.passed is None
        return
    rejected = stats.false_discovery_control(p, method="by") <= 0.05
    assert result.winning_rate == pytest.approx(rejected.mean())
    assert result.passed == (rejected.mean() >= 0.5)


def test_one_human_is_not_enough_for_the_alt_test():
    codes = np.zeros((50, 1), int)
    assert (
        model_comparison.run_alternative_annotator_test(codes, codes[:, 0]).reason
        == "needs_three_raters"
    )
    few = np.zeros((5, 2), int)
    assert model_comparison.run_alternative_annotator_test(few, few[:, 0]).reason == "too_few_items"


def test_alt_test_rejects_invalid_arguments():
    with pytest.raises(ValueError, match="accuracy, rmse, weights"):
        model_comparison.run_alternative_annotator_test([[0, 1]], [0], score="best")
    with pytest.raises(ValueError, match="items x raters"):
        model_comparison.run_alternative_annotator_test([[0, 1]], [0, 1])


# --- model among humans

CELLS = st.lists(
    st.tuples(
        st.integers(0, 2), st.lists(st.integers(0, 3), min_size=3, max_size=3), st.integers(1, 4)
    ),
    min_size=1,
    max_size=8,
)


def compute_kappas_slowly(items, w):
    """Return (human, model), the two kappas, by loops over pairs.

    Each item is (the model's category, codes of the humans).
    """
    within, across = [], []
    for own, codes in items:
        pairs = [w[a][b] for i, a in enumerate(codes) for j, b in enumerate(codes) if i != j]
        if pairs:
            within.append(np.mean(pairs))
        across.append(np.mean([w[own][code] for code in codes]))
    all_codes = [code for _, codes in items for code in codes]
    q = np.bincount(all_codes, minlength=3) / len(all_codes)
    s = np.bincount([own for own, _ in items], minlength=3) / len(items)
    return (
        (np.mean(within) - q @ w @ q) / (1 - q @ w @ q) if within else math.nan,
        (np.mean(across) - s @ w @ q) / (1 - s @ w @ q),
    )


@EXAMPLES
@given(CELLS, st.sampled_from([None, "linear"]))
@pytest.mark.filterwarnings("ignore")
def test_model_comparison_matches_loops_over_pairs(cells, weighting):
    w = np.eye(3) if weighting is None else weights.get_weight_matrix(weighting, 3)
    items = []
    for own, counts, number in cells:
        codes = [code for code, times in enumerate(counts) for _ in range(times)]
        items += [(own, codes)] * number if codes else []
    comparison = model_comparison.compare_model_with_humans(
        [cell[:2] for cell in cells], [cell[2] for cell in cells], w
    )
    assert comparison.n_items == len(items)
    if not items:
        assert comparison.reason == "no_pairable_items"
        return
    humans, model = compute_kappas_slowly(items, w)
    for value, expected in ((comparison.human_human, humans), (comparison.model_human, model)):
        if value is not None:
            assert value == pytest.approx(expected, abs=1e-9)
        else:
            assert not math.isfinite(expected) or abs(expected) > 1e6
    if comparison.difference is None:
        assert comparison.reason in ("no_pairable_items", "single_category")


@pytest.mark.parametrize("weighting", [None, "linear"])
def test_model_comparison_error_matches_numerical_delta_method(weighting):
    w = None if weighting is None else weights.get_weight_matrix(weighting, 3)
    cells = [
        (0, [4, 0, 0]),
        (0, [1, 0, 0]),
        (1, [0, 1, 3]),
        (2, [1, 1, 0]),
        (2, [0, 0, 1]),
        (0, [5, 2, 0]),
    ]
    n_items = np.array([20.0, 7, 6, 9, 3, 11])
    n, step = n_items.sum(), 1e-4
    f = []
    for index in range(len(cells)):
        change = step * (np.arange(len(cells)) == index)
        more, less = (
            model_comparison.compare_model_with_humans(cells, n_items + sign * change, w).difference
            for sign in (1, -1)
        )
        assert more is not None and less is not None
        f.append(n * (more - less) / (2 * step))
    se = math.sqrt(np.dot(n_items, np.array(f) ** 2) / (n * (n - 1)))
    assert model_comparison.compare_model_with_humans(cells, n_items, w).se == pytest.approx(
        se, rel=1e-5
    )


def test_model_comparison_error_matches_the_jackknife():
    rng = np.random.default_rng(0)
    items = []
    for _ in range(200):
        truth = rng.integers(0, 3)
        answers = [
            truth if rng.random() < 0.7 else rng.integers(0, 3)
            for _ in range(1 + rng.integers(0, 4))
        ]
        items.append((int(answers[0]), [int(code) for code in answers[1:]]))
    items = [(own, codes) for own, codes in items if codes]
    cells = [(own, np.bincount(codes, minlength=3).tolist()) for own, codes in items]
    comparison = model_comparison.compare_model_with_humans(cells, np.ones(len(cells)))
    left_out = []
    for index in range(len(items)):
        humans, model = compute_kappas_slowly(items[:index] + items[index + 1 :], np.eye(3))
        left_out.append(model - humans)
    n = len(items)
    jackknife = math.sqrt((n - 1) / n * ((np.array(left_out) - np.mean(left_out)) ** 2).sum())
    assert comparison.se == pytest.approx(jackknife, rel=0.04)
    assert comparison.is_not_inferior(1.0) is True
    assert comparison.is_not_inferior(-1.0) is False


def test_model_comparison_reasons():
    assert model_comparison.compare_model_with_humans([], []).reason == "no_pairable_items"
    without_pairs = model_comparison.compare_model_with_humans([(0, [1, 0]), (1, [0, 1])], [3, 2])
    assert without_pairs.human_reason == "no_pairable_items" == without_pairs.reason
    assert without_pairs.model_human == 1
    assert without_pairs.is_not_inferior() is None
    single_category = model_comparison.compare_model_with_humans([(0, [2, 0])], [3])
    assert single_category.reason == "single_category"
    single_item = model_comparison.compare_model_with_humans([(0, [1, 1])], [1])
    assert (single_item.se, single_item.se_reason) == (None, "too_few_items")
