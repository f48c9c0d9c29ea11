"""Fleiss' kappa for any number of ratings an item, in two definitions, with any weights.

    kappa = (P_o - P_e) / (1 - P_e),   P_e = sum_jl w_jl p_j p_l,   P_o as in gwet.py

* `fleiss_kappa`, the definition used here: p_j = sum_i n_ij / M, pooled over ALL ratings, including
  items with one rating (Fleiss 1971, Psychological Bulletin 76, 378-382, eq. 1). Standard error by
  the delta method:
  f_i = [(n/n2) [m_i >= 2] (P_i - P_o) - (1 - kappa) (n/M) (n_i - m_i p)'(W + W')p] / (1 - P_e),
  se^2 = sum f_i^2 / (n (n - 1)).
* `fleiss_kappa_gwet`: p_j = mean of n_ij / m_i over rated items (Gwet 2014; irrCAC), with irrCAC's
  standard error:
  x_i = (n/n2) [m_i >= 2] (P_i - P_e) / (1 - P_e) - 2 (1 - kappa) (pe_i - P_e) / (1 - P_e).

Both are the same when all items have the same number (>= 2) of ratings. Weights are symmetric.
"""

from dataclasses import fields

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficients.declaration import (
    IRRCAC_ERROR,
    NO_PAIRABLE_ITEMS,
    SINGLE_CATEGORY,
    Coefficient,
    Example,
    Formula,
)
from metrics.agreement.counts.common_correlation import CommonCorrelationModel, Margins
from metrics.agreement.counts.pattern_sums import PatternSums, build_pattern_sums
from metrics.agreement.counts.score_intervals import ScoreLimits, solve_together
from metrics.agreement.estimate import (
    ChanceCorrected,
    Estimate,
    Limits,
    build_estimate,
    divide_or_nan,
    mark_undefined,
)
from metrics.agreement.glossary import gettext_noop as _
from metrics.agreement.weights import as_weight_matrix

from .gwet import ItemChance, estimate_with_item_chance


def fleiss_kappa(
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    interval: bool = True,
    sums: PatternSums | None = None,
) -> Estimate:
    """Return Fleiss' kappa of patterns (P, k).

    n_items (..., P): numbers of items; weights (k, k) or None; interval: False for the value alone;
    sums: those of the patterns if they are at hand, else None.
    """
    sums = sums or build_pattern_sums(counts, n_items)
    w = as_weight_matrix(weights, sums.k)
    agreement = sums.compute_item_agreement(weights)
    share = divide_or_nan(sums.totals, sums.ratings[..., None])
    chance_gradient = 2 * (share @ w)
    observed = sums.compute_observed(agreement)
    expected = (share * chance_gradient).sum(axis=-1) / 2
    point = ChanceCorrected.from_agreement(observed, expected, sums.has_pairs)
    if not interval:
        return build_estimate(point, None, sums.build_basis())
    scale = divide_or_nan(sums.n, sums.n2 * (1 - expected))
    slope = (1 - point.value) * divide_or_nan(sums.n, sums.ratings * (1 - expected))
    (spread,) = sums.sum_squared_influence(
        [
            (scale, agreement),
            (-scale * observed, sums.pairable),
            (-slope[..., None] * chance_gradient, sums.count_features),
            (slope * (share * chance_gradient).sum(axis=-1), sums.sizes),
        ]
    )
    se = sums.compute_standard_error(spread)
    pair_weights, matrix = sums.build_pair_weights(pooled=True), None if weights is None else w
    margins = Margins(share, expected, chance_gradient)
    model = CommonCorrelationModel.from_margins(pair_weights, matrix, margins)
    lowest = 1 - divide_or_nan(sums.ratings, sums.n2 * (sums.smallest_pairable_size - 1))
    limits = ScoreLimits(point, model, se, sums.n2 - 1, lowest=lowest)
    return build_estimate(point, se, sums.build_basis(), limits=limits)


