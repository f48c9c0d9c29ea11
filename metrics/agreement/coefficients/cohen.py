"""Cohen's kappa of two raters, with or without weights, from tables of the items rated by both.

    kappa = (P_o - P_e) / (1 - P_e),   P_o = sum w_jl p_jl,   P_e = sum w_jl r_j c_l

Cohen 1960, Educational and Psychological Measurement 20, 37-46; weighted: Cohen 1968, Psychological
Bulletin 70, 213-220. Standard error: Fleiss, Cohen & Everitt 1969, Psychological Bulletin 72,
323-327 (SAS, vcd, statsmodels); se0 is the one under kappa = 0 (SAS ASE0), for a test against no
agreement.
"""

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficients.declaration import (
    NO_ANALYTIC_ERROR,
    SINGLE_CATEGORY,
    TWO_RATER_REASONS,
    Coefficient,
    Example,
    Formula,
)
from metrics.agreement.counts.contingency import (
    bilinear_form,
    compute_proportions,
    estimate_from_table,
    has_constant_side,
    outer_sum,
)
from metrics.agreement.estimate import (
    ChanceCorrected,
    Estimate,
    Floats,
    build_estimate,
    divide_or_nan,
)
from metrics.agreement.glossary import gettext_noop as _
from metrics.agreement.weights import as_weight_matrix


def kappa(
    tables: npt.ArrayLike, weights: npt.ArrayLike | None = None, *, interval: bool = True
) -> Estimate:
    """Return Cohen's kappa of tables of two raters (..., k, k), with weights (k, k) or None."""
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

    NaN where kappa is undefined.
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
    description=_("Agreement of two raters beyond chance, as given by their habits."),
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
    description=_("The largest kappa with these category frequencies."),
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
