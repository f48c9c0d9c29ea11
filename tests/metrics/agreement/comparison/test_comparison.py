"""Before and after, a model in place of a human, a model among humans; against slow versions."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from metrics.agreement import weights
from metrics.agreement.coefficients import fleiss
from metrics.agreement.comparison import alternative_annotator, kappa_differences

EXAMPLES = settings(max_examples=40, deadline=None)
PATTERN = st.lists(st.integers(0, 3), min_size=3, max_size=3)
SETS = st.lists(
    st.tuples(PATTERN, st.integers(1, 5)),
    min_size=1,
    max_size=6,
    unique_by=lambda one: tuple(one[0]),
)


def parts(pairs):
    return [pattern for pattern, _ in pairs], [number for _, number in pairs]


def kappa(items, w):
    """Fleiss' kappa of items given one by one; None where undefined."""
    value = float(fleiss.fleiss_kappa(items, np.ones(len(items)), weights=w).value)
    return value if math.isfinite(value) else None


@EXAMPLES
@given(SETS, st.sampled_from([None, "linear"]))
def test_influence_values_give_the_standard_error_and_add_up_to_nothing(pairs, weighting):
    counts, n_items = parts(pairs)
    w = None if weighting is None else weights.get_weight_matrix(weighting, 3)
    found = fleiss.fleiss_kappa(counts, n_items, weights=w)
    assume(np.isfinite(found.se))
    f = fleiss.influence(counts, n_items, w)
    rated = np.array(counts).sum(axis=1) > 0
    n = np.array(n_items)[rated].sum()
    assert (f[~rated] == 0).all()
    assert np.dot(n_items, f) == pytest.approx(0, abs=1e-8)
    assert math.sqrt(np.dot(n_items, f**2) / (n * (n - 1))) == pytest.approx(found.se, abs=1e-9)


@EXAMPLES
@given(SETS, SETS)
def test_different_items_have_welchs_interval(first, second):
    first, second = parts(first), parts(second)
    found = kappa_differences.compare_before_after(first, second)
    one, other = (fleiss.fleiss_kappa(*part) for part in (first, second))
    if not (np.isfinite(one.value) and np.isfinite(other.value)):
        assert found.reason in ("no_pairable_items", "single_category")
        return
    assert found.difference == pytest.approx(other.value - one.value)
    if found.p is None:
        assert found.se_reason == "too_few_items" or found.test_reason == "zero_variance"
        return
    n = [
        sum(number for row, number in zip(*part, strict=True) if sum(row))
        for part in (first, second)
    ]
    test = stats.ttest_ind_from_stats(
        other.value, other.se * math.sqrt(n[1]), n[1], one.value, one.se * math.sqrt(n[0]), n[0], equal_var=False
    )  # fmt: skip
    assert found.p == pytest.approx(test.pvalue, abs=1e-9)
    half = stats.t.ppf(0.975, found.df) * found.se
    assert (found.low, found.high) == pytest.approx(
        (found.difference - half, found.difference + half)
    )


def repeated(seed=0, n=150):
    """Counts of the same items before and after, of different difficulty."""
    rng = np.random.default_rng(seed)
    hard = rng.random(n) < 0.4
    truth = rng.integers(0, 3, n)

    def rated():
        said = np.where(
            rng.random((n, 4)) < np.where(hard, 0.4, 0.95)[:, None],
            truth[:, None],
            rng.integers(0, 3, (n, 4)),
        )
        return np.array([np.bincount(row, minlength=3) for row in said])

    return rated(), rated()


def test_items_in_both_sets_are_paired():
    before, after = repeated()
    ones = np.ones(len(before))
    found = kappa_differences.compare_before_after(
        (before, ones), (after, ones), shared=(before, after, ones)
    )
    apart = kappa_differences.compare_before_after((before, ones), (after, ones))
    assert found.se is not None and apart.se is not None
    assert found.se < apart.se
    assert found.df == len(before) - 1
    # the jackknife over items, each taken out of both
    left_out = []
    for item in range(len(before)):
        rest = np.arange(len(before)) != item
        left_out.append(kappa(after[rest], None) - kappa(before[rest], None))
    n = len(before)
    jackknife = math.sqrt((n - 1) / n * ((np.array(left_out) - np.mean(left_out)) ** 2).sum())
    assert found.se == pytest.approx(jackknife, rel=0.03)


def test_a_pattern_that_a_set_lacks_is_refused():
    with pytest.raises(ValueError, match="one lacks"):
        kappa_differences.compare_before_after(
            ([[2, 0], [1, 1], [0, 2]], [3, 3, 3]),
            ([[2, 0], [1, 1], [0, 2]], [3, 3, 4]),
            shared=([[3, 0]], [[2, 0]], [1]),
        )


