"""Raters below the others: the statistic against loops, and data where everybody is alike."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.agreement.explain import outlying_raters
from metrics.agreement.explain.bands import are_in_adjacent_bands
from metrics.agreement.explain.outlying_raters import compare_raters
from metrics.agreement.weights import linear_weights, quadratic_weights
from tests.metrics.agreement.insight_drift_answers import read_rows


def to_long(codes):
    """Return item, rater and code of the ratings of an array, -1 for none."""
    item, rater = np.nonzero(codes >= 0)
    return item, rater, codes[item, rater]


def find_outlying_raters(item, rater, code, k, **options):
    """Return the tests of the raters who are below the others."""
    tests = compare_raters(item, rater, code, k, **options)
    return [test for test in tests if test.is_below]


def find_outliers(codes, k, weights=None):
    """Return the raters below the others of an array of codes."""
    item, rater, code = to_long(codes)
    return find_outlying_raters(item, rater, code, k, weights=weights)


def simulate(seed, errors, n_items=120, k=3):
    """Return codes (n, R) of raters with these error rates; half of the items are harder."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n_items)
    hard = 1 + (np.arange(n_items) % 2)
    wrong = rng.random((n_items, len(errors))) < np.array(errors) * hard[:, None]
    return np.where(wrong, rng.integers(0, k, wrong.shape), truth[:, None])


def compute_slowly(codes, rater, weights):
    """Return the mean of d in kappa units over the items with two others or more, by loops."""
    rows = [[code for code in row if code >= 0] for row in codes if row[rater] >= 0]
    rows = [row for row in rows if len(row) >= 3]
    k = len(weights)
    shares = np.mean([[row.count(j) / len(row) for j in range(k)] for row in rows], axis=0)
    observed = np.mean([np.mean([weights[a, b] for a, b in combinations(row, 2)]) for row in rows])
    expected = sum(shares[a] * shares[b] * weights[a, b] for a, b in product(range(k), repeat=2))
    kappa = (observed - expected) / (1 - expected)

    def influence(a, b):
        chance = sum(shares[j] * (weights[a, j] + weights[b, j]) for j in range(k))
        return (weights[a, b] - (1 - kappa) * chance) / (1 - expected)

    differences = []
    for row in codes:
        present = [g for g, code in enumerate(row) if code >= 0]
        if rater not in present or len(present) < 3:
            continue
        others = [g for g in present if g != rater]
        own = np.mean([influence(row[rater], row[g]) for g in others])
        among = np.mean([influence(row[g], row[h]) for g, h in combinations(others, 2)])
        differences.append(own - among)
    return np.mean(differences), len(differences)


@pytest.mark.parametrize("weighting", [None, "linear"])
def test_difference_equals_that_of_loops(weighting):
    codes = simulate(1, [0.1, 0.1, 0.1, 0.7], k=4)
    codes[:30, 1] = codes[30:50, 0] = -1
    weights = linear_weights(4) if weighting else np.eye(4)
    (outlier,) = find_outliers(codes, 4, weights=weights)
    assert outlier.rater == 3
    difference, n_items = compute_slowly(codes, 3, weights)
    assert outlier.difference == pytest.approx(difference)
    assert outlier.n_items == n_items


def get_test(codes, rater=0, clusters=None):
    """Return the test of one rater, with the clusters of the items (n,)."""
    item, raters, code = to_long(codes)
    in_clusters = None if clusters is None else clusters[item]
    tests = compare_raters(item, raters, code, 3, clusters=in_clusters)
    return next(test for test in tests if test.rater == rater)


@pytest.mark.parametrize("errors", [(0.1, 0.1, 0.1, 0.1), (0.2, 0.1, 0.1), (0.4, 0.1, 0.2, 0.2)])
def test_interval_contains_the_difference_in_95_percent(errors):
    difference = get_test(simulate(0, errors, n_items=40_000)).difference
    tests = [get_test(simulate(seed, errors, n_items=150)) for seed in range(1, 301)]
    share = np.mean([test.low <= difference <= test.high for test in tests])
    assert 0.91 <= share <= 0.985  # 95% and four standard errors of 300 streams


