"""Consistency of raters on ordered or numeric scales: correlations of two, Kendall's W of more.

Two raters, from tables of the items rated by both:

    Pearson         r = s_xy / (s_x s_y) of the categories' values
    Spearman        Pearson's r of average ranks
    Kendall tau-b   (C - D) / sqrt((n0 - n1)(n0 - n2)): concordant less discordant pairs, corrected
                    for ties
    Lin             2 s_xy / (s_x^2 + s_y^2 + (mean_x - mean_y)^2), variances with divisor n:
                    agreement with the 45-degree line (Lin 1989, Biometrics 45, 255-268)

A rater who uses one value only has no variance: undefined (zero_variance). High correlation with
low agreement means that raters order items alike but on different levels.

Kendall's W is the concordance of R raters who rank n items, on the items that all of them rated:

    W = 12 S / (R^2 (n^3 - n) - R sum_g T_g)
    S = sum over items of (rank sum - mean rank sum)^2
    T_g = sum over rater g's ties of t^3 - t,   average ranks for ties

Kendall & Babington Smith 1939, Annals of Mathematical Statistics 10, 275-287; Siegel & Castellan
1988, ch. 9.8.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficients.declaration import (
    COMPLETE_ITEM_REASONS,
    NO_ANALYTIC_ERROR,
    TWO_RATER_REASONS,
    CategoryValues,
    Coefficient,
    Example,
    Formula,
)
from metrics.agreement.counts.contingency import TableProportions, compute_proportions
from metrics.agreement.estimate import (
    REASON_CODES,
    ChanceCorrected,
    Estimate,
    EstimateBasis,
    Floats,
    build_estimate,
    divide_or_nan,
)
from metrics.agreement.glossary import gettext_noop as _

from .conger import RatedItems


def pearson(tables: npt.ArrayLike, values: npt.ArrayLike | None = None) -> Estimate:
    """Return Pearson's correlation of two raters from tables (..., k, k), without standard error.

    values (k,): numbers of the categories, ranks when None.
    """
    proportions = compute_proportions(tables)
    v = _center_values(values, proportions.k)
    return _estimate_correlation(proportions, v, v)


def spearman(tables: npt.ArrayLike) -> Estimate:
    """Return Spearman's rank correlation from tables (..., k, k), without standard error."""
    proportions = compute_proportions(tables)
    rows, columns = (
        np.cumsum(share, axis=-1) - share / 2 for share in (proportions.rows, proportions.columns)
    )
    return _estimate_correlation(proportions, rows, columns)


def kendall_tau_b(tables: npt.ArrayLike) -> Estimate:
    """Return Kendall's tau-b of two raters from tables (..., k, k), without standard error."""
    table = np.asarray(tables, float)
    proportions = compute_proportions(table)
    # [i, j]: ratings in the rows up to i and the columns after j.
    above_right = table[..., ::-1].cumsum(axis=-1)[..., ::-1].cumsum(axis=-2)[..., 1:]
    below_right = above_right[..., -1:, :] - above_right[..., :-1, :]
    concordant = (table[..., :-1, :-1] * below_right).sum(axis=(-2, -1))
    discordant = (table[..., 1:, :-1] * above_right[..., :-1, :]).sum(axis=(-2, -1))
    n = proportions.n
    all_pairs = n * (n - 1) / 2
    ties = [(m * (m - 1)).sum(axis=-1) / 2 for m in (table.sum(axis=-1), table.sum(axis=-2))]
    value = divide_or_nan(
        concordant - discordant, np.sqrt((all_pairs - ties[0]) * (all_pairs - ties[1]))
    )
    return _build_without_error(proportions, value, _has_single_value(proportions))


def lin_ccc(tables: npt.ArrayLike, values: npt.ArrayLike | None = None) -> Estimate:
    """Return Lin's concordance correlation from tables (..., k, k), without standard error.

    values (k,): numbers of the categories, ranks when None.
    """
    proportions = compute_proportions(tables)
    v = _center_values(values, proportions.k)
    (sxx, syy, sxy), (mx, my) = _compute_moments(proportions, v, v)
    spread = sxx + syy + (mx - my) ** 2
    return _build_without_error(proportions, divide_or_nan(2 * sxy, spread), spread == 0)


