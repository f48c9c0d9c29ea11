"""Formulas that take another way where there are many categories: the same numbers as before."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.agreement.coefficients import cohen, fleiss, krippendorff, marginal_tests
from metrics.agreement.counts.pattern_sums import build_pattern_sums


def build_patterns(k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(k)
    counts = rng.multinomial(3, np.full(k, 1 / k), size=60)
    counts[::7] //= 2  # other numbers of ratings, too
    return counts, rng.integers(1, 4, len(counts))


@pytest.mark.parametrize("k", [2, 5, 90])
def test_ordinal_alpha_is_that_of_distances_of_mean_ranks(k: int) -> None:
    counts, n_items = build_patterns(k)
    sums = build_pattern_sums(counts, n_items)
    margins = sums.n_items @ (sums.counts * sums.pairable[:, None])
    ranks = np.cumsum(margins) - margins / 2
    distances = (ranks[:, None] - ranks) ** 2
    expected = krippendorff.alpha_from_distances(counts, n_items, distances)
    alpha = krippendorff.krippendorff_alpha(counts, n_items, metric="ordinal")
    assert alpha.value == pytest.approx(expected.value, abs=1e-12)
    both = krippendorff.krippendorff_alpha(
        counts, np.stack([n_items, n_items[::-1]]), metric="ordinal"
    )
    assert both.value[0] == pytest.approx(expected.value, abs=1e-12)


@pytest.mark.parametrize("k", [2, 5, 90])
def test_kappa_of_every_category_is_the_one_with_leading_axes(k: int) -> None:
    counts, n_items = build_patterns(k)
    together = fleiss.category_kappas(counts, n_items)
    one_by_one = fleiss.category_kappas(counts, n_items[None])
    np.testing.assert_array_equal(together.reason, one_by_one.reason[0])
    np.testing.assert_allclose(together.value, one_by_one.value[0], atol=1e-12)
    np.testing.assert_allclose(together.se, one_by_one.se[0], atol=1e-12)


def test_kappa_of_every_category_of_two_raters_is_that_of_its_table() -> None:
    table = np.random.default_rng(3).integers(0, 5, (6, 6))
    kappas = cohen.category_kappas(table)
    for j in range(6):
        both, row, column = table[j, j], table[j].sum(), table[:, j].sum()
        rest = table.sum() - row - column + both
        expected = cohen.kappa([[both, row - both], [column - both, rest]])
        assert kappas.value[j] == pytest.approx(expected.value)


def test_test_of_homogeneity_solves_what_the_eigenvalues_give() -> None:
    rng = np.random.default_rng(5)
    # Sparse, so that categories fall into several groups and some have no disagreement.
    table = rng.integers(0, 4, (90, 90)) * (rng.random((90, 90)) < 0.02)
    solved, by_eigenvalues = (
        marginal_tests.stuart_maxwell(table),
        marginal_tests.stuart_maxwell(table[None]),
    )
    assert solved.chi2 == pytest.approx(by_eigenvalues.chi2[0])
    assert solved.df == by_eigenvalues.df[0] < 89
    assert solved.p == pytest.approx(by_eigenvalues.p[0])


@pytest.mark.parametrize("k", [5, 90])
def test_sums_over_pairs_are_those_of_the_matrix(k: int) -> None:
    counts, n_items = build_patterns(k)
    matrix = np.random.default_rng(1).random((k, k))
    sums = build_pattern_sums(counts, n_items)
    expected = ((sums.counts @ matrix) * sums.counts).sum(axis=1)
    np.testing.assert_allclose(sums.sum_over_pairs(matrix), expected)
    # Where items have many ratings in many categories, no pairs are listed.
    dense = build_pattern_sums(counts.sum(axis=0, keepdims=True), [1])
    everything = dense.counts[0]
    np.testing.assert_allclose(dense.sum_over_pairs(matrix), [everything @ matrix @ everything])


@pytest.mark.parametrize("k", [5, 90])
def test_unweighted_standard_errors_are_those_of_identical_weights(k: int) -> None:
    counts, n_items = build_patterns(k)
    for formula in (fleiss.fleiss_kappa, fleiss.fleiss_kappa_gwet):
        plain, weighted = (
            formula(counts, n_items, weights=weights) for weights in (None, np.eye(k))
        )
        for part in ("value", "se", "low", "high"):
            np.testing.assert_allclose(getattr(plain, part), getattr(weighted, part), rtol=1e-9)