def test_a_set_without_items_has_no_kappa():
    some = [[2, 0], [1, 1], [0, 2]], [3, 3, 3]
    found = kappa_differences.compare_before_after((np.zeros((0, 2), int), []), some)
    assert found.reason == "no_pairable_items"
    assert found.after["value"] is not None


def test_no_uncertainty_at_all():
    whole = [[2, 0], [0, 2]], [5, 5]
    found = kappa_differences.compare_before_after(whole, whole)
    assert (found.difference, found.se, found.low, found.high) == (0, 0, 0, 0)
    assert found.p is None and found.test_reason == "zero_variance"


def test_permutation_p_is_large_without_and_small_with_a_difference():
    before, after = repeated()
    ones = np.ones(len(before), int)
    same = kappa_differences.permutation_p_value((before, ones), (after, ones))
    assert same is not None and same > 0.05
    assert same == kappa_differences.permutation_p_value((before, ones), (after, ones))
    alike = 4 * np.eye(3, dtype=int)[after.argmax(axis=1)]
    assert kappa_differences.permutation_p_value((before, ones), (alike, ones)) == 1 / 1000
    assert (
        kappa_differences.permutation_p_value((alike, ones), (alike, ones)) is None
    )  # no error to divide by


def test_permutation_p_is_even_when_nothing_changed():
    rng = np.random.default_rng(8)
    values = []
    for _ in range(60):
        counts = rng.multinomial(3, [0.6, 0.3, 0.1], 60)
        values.append(
            kappa_differences.permutation_p_value(
                (counts[:25], np.ones(25)), (counts[25:], np.ones(35)), replicates=99
            )
        )
    assert stats.kstest(values, "uniform").pvalue > 0.01


def test_holm():
    assert kappa_differences.adjust_holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert kappa_differences.adjust_holm([0.6, 0.9]) == [1.0, 1.0]
    assert kappa_differences.adjust_holm([]) == []


# --- alt-test


def slow_score(own, others, score, w, v):
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
def test_contests_are_won_by_who_is_closer_to_the_others(table, score):
    codes = np.array(table)
    humans, model = codes[:, :3], codes[:, 3]
    w, v = weights.get_weight_matrix("quadratic", 4), [0.0, 1.0, 5.0, 6.0]
    found = alternative_annotator.count_contests(
        humans, model, score=score, values=v, weights=w if score == "weights" else None
    )
    for h in range(3):
        expected = [0, 0, 0]
        for row, own in zip(humans, model, strict=True):
            others = [code for place, code in enumerate(row) if place != h and code >= 0]
            if own < 0 or row[h] < 0 or not others:
                continue
            lead = slow_score(own, others, score, w, v) - slow_score(row[h], others, score, w, v)
            expected[0 if lead > 1e-9 else 2 if lead < -1e-9 else 1] += 1
        assert found[h].tolist() == expected


@EXAMPLES
@given(
    st.lists(st.tuples(*[st.integers(0, 40)] * 3), min_size=2, max_size=6),
    st.sampled_from([0.1, 0.15, 0.2]),
)
def test_the_test_is_scipys_and_the_procedure_benjamini_and_yekutielis(counts, epsilon):
    found = alternative_annotator.evaluate_contests(counts, epsilon, least=30)
    p = []
    for (win, tie, lose), one in zip(counts, found.humans, strict=True):
        n = win + tie + lose
        if n < 30:
            assert (one.p, one.reason) == (None, "too_few_items")
            continue
        sample = np.repeat([-1.0, 0.0, 1.0], [win, tie, lose])
        if np.ptp(sample) == 0:
            assert one.p == float(sample[0] >= epsilon)
        else:
            assert one.p == pytest.approx(
                stats.ttest_1samp(sample, epsilon, alternative="less").pvalue, abs=1e-9
            )
        p.append(one.p)
    if len(p) < 2:
        assert found.reason == ("needs_three_raters" if p else "too_few_items")
        assert found.winning_rate is None and found.passed is None
        return
    rejected = stats.false_discovery_control(p, method="by") <= 0.05
    assert found.winning_rate == pytest.approx(rejected.mean())
    assert found.passed == (rejected.mean() >= 0.5)


def test_one_human_is_not_enough_however_many_items():
    codes = np.zeros((50, 1), int)
    assert (
        kappa_differences.run_alternative_annotator_test(codes, codes[:, 0]).reason
        == "needs_three_raters"
    )
    few = np.zeros((5, 2), int)
    assert (
        kappa_differences.run_alternative_annotator_test(few, few[:, 0]).reason == "too_few_items"
    )