def _estimate_correlation(proportions: TableProportions, x: Floats, y: Floats) -> Estimate:
    """Return Pearson's correlation of two raters.

    x, y: values of the first and the second rater's categories, each (k,) or (..., k).
    """
    (sxx, syy, sxy), _ = _compute_moments(proportions, x, y)
    value = np.clip(divide_or_nan(sxy, np.sqrt(sxx * syy)), -1, 1)
    return _build_without_error(
        proportions, value, _has_single_value(proportions) | (sxx == 0) | (syy == 0)
    )


def _compute_moments(
    proportions: TableProportions, x: Floats, y: Floats
) -> tuple[tuple[Floats, Floats, Floats], tuple[Floats, Floats]]:
    """Return (s_xx, s_yy, s_xy) and (mean_x, mean_y), each (...), with divisor n.

    x, y: values of the first and the second rater's categories, each (k,) or (..., k).
    """
    mx, my = (proportions.rows * x).sum(axis=-1), (proportions.columns * y).sum(axis=-1)
    dx, dy = x - mx[..., None], y - my[..., None]
    sxx, syy = (proportions.rows * dx**2).sum(axis=-1), (proportions.columns * dy**2).sum(axis=-1)
    sxy = ((proportions.p @ dy[..., None])[..., 0] * dx).sum(axis=-1)
    return (sxx, syy, sxy), (mx, my)


def _has_single_value(proportions: TableProportions) -> npt.NDArray[np.bool_]:
    """Return a mask (...) of the tables in which a rater used a single category."""
    return ((proportions.rows > 0).sum(axis=-1) <= 1) | (
        (proportions.columns > 0).sum(axis=-1) <= 1
    )


def _build_without_error(
    proportions: TableProportions, value: Floats, has_no_variance: npt.NDArray[np.bool_]
) -> Estimate:
    """Return the Estimate (...) of a value (...) that has no analytic standard error.

    It is undefined without items, and where has_no_variance (...) is True.
    """
    reason = np.where(
        proportions.n > 0,
        np.where(has_no_variance, REASON_CODES["zero_variance"], 0),
        REASON_CODES["no_pairable_items"],
    )
    value = np.where(reason == 0, value, np.nan)
    nan_values = np.full(value.shape, np.nan)
    return build_estimate(
        ChanceCorrected(nan_values, nan_values, value, reason), None, proportions.build_basis()
    )


def _center_values(values: npt.ArrayLike | None, k: int) -> Floats:
    """Return the values (k,) less their mean; those of the ranks when None.

    Raises ValueError for another shape.
    """
    v = np.arange(1.0, k + 1) if values is None else np.asarray(values, float)
    if v.shape != (k,):
        raise ValueError(f"values must be {k} numbers, one for each category")
    return v - v.mean()


def _build_example(name: str, value: str, printed_in: str = "SciPy and R cor") -> Example:
    return Example(case="05_seed002_custom_weights", name=name, value=value, printed_in=printed_in)


PEARSON = Coefficient(
    name="pearson",
    label=_("Pearson’s correlation"),
    description=_("How closely two raters’ values follow a line, even at different levels."),
    formula="s_xy / (s_x s_y) of the categories' values",
    low=-1,
    high=1,
    undefined=(*TWO_RATER_REASONS, "zero_variance"),
    error=NO_ANALYTIC_ERROR,
    source="Pearson 1895, Proceedings of the Royal Society 58, 240-242",
    example=_build_example("pearson", "0.76918"),
    table_formula=Formula(pearson, category_values=CategoryValues.OPTIONAL),
    needs_numbers=True,
    report_format="value",
    reported_per_pair=True,
    chance_corrected=False,
)

SPEARMAN = Coefficient(
    name="spearman",
    label=_("Spearman’s rank correlation"),
    description=_("How similarly two raters rank items, even at different levels."),
    formula="Pearson's correlation of average ranks",
    low=-1,
    high=1,
    undefined=(*TWO_RATER_REASONS, "zero_variance"),
    error=NO_ANALYTIC_ERROR,
    source="Spearman 1904, American Journal of Psychology 15, 72-101",
    example=_build_example("spearman", "0.77123"),
    table_formula=Formula(spearman),
    needs_order=True,
    report_format="value",
    reported_per_pair=True,
    chance_corrected=False,
)

