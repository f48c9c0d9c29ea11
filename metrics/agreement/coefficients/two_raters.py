"""Other coefficients of two raters from tables of the items rated by both.

    Scott's pi        P_e = sum w_jl pi_j pi_l with pi = (r + c) / 2
    PABAK             (k P_o - 1) / (k - 1)
    prevalence index  (a - d) / n of [[a, b], [c, d]], signed
    bias index        (b - c) / n, signed

Scott 1955, Public Opinion Quarterly 19, 321-325; Byrt, Bishop & Carlin 1993, Journal of Clinical
Epidemiology 46, 423-429. Also the two-rater table forms of percent agreement, AC1/AC2 and
Brennan-Prediger, whose standard error is the delta method on the cells divided by n (irrCAC's
*.table functions; n - 1 in the raw forms).
"""

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficients.declaration import (
    CELL_DELTA_ERROR,
    SINGLE_CATEGORY,
    TWO_RATER_REASONS,
    Coefficient,
    Example,
    Formula,
)
from metrics.agreement.counts.contingency import (
    TableProportions,
    bilinear_form,
    compute_proportions,
    estimate_from_table,
    outer_sum,
    standard_error,
)
from metrics.agreement.estimate import (
    REASON_CODES,
    ChanceCorrected,
    Estimate,
    Floats,
    build_estimate,
)
from metrics.agreement.glossary import gettext_noop as _
from metrics.agreement.weights import as_weight_matrix, chance_factor


def scott_pi(
    tables: npt.ArrayLike, weights: npt.ArrayLike | None = None, *, interval: bool = True
) -> Estimate:
    """Return Scott's pi of tables of two raters (..., k, k), with weights (k, k) or None.

    interval: False for the value alone.
    """
    proportions = compute_proportions(tables)
    w = as_weight_matrix(weights, proportions.k)
    chance_gradient = proportions.pooled @ ((w + w.T) / 2)
    return estimate_from_table(
        proportions,
        w,
        bilinear_form(proportions.pooled, w, proportions.pooled),
        outer_sum(chance_gradient, chance_gradient),
        interval=interval,
    )