def test_the_alt_test_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match="accuracy, rmse, weights"):
        kappa_differences.run_alternative_annotator_test([[0, 1]], [0], score="best")
    with pytest.raises(ValueError, match="items x raters"):
        kappa_differences.run_alternative_annotator_test([[0, 1]], [0, 1])


# --- model among humans

CELLS = st.lists(
    st.tuples(
        st.integers(0, 2), st.lists(st.integers(0, 3), min_size=3, max_size=3), st.integers(1, 4)
    ),
    min_size=1,
    max_size=8,
)


def difference(items, w):
    """(human, model) kappas of a list of (model's category, human codes), by loops over pairs."""
    within, across = [], []
    for own, codes in items:
        pairs = [w[a][b] for i, a in enumerate(codes) for j, b in enumerate(codes) if i != j]
        if pairs:
            within.append(np.mean(pairs))
        across.append(np.mean([w[own][code] for code in codes]))
    everybody = [code for _, codes in items for code in codes]
    q = np.bincount(everybody, minlength=3) / len(everybody)
    s = np.bincount([own for own, _ in items], minlength=3) / len(items)
    return (
        (np.mean(within) - q @ w @ q) / (1 - q @ w @ q) if within else math.nan,
        (np.mean(across) - s @ w @ q) / (1 - s @ w @ q),
    )


@EXAMPLES
@given(CELLS, st.sampled_from([None, "linear"]))
@pytest.mark.filterwarnings("ignore")
def test_the_model_among_humans_is_that_of_loops_over_pairs(cells, weighting):
    w = np.eye(3) if weighting is None else weights.get_weight_matrix(weighting, 3)
    items = []
    for own, counts, number in cells:
        codes = [code for code, times in enumerate(counts) for _ in range(times)]
        items += [(own, codes)] * number if codes else []
    found = kappa_differences.compare_model_with_humans(
        [cell[:2] for cell in cells], [cell[2] for cell in cells], w
    )
    assert found.n_items == len(items)
    if not items:
        assert found.reason == "no_pairable_items"
        return
    humans, model = difference(items, w)
    for value, expected in ((found.human_human, humans), (found.model_human, model)):
        if value is not None:
            assert value == pytest.approx(expected, abs=1e-9)
        else:
            assert not math.isfinite(expected) or abs(expected) > 1e6
    if found.difference is None:
        assert found.reason in ("no_pairable_items", "single_category")


@pytest.mark.parametrize("weighting", [None, "linear"])
def test_its_error_is_the_delta_method_by_numerical_derivatives(weighting):
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
    for place in range(len(cells)):
        move = step * (np.arange(len(cells)) == place)
        more, less = (
            kappa_differences.compare_model_with_humans(cells, n_items + sign * move, w).difference
            for sign in (1, -1)
        )
        assert more is not None and less is not None
        f.append(n * (more - less) / (2 * step))
    se = math.sqrt(np.dot(n_items, np.array(f) ** 2) / (n * (n - 1)))
    assert kappa_differences.compare_model_with_humans(cells, n_items, w).se == pytest.approx(
        se, rel=1e-5
    )


def test_its_error_is_the_jackknifes():
    rng = np.random.default_rng(0)
    items = []
    for _ in range(200):
        truth = rng.integers(0, 3)
        said = [
            truth if rng.random() < 0.7 else rng.integers(0, 3)
            for _ in range(1 + rng.integers(0, 4))
        ]
        items.append((int(said[0]), [int(code) for code in said[1:]]))
    items = [(own, codes) for own, codes in items if codes]
    cells = [(own, np.bincount(codes, minlength=3).tolist()) for own, codes in items]
    found = kappa_differences.compare_model_with_humans(cells, np.ones(len(cells)))
    left_out = []
    for place in range(len(items)):
        humans, model = difference(items[:place] + items[place + 1 :], np.eye(3))
        left_out.append(model - humans)
    n = len(items)
    jackknife = math.sqrt((n - 1) / n * ((np.array(left_out) - np.mean(left_out)) ** 2).sum())
    assert found.se == pytest.approx(jackknife, rel=0.04)
    assert found.is_not_inferior(1.0) is True
    assert found.is_not_inferior(-1.0) is False


def test_reasons_of_the_model_among_humans():
    assert kappa_differences.compare_model_with_humans([], []).reason == "no_pairable_items"
    alone = kappa_differences.compare_model_with_humans([(0, [1, 0]), (1, [0, 1])], [3, 2])
    assert alone.human_reason == "no_pairable_items" == alone.reason
    assert alone.model_human == 1
    assert alone.is_not_inferior() is None
    same = kappa_differences.compare_model_with_humans([(0, [2, 0])], [3])
    assert same.reason == "single_category"
    one = kappa_differences.compare_model_with_humans([(0, [1, 1])], [1])
    assert (one.se, one.se_reason) == (None, "too_few_items")