KENDALL_TAU_B = Coefficient(
    name="kendall_tau_b",
    label=_("Kendall’s tau-b"),
    description=_(
        "How much more often two raters order items alike than oppositely, adjusted for ties."
    ),
    formula="(C - D) / sqrt((n0 - n1) (n0 - n2))",
    low=-1,
    high=1,
    undefined=(*TWO_RATER_REASONS, "zero_variance"),
    error=NO_ANALYTIC_ERROR,
    source="Kendall 1945, Biometrika 33, 239-251",
    example=_build_example("kendall_tau_b", "0.70576"),
    table_formula=Formula(kendall_tau_b),
    needs_order=True,
    report_format="value",
    reported_per_pair=True,
    chance_corrected=False,
)

LIN_CCC = Coefficient(
    name="lin_ccc",
    label=_("Lin’s concordance"),
    description=_("Pearson’s correlation, reduced by differences in level or spread."),
    formula="2 s_xy / (s_xx + s_yy + (mean_x - mean_y)^2), divisor n",
    low=-1,
    high=1,
    undefined=(*TWO_RATER_REASONS, "zero_variance"),
    error=NO_ANALYTIC_ERROR,
    source="Lin 1989, Biometrics 45, 255-268",
    example=_build_example(
        "lin_ccc", "0.76662", "equals the quadratically weighted kappa of equally spaced values"
    ),
    table_formula=Formula(lin_ccc, category_values=CategoryValues.OPTIONAL),
    needs_numbers=True,
    report_format="value",
    chance_corrected=False,
)


def kendall_w(codes: npt.ArrayLike) -> Estimate:
    """Return Kendall's W, an Estimate (), from the codes (N, R) of items that all raters rated.

    It is undefined, with a reason, for fewer than two raters or items, or without variance.
    """
    code = np.asarray(codes, np.int64)
    n, n_raters = code.shape
    value, reason = np.nan, 0
    if n_raters < 2:
        reason = REASON_CODES["needs_two_raters"]
    elif n < 2:
        reason = REASON_CODES["needs_complete_items"] if n == 0 else REASON_CODES["too_few_items"]
    else:
        category_counts = np.stack(
            [np.bincount(column, minlength=int(code.max()) + 1) for column in code.T]
        ).astype(float)
        rank = np.cumsum(category_counts, axis=1) - (category_counts - 1) / 2
        total = np.take_along_axis(rank.T, code, axis=0).sum(axis=1)
        ties = (category_counts**3 - category_counts).sum()
        denominator = n_raters**2 * (n**3 - n) - n_raters * ties
        if denominator:
            value, reason = 12 * ((total - total.mean()) ** 2).sum() / denominator, 0
        else:
            value, reason = np.nan, REASON_CODES["zero_variance"]
    nan_value = np.asarray(np.nan)
    point = ChanceCorrected(nan_value, nan_value, np.asarray(value), np.asarray(reason))
    basis = EstimateBasis(np.asarray(n), np.asarray(n * n_raters), np.asarray(n - 1.0))
    return build_estimate(point, None, basis)


def _kendall_w_from_ratings(rated_items: RatedItems) -> Estimate:
    return kendall_w(rated_items.get_complete_codes())


KENDALL_W = Coefficient(
    name="kendall_w",
    label=_("Kendall’s W"),
    description=_("How similarly all raters rank items, even at different levels."),
    formula="12 S / (R^2 (n^3 - n) - R sum T_g), complete items, average ranks",
    low=0,
    high=1,
    undefined=COMPLETE_ITEM_REASONS,
    error=NO_ANALYTIC_ERROR,
    source="Kendall & Babington Smith 1939, Annals of Mathematical Statistics 10, 275-287",
    example=Example(
        case="13_irr_anxiety_icc", name="kendall_w", value="0.540", printed_in="R irr ?kendall"
    ),
    ratings_formula=Formula(_kendall_w_from_ratings),
    needs_order=True,
    report_format="value",
    chance_corrected=False,
)
