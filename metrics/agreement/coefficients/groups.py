"""Agreement between groups of raters: two groups, or one rater with all others.

Two groups, as people and models, on the items that both rated:

    u_i, v_i    shares of the categories among the ratings of item i by the first and second group
    P_o         mean over shared items of u_i' W v_i: a random rater of the first group against a
                random one of the second
    P_e         u' W v of the means of u_i and v_i

With one rater in each group this is Cohen's (weighted) kappa. P_o and P_e are those of Vanbelle &
Albert 2009, Psychometrika 74, 477-491; here the maximum is 1, as for every other coefficient, also
where a group disagrees internally.

Standard error: delta method on u_i'Wv_i, u_i and v_i over items, t(n - 1).

One rater with all others on the same items, from peer tables (PeerTables).

The table T (k, k) of own category against every other rating of the same items, S = sum T,
p = T / S, margins r, c:

    kappa    (P_o - P_e) / (1 - P_e),   P_o = sum w_jl p_jl,   P_e = sum w_jl r_j c_l
    percent  P_o
    bias     sum p_jl (v_j - v_l): mean signed difference, own less peers, in category values or
             ranks

Each is a smooth function of T, and T is a sum over items. So the standard error is the delta method
with items as clusters: f_i = sum_jl A_jl x_jl with x the item's contribution, se^2 = n / (n - 1)
sum f_i^2, where sum f_i^2 follows exactly from the stored moments. Without moments an item's f_i^2
is bounded as if its other raters gave identical ratings (Cauchy-Schwarz with the mean number of
others): wider, not narrower. Interval: t(n - 1). (Liang & Zeger 1986, Biometrika 73, 13-22;
agreement of one with a group: Williams 1976, Biometrics 32, 619-627.)
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficients.declaration import CategoryValues, Formula
from metrics.agreement.counts.common_correlation import (
    CommonCorrelationModel,
    Margins,
    compute_weights_across_groups,
)
from metrics.agreement.counts.contingency import (
    bilinear_form,
    has_constant_side,
    mean_weight,
    outer_sum,
)
from metrics.agreement.counts.pattern_sums import build_pattern_sums
from metrics.agreement.counts.score_intervals import ScoreLimits
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
from metrics.agreement.weights import as_weight_matrix, chance_factor

ChanceModel = Literal["margins", "gwet", "none"]


def between_group_kappa(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    n_items: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    chance: ChanceModel = "margins",
) -> Estimate:
    """Return kappa between two groups of raters, from the category counts of each group.

    first, second (P, k): patterns of the two groups on the same items; n_items (..., P): numbers of
    items; weights (k, k) or None. chance: expected agreement from both margins ("margins"), as in
    Gwet's AC ("gwet"), or 0 ("none").
    """
    first_counts, second_counts = np.asarray(first, float), np.asarray(second, float)
    shared = (first_counts.sum(axis=1) > 0) & (second_counts.sum(axis=1) > 0)
    first_counts, second_counts = first_counts[shared], second_counts[shared]
    items = np.asarray(n_items, float)[..., shared]
    k = first_counts.shape[1]
    w = as_weight_matrix(weights, k)
    u = first_counts / first_counts.sum(axis=1, keepdims=True)
    v = second_counts / second_counts.sum(axis=1, keepdims=True)
    agreement = ((u @ w) * v).sum(axis=1)
    n = items.sum(axis=-1)
    observed = divide_or_nan(items @ agreement, n)
    margins = divide_or_nan(items @ u, n[..., None]), divide_or_nan(items @ v, n[..., None])
    expected, slopes = _compute_expected(margins, w, chance)
    point = ChanceCorrected.from_agreement(observed, expected, n > 0)
    chance_slope = 1 - point.value if chance != "none" else np.zeros_like(point.value)
    sums = build_pattern_sums(np.concatenate([first_counts, second_counts], axis=1), items)
    margin_term = sum((p * s).sum(axis=-1) for p, s in zip(margins, slopes, strict=True))
    (spread,) = sums.sum_squared_influence(
        [
            (np.ones_like(n), agreement),
            (-chance_slope[..., None] * slopes[0], u),
            (-chance_slope[..., None] * slopes[1], v),
        ],
        constant=chance_slope * margin_term - observed,
    )
    se = divide_or_nan(sums.compute_standard_error(spread, n), 1 - expected)
    n_ratings = items @ (first_counts.sum(axis=1) + second_counts.sum(axis=1))
    basis = EstimateBasis(n.astype(np.int64), n_ratings.astype(np.int64), n - 1)
    # The mean of 1 / size over the items stands for the sizes of the groups.
    first_size, second_size = (
        divide_or_nan(n, items @ (1 / group.sum(axis=1))) for group in (first_counts, second_counts)
    )
    model = CommonCorrelationModel.from_margins(
        compute_weights_across_groups(first_size, second_size, n),
        w,
        Margins((margins[0] + margins[1]) / 2, expected, slopes[0] + slopes[1]),
    )
    limits_df = n - 1
    if chance == "margins":
        limits_df = np.where(has_constant_side(*margins), np.nan, limits_df)
    greatest_chance = {"margins": None, "gwet": w.mean(), "none": 0.0}[chance]
    lowest = (
        -1.0
        if greatest_chance is None
        else float((w.min() - greatest_chance) / (1 - greatest_chance))
    )
    limits = ScoreLimits(point, model, se, limits_df, lowest=lowest)
    return build_estimate(point, se, basis, limits=limits)


def _compute_expected(
    margins: tuple[Floats, Floats], w: Floats, chance: ChanceModel
) -> tuple[Floats, tuple[Floats, Floats]]:
    """Return P_e (...) and its derivatives by the first and the second margin, each (..., k)."""
    first_margin, second_margin = margins
    if chance == "margins":
        slopes = second_margin @ w.T, first_margin @ w
        return (first_margin * slopes[0]).sum(axis=-1), slopes
    if chance == "none":
        zeros = np.zeros_like(first_margin)
        return np.where(np.isnan(first_margin[..., 0]), np.nan, 0.0), (zeros, zeros)
    pooled = (first_margin + second_margin) / 2
    factor = chance_factor(w, len(w))
    slope = factor * (1 - 2 * pooled) / 2
    return factor * (pooled * (1 - pooled)).sum(axis=-1), (slope, slope)


def peer_kappa(
    tables: npt.ArrayLike,
    moments: npt.ArrayLike | None,
    n_items: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
) -> Estimate:
    """Return kappa of each rater with all others, from peer tables (..., k, k).

    moments (..., k, k, k) or None, n_items (...): as in PeerTables; weights (k, k) or None.
    """
    p, total = _compute_proportions(tables)
    w = as_weight_matrix(weights, p.shape[-1])
    rows, columns = p.sum(axis=-1), p.sum(axis=-2)
    observed, expected = mean_weight(p, w), bilinear_form(rows, w, columns)
    point = ChanceCorrected.from_agreement(observed, expected, total > 0)
    slope = outer_sum(columns @ w.T, rows @ w) - 2 * expected[..., None, None]
    influence = w - observed[..., None, None] - (1 - point.value)[..., None, None] * slope
    influence = divide_or_nan(influence, (total * (1 - expected))[..., None, None])
    margins = Margins((rows + columns) / 2, expected, columns @ w.T + rows @ w)
    model = _build_variance_model(total, n_items, w, margins)
    df = np.where(has_constant_side(rows, columns), np.nan, np.asarray(n_items, float) - 1)
    return _build_clustered_estimate(
        point, influence, (tables, moments, n_items), model=model, limits_df=df
    )


def peer_percent_agreement(
    tables: npt.ArrayLike,
    moments: npt.ArrayLike | None,
    n_items: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
) -> Estimate:
    """Return percent agreement of each rater with all others, from peer tables (..., k, k).

    moments (..., k, k, k) or None, n_items (...): as in PeerTables; weights (k, k) or None.
    """
    p, total = _compute_proportions(tables)
    w = as_weight_matrix(weights, p.shape[-1])
    point = ChanceCorrected.from_agreement(mean_weight(p, w), 0 * total, total > 0)
    influence = divide_or_nan(w - point.value[..., None, None], total[..., None, None])
    shares = (p.sum(axis=-1) + p.sum(axis=-2)) / 2
    model = _build_variance_model(total, n_items, w, Margins(shares, 0 * total, 0 * shares))
    lowest = float(w.min())
    return _build_clustered_estimate(
        point, influence, (tables, moments, n_items), model=model, lowest=lowest
    )


def peer_bias(
    tables: npt.ArrayLike,
    moments: npt.ArrayLike | None,
    n_items: npt.ArrayLike,
    *,
    values: npt.ArrayLike | None = None,
) -> Estimate:
    """Return how much higher each rater rates than the peers, from peer tables (..., k, k).

    It is the mean of own less peers' values: values (k,) of the categories, ranks when None.
    moments (..., k, k, k) or None, n_items (...): as in PeerTables.
    """
    p, total = _compute_proportions(tables)
    k = p.shape[-1]
    v = np.arange(1.0, k + 1) if values is None else np.asarray(values, float)
    difference = v[:, None] - v[None, :]
    value = mean_weight(p, difference)
    nan_values = np.full(total.shape, np.nan)
    reason = np.where(total > 0, 0, REASON_CODES["no_pairable_items"])
    influence = divide_or_nan(difference - value[..., None, None], total[..., None, None])
    point = ChanceCorrected(nan_values, nan_values, value, reason)
    return _build_clustered_estimate(point, influence, (tables, moments, n_items), upper=np.inf)


def _compute_proportions(tables: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return the proportions p (..., k, k) of the tables, NaN for empty ones, and their sums."""
    table = np.asarray(tables, float)
    total = table.sum(axis=(-2, -1))
    return divide_or_nan(table, total[..., None, None]), total


