"""Cohen's kappa of two raters, with or without weights, and its mean over all pairs of raters.

    kappa = (P_o - P_e) / (1 - P_e),   P_o = sum w_jl p_jl,   P_e = sum w_jl r_j c_l

Computed from tables of the items rated by both. Cohen 1960, Educational and Psychological
Measurement 20, 37-46; weighted: Cohen 1968, Psychological Bulletin 70, 213-220. Standard error:
Fleiss, Cohen & Everitt 1969, Psychological Bulletin 72, 323-327 (SAS, vcd, statsmodels); se0 is the
one under kappa = 0 (SAS ASE0), for a test against no agreement.

The mean is over all pairs for which kappa is defined: Light 1971, Psychological Bulletin 76,
365-377. It has no analytic standard error, because the pairs share raters and items.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficients.declaration import (
    NO_ANALYTIC_ERROR,
    NO_PAIRABLE_ITEMS,
    SINGLE_CATEGORY,
    TWO_RATER_REASONS,
    Coefficient,
    Example,
    Formula,
)
from metrics.agreement.counts.common_correlation import (
    CommonCorrelationModel,
    Margins,
    compute_weights_within_group,
)
from metrics.agreement.counts.contingency import (
    bilinear_form,
    compute_proportions,
    estimate_from_table,
    has_constant_side,
    outer_sum,
)
from metrics.agreement.counts.grouping import Ints
from metrics.agreement.counts.score_intervals import ScoreLimits
from metrics.agreement.estimate import (
    REASON_CODES,
    ChanceCorrected,
    Estimate,
    EstimateBasis,
    Floats,
    build_estimate,
    divide_or_nan,
    t_quantile,
)
from metrics.agreement.glossary import gettext_noop as _
from metrics.agreement.weights import as_weight_matrix


def kappa(
    tables: npt.ArrayLike, weights: npt.ArrayLike | None = None, *, interval: bool = True
) -> Estimate:
    """Return Cohen's kappa of tables of two raters (..., k, k), with weights (k, k) or None.

    interval: False for the value alone. Undefined without items, and where chance agreement is 1.
    """
    proportions = compute_proportions(tables)
    w = as_weight_matrix(weights, proportions.k)
    expected = bilinear_form(proportions.rows, w, proportions.columns)
    slope = outer_sum(proportions.columns @ w.T, proportions.rows @ w) if interval else None
    has_no_limits = has_constant_side(proportions.rows, proportions.columns)
    return estimate_from_table(
        proportions, w, expected, slope, interval=interval, has_no_limits=has_no_limits
    )


def standard_error_under_chance(
    tables: npt.ArrayLike, weights: npt.ArrayLike | None = None
) -> Floats:
    """Return se0 (...), the standard error of kappa if the two raters were independent.

    tables (..., k, k); weights (k, k) or None. NaN where kappa is undefined.
    """
    proportions = compute_proportions(tables)
    w = as_weight_matrix(weights, proportions.k)
    expected = bilinear_form(proportions.rows, w, proportions.columns)
    g = w - outer_sum(proportions.columns @ w.T, proportions.rows @ w)
    chance = proportions.rows[..., :, None] * proportions.columns[..., None, :]
    variance = (chance * g**2).sum(axis=(-2, -1)) - expected**2
    beyond_chance = np.where(np.abs(1 - expected) < 1e-12, 0, 1 - expected)
    return np.sqrt(np.maximum(divide_or_nan(variance, proportions.n * beyond_chance**2), 0))


def category_kappas(tables: npt.ArrayLike, *, interval: bool = True) -> Estimate:
    """Return Cohen's kappa of each category against all others: Estimate (..., k).

    It is undefined for a category that both raters used always or never.
    """
    table = np.asarray(tables, float)
    n = table.sum(axis=(-2, -1))[..., None]
    both_counts = np.diagonal(table, axis1=-2, axis2=-1)
    row_totals, column_totals = table.sum(axis=-1), table.sum(axis=-2)
    cells_2x2 = np.stack(
        [
            both_counts,
            row_totals - both_counts,
            column_totals - both_counts,
            n - row_totals - column_totals + both_counts,
        ],
        axis=-1,
    )
    return kappa(cells_2x2.reshape(*both_counts.shape, 2, 2), interval=interval)


def kappa_max(tables: npt.ArrayLike) -> Estimate:
    """Return the largest kappa that the two margins allow (Cohen 1960), without standard error.

    Its P_o is sum_j min(r_j, c_j).
    """
    proportions = compute_proportions(tables)
    point = ChanceCorrected.from_agreement(
        np.minimum(proportions.rows, proportions.columns).sum(axis=-1),
        (proportions.rows * proportions.columns).sum(axis=-1),
        proportions.n > 0,
    )
    return build_estimate(point, None, proportions.build_basis())


_COHEN_1960 = "Cohen 1960, Educational and Psychological Measurement 20, 37-46"
_STANDARD_ERROR = (
    "delta method on the cell proportions, divisor n (Fleiss, Cohen & Everitt 1969), t(n - 1); "
    "also with the normal quantile and with se0"
)

COHEN_KAPPA = Coefficient(
    name="cohen_kappa",
    label=_("Cohen’s kappa"),
    description=_("Agreement of two raters beyond chance, given each rater’s habits."),
    formula="(P_o - P_e) / (1 - P_e),   P_o = sum p_jj,   P_e = sum r_j c_j",
    low=-1,
    high=1,
    undefined=(*TWO_RATER_REASONS, SINGLE_CATEGORY),
    error=_STANDARD_ERROR,
    source=_COHEN_1960,
    example=Example(
        case="12_gwet_cont3x3abstractors",
        name="cohen_kappa",
        value="0.79641",
        printed_in="irrCAC README",
    ),
    table_formula=Formula(kappa),
    report_format="kappa",
    reported_per_pair=True,
)

WEIGHTED_KAPPA = Coefficient(
    name="weighted_kappa",
    label=_("Cohen’s weighted kappa"),
    description=_("Cohen’s kappa with partial credit for near misses."),
    formula="(P_o - P_e) / (1 - P_e),   P_o = sum w_jl p_jl,   P_e = sum w_jl r_j c_l",
    low=None,
    high=1,
    undefined=(*TWO_RATER_REASONS, SINGLE_CATEGORY),
    error=_STANDARD_ERROR,
    source="Cohen 1968, Psychological Bulletin 70, 213-220",
    example=Example(
        case="09_cohen1968_diagnosis_custom_weights",
        name="weighted_kappa_custom",
        value="0.348",
        printed_in="Cohen 1968",
    ),
    table_formula=Formula(kappa, takes_weights=True),
    has_unweighted_form=False,
    report_format="kappa",
    reported_per_pair=True,
)

COHEN_KAPPA_CATEGORY = Coefficient(
    name="cohen_kappa_category",
    label=_("Cohen’s kappa of each category"),
    description=_("Cohen’s kappa of one category against the rest."),
    formula="cohen_kappa of the 2 x 2 table of j and not j",
    low=-1,
    high=1,
    undefined=(*TWO_RATER_REASONS, SINGLE_CATEGORY),
    error=_STANDARD_ERROR,
    source="Fleiss 1981, Statistical Methods for Rates and Proportions, 2nd ed., ch. 13",
    example=Example(
        case="05_seed002_custom_weights",
        name="cohen_kappa_category",
        value="0.627 0.428 0.377 0.655",
        printed_in="scikit-learn, one versus rest",
    ),
    table_formula=Formula(category_kappas),
    report_format="categories",
)

KAPPA_MAX = Coefficient(
    name="kappa_max",
    label=_("Largest possible kappa"),
    description=_("The largest kappa that these category frequencies allow."),
    formula="(sum min(r_j, c_j) - P_e) / (1 - P_e)",
    low=0,
    high=1,
    undefined=(*TWO_RATER_REASONS, SINGLE_CATEGORY),
    error=NO_ANALYTIC_ERROR,
    source=_COHEN_1960,
    example=Example(
        case="05_seed002_custom_weights",
        name="kappa_max",
        value="0.94979",
        printed_in="computed by hand from the margins",
    ),
    table_formula=Formula(kappa_max),
    report_format="value",
    chance_corrected=False,
)


def average_pairs(estimate: Estimate) -> tuple[Estimate, Ints]:
    """Return the mean (...) of the defined estimates of pairs (..., P), and their number (...).

    Items and ratings are summed over all pairs: an item shared by three pairs counts three times.
    """
    defined = estimate.reason == 0
    n_pairs = defined.sum(axis=-1)
    value, observed, expected = (
        divide_or_nan(np.where(defined, part, 0).sum(axis=-1), n_pairs)
        for part in (estimate.value, estimate.observed, estimate.expected)
    )
    has_single_category = (estimate.reason == REASON_CODES["single_category"]).any(axis=-1)
    reason = np.where(
        n_pairs > 0,
        0,
        np.where(
            has_single_category, REASON_CODES["single_category"], REASON_CODES["no_pairable_items"]
        ),
    )
    basis = EstimateBasis(
        estimate.n_items.sum(axis=-1), estimate.n_ratings.sum(axis=-1), n_pairs - 1.0
    )
    return build_estimate(ChanceCorrected(observed, expected, value, reason), None, basis), n_pairs


def light_kappa(tables: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Estimate:
    """Return Light's kappa, the mean of Cohen's kappas, from tables of all pairs (..., P, k, k).

    weights (k, k) or None.
    """
    return average_pairs(kappa(tables, weights, interval=False))[0]


@dataclass(frozen=True)
class PairKappas:
    """Cohen's kappas of pairs of raters.

    rater_a, rater_b, n_items: int (P,); kappa: float (P,), NaN where undefined.
    """

    rater_a: npt.NDArray[np.int64]
    rater_b: npt.NDArray[np.int64]
    n_items: npt.NDArray[np.int64]
    kappa: Floats


def mean_kappa_weighted_by_items(
    pairs: PairKappas,
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
) -> tuple[Estimate, int]:
    """Return the mean of the defined kappas weighted by shared items, and their number.

    The mean is an Estimate (), undefined if no kappa is defined. counts (P, k), n_items (P,):
    patterns of these raters and numbers of items; weights (k, k) or None.

    The standard error is sqrt(V_r + V_i). V_r is the jackknife variance over raters: (R - 1) / R
    times the sum of squared deviations of the R means without one rater each. V_i is the variance
    due to items by the delta method, as if every pair had the pooled margins. Their sum counts the
    interaction of rater and item twice, so the interval is rather too wide than too narrow. Its
    degrees of freedom are Satterthwaite's from R - 1 and n2 - 1. With fewer than three raters V_r
    is 0.
    """
    is_defined = np.isfinite(pairs.kappa)
    kappa, n = pairs.kappa[is_defined], pairs.n_items[is_defined].astype(float)
    n_pairs = int(is_defined.sum())
    if not n_pairs:
        reason = "single_category" if len(pairs.kappa) else "no_pairable_items"
        nan_value = np.array(np.nan)
        undefined = ChanceCorrected(nan_value, nan_value, nan_value, np.array(REASON_CODES[reason]))
        return build_estimate(
            undefined, None, EstimateBasis(np.array(0), np.array(0), np.array(0.0))
        ), 0
    total, value = n.sum(), float((n * kappa).sum() / n.sum())
    both_raters = np.concatenate([pairs.rater_a[is_defined], pairs.rater_b[is_defined]])
    n_raters, v_raters = _compute_rater_variance(both_raters, n, kappa)
    v_items, n2, model = _compute_item_variance(value, counts, n_items, weights)
    variance = v_raters + v_items
    df_terms = (v_raters**2 / (n_raters - 1), v_items**2 / max(n2 - 1, 1))
    df = variance**2 / sum(df_terms) if variance > 0 else n2 - 1.0
    point = ChanceCorrected(np.array(np.nan), np.array(np.nan), np.array(value), np.array(0))
    basis = EstimateBasis(
        np.array(n2), np.array(int(total) * 2), np.array(max(df, 1.0) if n2 > 1 else 0.0)
    )
    se = np.array(np.sqrt(variance))
    limits = None
    if model is not None:
        limits = ScoreLimits(
            point,
            model,
            se,
            basis.df,
            lowest=-1.0,
            extra_variance=v_raters,
            quantile=t_quantile(basis.df),
        )
    return build_estimate(point, se, basis, limits=limits), n_pairs


def _compute_rater_variance(both_raters: Ints, n: Floats, kappa: Floats) -> tuple[int, float]:
    """Return the number of raters, and the jackknife variance of the mean kappa over raters.

    both_raters (2 P,): the first, then the second rater of each pair; n, kappa (P,): shared items,
    and kappas. The variance is 0 with fewer than three raters.
    """
    raters, rater_index = np.unique(both_raters, return_inverse=True)
    if len(raters) <= 2:
        return len(raters), 0.0
    rater_sums = np.bincount(rater_index, np.tile(n * kappa, 2))
    other_items = n.sum() - np.bincount(rater_index, np.tile(n, 2))
    has_others = other_items > 0
    leave_one_out = ((n * kappa).sum() - rater_sums[has_others]) / other_items[has_others]
    size = len(leave_one_out)
    deviations = leave_one_out - leave_one_out.mean()
    return len(raters), (size - 1) / size * float((deviations**2).sum())


def _compute_item_variance(
    value: float, counts: npt.ArrayLike, n_items: npt.ArrayLike, weights: npt.ArrayLike | None
) -> tuple[float, int, CommonCorrelationModel | None]:
    """Return V_i, the variance of the mean kappa due to items, the number of items, and a model.

    The model gives V_i for any true kappa; None where V_i is 0 because nothing can be compared. Let
    p be the pooled shares, w_j. = sum_l w_jl p_l and g_jl = w_jl - (1 - kappa) (w_j. + w_l.). With
    u_i the sum of g over the pairs of ratings of item i, N the number of all pairs and gbar the
    mean of g over them, V_i = n / (n - 1) sum (u_i - pairs_i gbar)^2 / (N (1 - P_e))^2.
    """
    patterns, items = np.asarray(counts, float), np.asarray(n_items, float)
    sizes = patterns.sum(axis=1)
    patterns, items, sizes = patterns[sizes > 1], items[sizes > 1], sizes[sizes > 1]
    n2 = int(items.sum())
    if n2 < 2:
        return 0.0, n2, None
    w = as_weight_matrix(weights, patterns.shape[1])
    p = items @ patterns / (items @ sizes)
    chance_credit = w @ p
    n_pairs = sizes * (sizes - 1) / 2
    credit = (((patterns @ w) * patterns).sum(axis=1) - patterns @ np.diag(w)) / 2
    chance = (sizes - 1) * (patterns @ chance_credit)
    u = credit - (1 - value) * chance
    total = float(items @ n_pairs)
    spread = float(items @ (u - n_pairs * (items @ u) / total) ** 2)
    beyond_chance = 1 - float(p @ chance_credit)
    if beyond_chance < 1e-12:
        return 0.0, n2, None
    model = CommonCorrelationModel.from_margins(
        compute_weights_within_group(sizes, items, n_pairs, n_pairs),
        w,
        Margins(p, np.array(1 - beyond_chance), chance_credit + w.T @ p),
    )
    return n2 / (n2 - 1) * spread / (total * beyond_chance) ** 2, n2, model


LIGHT_KAPPA = Coefficient(
    name="light_kappa",
    label=_("Light’s kappa"),
    description=_("The mean of all defined pairwise Cohen’s kappas."),
    formula="mean of Cohen's kappas over the pairs of raters for which it is defined",
    low=None,
    high=1,
    undefined=(NO_PAIRABLE_ITEMS, SINGLE_CATEGORY),
    error=NO_ANALYTIC_ERROR,
    source="Light 1971, Psychological Bulletin 76, 365-377",
    example=Example(
        case="13_irr_anxiety_icc", name="light_kappa", value="-0.01748", printed_in="verified case"
    ),
    pair_tables_formula=Formula(light_kappa, takes_weights=True),
    report_format="value",
)