def percent_agreement(tables: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Estimate:
    """Return percent agreement of two raters from tables (..., k, k); weights (k, k) or None."""
    proportions = compute_proportions(tables)
    return estimate_from_table(
        proportions,
        as_weight_matrix(weights, proportions.k),
        0 * proportions.n,
        np.zeros((proportions.k, proportions.k)),
        lowest=float(np.min(as_weight_matrix(weights, proportions.k))),
    )


def gwet_ac(tables: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Estimate:
    """Return Gwet's AC1, or AC2 with weights (k, k), from tables of two raters (..., k, k)."""
    proportions = compute_proportions(tables)
    factor = chance_factor(weights, proportions.k)
    expected = factor * (proportions.pooled * (1 - proportions.pooled)).sum(axis=-1)
    slope = factor * (1 - outer_sum(proportions.pooled, proportions.pooled))
    w = as_weight_matrix(weights, proportions.k)
    return estimate_from_table(
        proportions, w, expected, slope, lowest=_compute_least_value(w, w.mean())
    )


def brennan_prediger(tables: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Estimate:
    """Return Brennan-Prediger's coefficient from tables (..., k, k); weights (k, k) or None."""
    proportions = compute_proportions(tables)
    w = as_weight_matrix(weights, proportions.k)
    expected = np.full(proportions.n.shape, w.sum() / proportions.k**2)
    return estimate_from_table(
        proportions,
        w,
        expected,
        np.zeros((proportions.k, proportions.k)),
        lowest=_compute_least_value(w, w.mean()),
    )


def _compute_least_value(w: Floats, greatest_chance: float) -> float:
    """Return the least value of a coefficient with weights w (k, k).

    It is (P_o - P_e) / (1 - P_e) with the least weight as P_o and the greatest possible P_e.
    """
    return float((w.min() - greatest_chance) / (1 - greatest_chance))


def pabak(tables: npt.ArrayLike) -> Estimate:
    """Return PABAK, the prevalence-adjusted bias-adjusted kappa, from tables (..., k, k).

    It is Brennan-Prediger's coefficient without weights.
    """
    return brennan_prediger(tables)


def prevalence_index(tables: npt.ArrayLike) -> Estimate:
    """Return the prevalence index (a - d) / n of 2 x 2 tables; undefined for more categories."""
    return _average_cell_signs(tables, np.array([[1.0, 0.0], [0.0, -1.0]]))


def bias_index(tables: npt.ArrayLike) -> Estimate:
    """Return the bias index (b - c) / n of 2 x 2 tables; undefined for more categories."""
    return _average_cell_signs(tables, np.array([[0.0, 1.0], [-1.0, 0.0]]))


def mean_difference(tables: npt.ArrayLike, values: npt.ArrayLike | None = None) -> Estimate:
    """Return the mean of the first less the second rater's values, from tables (..., k, k).

    It is an Estimate (...) in category values (k,), ranks when None, with se^2 = s^2 / n and t(n -
    1).
    """
    proportions = compute_proportions(tables)
    v = np.arange(1.0, proportions.k + 1) if values is None else np.asarray(values, float)
    g = v[:, None] - v[None, :]
    value = (proportions.p * g).sum(axis=(-2, -1))
    nan_values = np.full(proportions.n.shape, np.nan)
    point = ChanceCorrected(
        nan_values,
        nan_values,
        value,
        np.where(proportions.n > 0, 0, REASON_CODES["no_pairable_items"]),
    )
    return build_estimate(
        point,
        standard_error(proportions.p, g, proportions.n - 1),
        proportions.build_basis(),
        upper=np.inf,
    )


def _average_cell_signs(tables: npt.ArrayLike, signs: Floats) -> Estimate:
    """Return the mean of the cells' signs (2, 2) over items; undefined for other than 2 x 2."""
    proportions = compute_proportions(tables)
    if proportions.k != 2:
        reason = np.where(
            proportions.n > 0, REASON_CODES["needs_2x2"], REASON_CODES["no_pairable_items"]
        )
        nan_values = np.full(proportions.n.shape, np.nan)
        return build_estimate(
            ChanceCorrected(nan_values, nan_values, nan_values, reason),
            nan_values,
            proportions.build_basis(),
        )
    return estimate_cell_mean(proportions, signs)


def estimate_cell_mean(proportions: TableProportions, g: Floats) -> Estimate:
    """Return the mean over items of the number assigned to each item's cell, with its error.

    g (k, k) or (..., k, k): the numbers of the cells.
    """
    value = (proportions.p * g).sum(axis=(-2, -1))
    reason = np.where(proportions.n > 0, 0, REASON_CODES["no_pairable_items"])
    point = ChanceCorrected(value, np.full(proportions.n.shape, np.nan), value, reason)
    return build_estimate(
        point,
        standard_error(proportions.p, g, proportions.n),
        proportions.build_basis(),
        upper=np.inf,
    )


_BYRT_1993 = "Byrt, Bishop & Carlin 1993, Journal of Clinical Epidemiology 46, 423-429"

SCOTT_PI = Coefficient(
    name="scott_pi",
    label=_("Scott’s pi"),
    description=_("Cohen’s kappa with chance by both raters’ pooled frequencies."),
    formula="(P_o - P_e) / (1 - P_e),   P_e = sum pi_j^2,   pi = (r + c) / 2",
    low=-1,
    high=1,
    undefined=(*TWO_RATER_REASONS, SINGLE_CATEGORY),
    error=CELL_DELTA_ERROR,
    source="Scott 1955, Public Opinion Quarterly 19, 321-325",
    example=Example(
        case="12_gwet_cont3x3abstractors",
        name="scott_pi",
        value="0.79624",
        printed_in="irrCAC README",
    ),
    table_formula=Formula(scott_pi),
)

PABAK = Coefficient(
    name="pabak",
    label=_("PABAK"),
    description=_(
        "Kappa adjusted for prevalence and bias: as if all categories were equally frequent."
    ),
    formula="(k P_o - 1) / (k - 1)",
    low=-1,
    high=1,
    undefined=TWO_RATER_REASONS,
    error=CELL_DELTA_ERROR,
    source=_BYRT_1993,
    example=Example(
        case="12_gwet_cont3x3abstractors", name="pabak", value="0.835", printed_in="irrCAC README"
    ),
    table_formula=Formula(pabak),
    report_format="value",
)

PREVALENCE_INDEX = Coefficient(
    name="prevalence_index",
    label=_("Prevalence index"),
    description=_(
        "How unequally frequent two categories are. Far from 0, kappa is low even if most "
        "answers agree."
    ),
    formula="(a - d) / n of the table [[a, b], [c, d]]",
    low=-1,
    high=1,
    undefined=(*TWO_RATER_REASONS, "needs_2x2"),
    error="delta method on the cell proportions, divisor n",
    source=_BYRT_1993,
    example=Example(
        case="17_feinstein_cicchetti_1b",
        name="prevalence_index",
        value="0.75",
        printed_in="table of Feinstein & Cicchetti 1990",
    ),
    table_formula=Formula(prevalence_index),
    report_format="value",
    chance_corrected=False,
)

BIAS_INDEX = Coefficient(
    name="bias_index",
    label=_("Bias index"),
    description=_("How much more often one rater chooses the first category."),
    formula="(b - c) / n of the table [[a, b], [c, d]]",
    low=-1,
    high=1,
    undefined=(*TWO_RATER_REASONS, "needs_2x2"),
    error="delta method on the cell proportions, divisor n",
    source=_BYRT_1993,
    example=Example(
        case="17_feinstein_cicchetti_1b",
        name="bias_index",
        value="0.05",
        printed_in="table of Feinstein & Cicchetti 1990",
    ),
    table_formula=Formula(bias_index),
    report_format="value",
    chance_corrected=False,
)