def _build_variance_model(
    total: Floats, n_items: npt.ArrayLike, w: Floats, margins: Margins
) -> CommonCorrelationModel:
    """Return the variance model of one rater against the mean number of peers per item.

    total (...): pairs of an own and another rating; n_items (...): own ratings.
    """
    n = np.asarray(n_items, float)
    others = np.maximum(np.nan_to_num(divide_or_nan(total, n), nan=1.0), 1.0)
    return CommonCorrelationModel.from_margins(
        compute_weights_across_groups(np.ones_like(n), others, n), w, margins
    )


def _build_clustered_estimate(
    point: ChanceCorrected,
    influence: Floats,
    counts: tuple[npt.ArrayLike, npt.ArrayLike | None, npt.ArrayLike],
    *,
    upper: float = 1.0,
    model: CommonCorrelationModel | None = None,
    lowest: float = -1.0,
    limits_df: Floats | None = None,
) -> Estimate:
    """Return the estimate with a standard error robust to clustering by item.

    influence (..., k, k): of a pair of ratings; counts: tables, moments and numbers of items;
    model: variance of a coefficient under its own value, for the interval shown; None for a mean;
    lowest: the least value possible; limits_df (...): degrees of freedom of the interval shown, NaN
    for no interval; None for those of the standard error.
    """
    tables, moments, n_items = np.asarray(counts[0], float), counts[1], np.asarray(counts[2], float)
    influence = np.where(np.isfinite(influence), influence, 0.0)
    total = tables.sum(axis=(-2, -1))
    if moments is None:
        squared_influence = divide_or_nan(total, n_items) * (tables * influence**2).sum(
            axis=(-2, -1)
        )
    else:
        moment_products = (np.asarray(moments, float) @ influence[..., None])[..., 0]
        squared_influence = (moment_products * influence).sum(axis=(-2, -1))
    se = np.sqrt(np.maximum(squared_influence * divide_or_nan(n_items, n_items - 1), 0))
    basis = EstimateBasis(n_items.astype(np.int64), (n_items + total).astype(np.int64), n_items - 1)
    limits = None
    if model is not None:
        df = basis.df if limits_df is None else limits_df
        limits = ScoreLimits(point, model, se, df, lowest=lowest)
    return build_estimate(point, se, basis, upper=upper, limits=limits)


PEER_FORMULAS = {
    "vs_peers": Formula(peer_kappa, takes_weights=True),
    "vs_peers_percent": Formula(peer_percent_agreement),
    "vs_peers_bias": Formula(peer_bias, category_values=CategoryValues.OPTIONAL),
}
# Name -> label and description.
PEER_TEXTS: dict[str, tuple[str, str]] = {
    "vs_peers": (
        _("Kappa with peers"),
        _("One rater’s agreement with the others beyond chance."),
    ),
    "vs_peers_percent": (
        _("Percent agreement with peers"),
        _("How often a rater agrees with another rater."),
    ),
    "vs_peers_bias": (
        _("Bias against peers"),
        _("Mean difference from the others on the same items, in scale units."),
    ),
}