def influence(
    counts: npt.ArrayLike, n_items: npt.ArrayLike, weights: npt.ArrayLike | None = None
) -> npt.NDArray[np.float64]:
    """Return the influence (P,) on Fleiss' kappa of an item with each pattern.

    counts (P, k): patterns; n_items (P,): their numbers of items; weights (k, k) or None. NaN where
    kappa is undefined, 0 for a pattern without ratings.
    """
    sums = build_pattern_sums(counts, n_items)
    w = as_weight_matrix(weights, sums.k)
    agreement = sums.compute_item_agreement(weights)
    share = divide_or_nan(sums.totals, sums.ratings)
    observed, expected = sums.compute_observed(agreement), share @ w @ share
    kappa = ChanceCorrected.from_agreement(observed, np.asarray(expected), sums.has_pairs).value
    chance_gradient = share @ (w + w.T)
    agreement_term = divide_or_nan(sums.n, sums.n2) * sums.pairable * (agreement - observed)
    chance_term = divide_or_nan(sums.n, sums.ratings) * (
        sums.counts @ chance_gradient - sums.sizes * (share @ chance_gradient)
    )
    rated = np.asarray(counts, float).sum(axis=1) > 0
    influences = np.zeros(rated.size)
    influences[rated] = divide_or_nan(agreement_term - (1 - kappa) * chance_term, 1 - expected)
    return influences


def fleiss_kappa_gwet(
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    interval: bool = True,
    sums: PatternSums | None = None,
) -> Estimate:
    """Return Fleiss' kappa of patterns (P, k) with Gwet's definition of chance agreement.

    n_items (..., P): numbers of items; weights (k, k) or None; interval: False for the value alone;
    sums: those of the patterns if they are at hand, else None.
    """
    sums = sums or build_pattern_sums(counts, n_items)
    w = as_weight_matrix(weights, sums.k)
    share = sums.mean_shares
    chance_slope = share @ w
    expected = (share * chance_slope).sum(axis=-1)
    smallest = sums.smallest_pairable_size
    lowest = 1 - divide_or_nan(sums.n * smallest, sums.n2 * (smallest - 1))
    return estimate_with_item_chance(
        sums,
        weights,
        ItemChance(expected, chance_slope, 2 * chance_slope),
        lowest=lowest,
        interval=interval,
    )


def category_kappas(
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    *,
    interval: bool = True,
    sums: PatternSums | None = None,
) -> Estimate:
    """Return Fleiss' kappa of each category against all others: Estimate (..., k).

    n_items (..., P): numbers of items; interval and sums are as for fleiss_kappa_gwet. It is
    undefined for a category that has all or none of the ratings of the items with two or more
    ratings.
    """
    sums = sums or build_pattern_sums(counts, n_items)
    if sums.n_items.ndim == 1:
        return _compute_all_categories(sums, interval=interval)
    estimates = []
    for j in range(sums.k):
        binary_counts = np.column_stack([sums.counts[:, j], sums.sizes - sums.counts[:, j]])
        estimates.append(fleiss_kappa(binary_counts, sums.n_items, interval=interval))
    solve_together([estimate.limits for estimate in estimates])
    for j, estimate in enumerate(estimates):
        binary_counts = np.column_stack([sums.counts[:, j], sums.sizes - sums.counts[:, j]])
        compared = sums.n_items @ (binary_counts * (sums.sizes >= 2)[:, None])
        marked = mark_undefined(compared[..., 1] == 0, SINGLE_CATEGORY, estimate)
        estimates[j] = mark_undefined(compared[..., 0] == 0, NO_PAIRABLE_ITEMS, marked)
    return stack_estimates(estimates)