def test_interval_allows_for_clusters():
    """Of documents that a rater misread as a whole; raters are alike, so the difference is 0."""
    streams = [simulate_misread_documents(seed) for seed in range(100)]
    for documents, expected in ((True, (0.85, 1.0)), (False, (0.0, 0.7))):
        tests = [
            get_test(codes, clusters=document if documents else None) for codes, document in streams
        ]
        share = np.mean([test.low <= 0 <= test.high for test in tests])
        assert expected[0] <= share <= expected[1], documents


def simulate_rare_category(seed, *, recognized=(0.9, 0.9, 0.9, 0.9), error=0.03, n_items=400):
    """Return codes (n, R) of a category in a tenth of the items.

    recognized: the share of its items that each rater recognizes; error: of other items.
    """
    rng = np.random.default_rng(seed)
    truth = rng.random(n_items) < 0.1
    probability = np.where(truth[:, None], np.array(recognized), error)
    return (rng.random(probability.shape) < probability).astype(int)


def compute_shares_alike(codes, rater):
    """Return how often the rater agrees with the others, and these with each other."""
    n_raters = codes.shape[1]
    other_raters = [g for g in range(n_raters) if g != rater]
    own = np.mean([codes[:, rater] == codes[:, g] for g in other_raters])
    among = np.mean([codes[:, g] == codes[:, h] for g, h in combinations(other_raters, 2)])
    return own, among


def test_who_misses_a_rare_category_is_listed():
    """Such a rater agrees more often than the others do, but hardly beyond chance."""
    n_found, gaps = 0, []
    for seed in range(20):
        codes = simulate_rare_category(
            seed, recognized=(0.8, 0.8, 0.8, 0.1), error=0.1, n_items=600
        )
        codes[:, 3] &= simulate_rare_category(seed, error=0.0, n_items=600)[
            :, 3
        ]  # no error elsewhere
        own, among = compute_shares_alike(codes, 3)
        gaps.append(own - among)
        n_found += [outlier.rater for outlier in find_outliers(codes, 2)] == [3]
    assert np.mean(gaps) > 0
    assert n_found >= 18


def test_who_has_the_items_without_the_rare_category_is_not_listed():
    """Nor an expert among careless raters, who gives the frequent answer more often than they."""
    n_listed = n_expert_listed = 0
    for seed in range(50):
        codes = simulate_rare_category(seed, n_items=800)
        codes[codes[:, :3].sum(axis=1) >= 2, 3] = -1
        assert np.mean(codes[codes[:, 3] >= 0, 3]) < 0.1
        n_listed += bool(find_outliers(codes, 2))
        careless = simulate_rare_category(seed, error=0.2)
        expert = simulate_rare_category(seed, error=0.0)
        careless[:, 3] = expert[:, 3]
        n_expert_listed += any(outlier.rater == 3 for outlier in find_outliers(careless, 2))
    assert n_listed <= 3  # of 50, at a rate of 1%
    assert n_expert_listed == 0


def test_raters_who_err_alike_are_rarely_listed():
    """At most 1% of studies, though one rater has the hard items only."""
    n_listed = 0
    for seed in range(200):
        codes = simulate(seed, [0.15] * 5)
        codes[::2, 4] = -1
        n_listed += bool(find_outliers(codes, 3))
    assert n_listed <= 6  # of 200; P(X > 6) is below 1% at a rate of 1%


def test_who_rates_beside_two_who_copy_is_not_listed():
    """Two copies agree with each other always, so that everybody else is below them."""
    n_listed = n_found = 0
    for seed in range(50):
        codes = simulate(seed, [0.15] * 4, n_items=200)
        codes[:, 1] = codes[:, 0]
        n_listed += bool(find_outliers(codes, 3))
        rng = np.random.default_rng(seed)
        codes[:, 3] = np.where(rng.random(200) < 0.5, rng.integers(0, 3, 200), codes[:, 3])
        n_found += [outlier.rater for outlier in find_outliers(codes, 3)] == [3]
    assert n_listed <= 3  # of 50; both honest raters are tested at 1%
    assert n_found >= 45