def _compute_all_categories(sums: PatternSums, *, interval: bool) -> Estimate:
    """Return the kappas of all categories in one call, for numbers of items (P,).

    The patterns (this category, the others) are few and shared by all categories, which are the
    rows of the numbers of items (k, Q).
    """
    pattern, category = np.nonzero(sums.counts)
    used, size = sums.counts[pattern, category], sums.sizes[pattern]
    # Patterns: (0, m) for each number m of ratings of an item, then those with the category.
    sizes, size_index = np.unique(sums.sizes, return_inverse=True)
    cells, cell_index = np.unique(np.stack([used, size]), axis=1, return_inverse=True)
    patterns = np.concatenate(
        [
            np.stack([np.zeros_like(sizes), sizes], axis=1),
            np.stack([cells[0], cells[1] - cells[0]], axis=1),
        ]
    )
    n_items = np.zeros((sums.k, len(patterns)))
    n_items[:, : len(sizes)] = np.bincount(size_index, sums.n_items)
    np.add.at(n_items, (category, len(sizes) + cell_index), sums.n_items[pattern])
    np.subtract.at(n_items, (category, size_index[pattern]), sums.n_items[pattern])
    estimate = fleiss_kappa(patterns, n_items, interval=interval)
    compared = n_items @ (patterns * (patterns.sum(axis=1) >= 2)[:, None])
    estimate = mark_undefined(compared[..., 1] == 0, SINGLE_CATEGORY, estimate)
    return mark_undefined(compared[..., 0] == 0, NO_PAIRABLE_ITEMS, estimate)


def stack_estimates(estimates: list[Estimate]) -> Estimate:
    """Return a list of estimates (...) as one Estimate (..., length of the list)."""
    solve_together([estimate.limits for estimate in estimates])
    low, high = (
        np.stack([estimate.limits.arrays[end] for estimate in estimates], axis=-1) for end in (0, 1)
    )
    parts = {
        field.name: np.stack([getattr(estimate, field.name) for estimate in estimates], axis=-1)
        for field in fields(Estimate)
        if field.name != "limits"
    }
    return Estimate(limits=Limits((low, high)), **parts)


FLEISS_KAPPA = Coefficient(
    name="fleiss_kappa",
    label=_("Fleiss’ kappa"),
    description=_(
        "Agreement of any number of raters beyond chance, given the overall category frequencies."
    ),
    formula="(P_o - P_e) / (1 - P_e),   P_e = p'Wp,   p_j = sum_i n_ij / M over all ratings",
    low=None,
    high=1,
    undefined=(NO_PAIRABLE_ITEMS, SINGLE_CATEGORY),
    error="delta method for the pooled estimator, t(n - 1)",
    source="Fleiss 1971, Psychological Bulletin 76, 378-382",
    example=Example(
        case="08_fleiss1971_diagnoses", name="fleiss_kappa", value="0.430", printed_in="Fleiss 1971"
    ),
    pattern_formula=Formula(fleiss_kappa, takes_weights=True),
)

FLEISS_KAPPA_GWET = Coefficient(
    name="fleiss_kappa_gwet",
    label=_("Fleiss’ kappa by item"),
    description=_("Fleiss’ kappa with all items counting equally for chance."),
    formula="(P_o - P_e) / (1 - P_e),   P_e = p'Wp,   p_j = mean over rated items of n_ij / m_i",
    low=None,
    high=1,
    undefined=(NO_PAIRABLE_ITEMS, SINGLE_CATEGORY),
    error=IRRCAC_ERROR,
    source="Gwet 2014, Handbook of Inter-Rater Reliability, 4th ed.",
    example=Example(
        case="10_krippendorff2011_gwet_4raters",
        name="fleiss_kappa_gwet",
        value="0.76117",
        printed_in="irrCAC README",
    ),
    pattern_formula=Formula(fleiss_kappa_gwet, takes_weights=True),
)

FLEISS_KAPPA_CATEGORY = Coefficient(
    name="fleiss_kappa_category",
    label=_("Fleiss’ kappa of each category"),
    description=_("Agreement beyond chance, one category against the rest."),
    formula="fleiss_kappa of the two categories j and not j",
    low=None,
    high=1,
    undefined=(NO_PAIRABLE_ITEMS, SINGLE_CATEGORY),
    error="delta method, t(n - 1)",
    source="Fleiss 1971, Psychological Bulletin 76, 378-382",
    example=Example(
        case="08_fleiss1971_diagnoses",
        name="fleiss_kappa_category",
        value="0.245 0.245 0.520 0.471 0.566",
        printed_in="R irr kappam.fleiss",
    ),
    pattern_formula=Formula(category_kappas),
    report_format="categories",
)