@given(seed=st.integers(0, 10_000), n_raters=st.integers(3, 6))
def test_never_are_all_raters_listed(seed, n_raters):
    rng = np.random.default_rng(seed)
    codes = simulate(seed, rng.random(n_raters) / 2)
    assert len(find_outliers(codes, 3)) < n_raters


@given(seed=st.integers(0, 1000))
def test_order_of_rows_does_not_matter(seed):
    ratings = np.stack(to_long(simulate(seed, [0.1, 0.1, 0.1, 0.6])))
    order = np.random.default_rng(seed).permutation(ratings.shape[1])
    raters = [
        [rater.rater for rater in find_outlying_raters(rows[0], rows[1], rows[2], 3)]
        for rows in (ratings, ratings[:, order])
    ]
    assert raters[0] == raters[1]


def test_two_raters_and_few_items_list_nobody():
    codes = simulate(3, [0.0, 0.9])
    assert find_outliers(codes, 3) == []
    few = simulate(3, [0.0, 0.0, 0.9], n_items=outlying_raters.MIN_ITEMS - 1)
    assert find_outliers(few, 3) == []
    assert find_outlying_raters([], [], [], 3) == []


@pytest.mark.parametrize(
    ("name", "categories", "expected"),
    [
        # 91 to 99% of these raters' answers are "G", and their kappa is half of the others' or less.
        ("gal_adult2.csv", "GPRX", {"w0009", "w0011", "w0039", "w0105"}),
        ("pandalm_test.csv", "012", set()),
    ],
)
def test_raters_of_real_data(shared_data, name, categories, expected):
    rows = read_rows({"file": name}, shared_data)
    _, item = np.unique([row["item"] for row in rows], return_inverse=True)
    raters, rater = np.unique([row["rater"] for row in rows], return_inverse=True)
    code = [categories.index(row["label"]) for row in rows]
    outliers = find_outlying_raters(
        item, rater, code, len(categories), weights=quadratic_weights(len(categories))
    )
    listed = {raters[outlier.rater] for outlier in outliers}
    assert listed >= expected
    assert len(listed) <= 10 * len(expected)


def test_neighbouring_bands():
    assert are_in_adjacent_bands([0.55, 0.65, 0.7])
    assert are_in_adjacent_bands([None, 0.1])
    assert not are_in_adjacent_bands([0.05, 0.05, 0.71])


def simulate_misread_documents(seed, *, bad=0.0, n_documents=24, size=40):
    """Return codes (n, 4) of raters who misread one document in four, and the items' documents.

    Rater 0 also guesses with the probability `bad`.
    """
    rng = np.random.default_rng(seed)
    document = np.repeat(np.arange(n_documents), size)
    truth = rng.integers(0, 3, document.size)
    is_misread = rng.random((n_documents, 4)) < 0.25
    error = np.where(is_misread[document], 0.8, 0.05)
    error[:, 0] = np.maximum(error[:, 0], bad)
    wrong = rng.random(error.shape) < error
    return np.where(wrong, rng.integers(0, 3, error.shape), truth[:, None]), document


def find_below(codes, document):
    """Return the raters below the others, by document or (None) by item."""
    item, rater, code = to_long(codes)
    clusters = None if document is None else document[item]
    outliers = find_outlying_raters(item, rater, code, 3, clusters=clusters)
    return [outlier.rater for outlier in outliers]


def test_who_misreads_some_documents_is_not_below_the_others():
    """By item, a rater with a few more misread documents seems below; by document not."""
    streams = [simulate_misread_documents(seed) for seed in range(60)]
    assert sum(bool(find_below(codes, None)) for codes, _document in streams) >= 10
    assert sum(bool(find_below(codes, document)) for codes, document in streams) <= 3


def test_who_guesses_is_below_the_others_by_document():
    streams = [simulate_misread_documents(seed, bad=0.6) for seed in range(20)]
    assert [find_below(codes, document) for codes, document in streams].count([0]) >= 18


def test_clusters_of_one_item_change_no_rater_below_the_others():
    codes, _document = simulate_misread_documents(2, bad=0.6)
    item, rater, code = to_long(codes)
    independent, single = (
        find_outlying_raters(item, rater, code, 3, clusters=clusters) for clusters in (None, item)
    )
    assert single == independent != []
