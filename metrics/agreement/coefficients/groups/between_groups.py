"""Agreement between two groups of raters, as people and models, on the items that both rated.

    u_i, v_i    shares of the categories among the ratings of item i by the first and second group
    P_o         mean over shared items of u_i' W v_i: a random rater of the first group against a
                random one of the second
    P_e         u' W v of the means of u_i and v_i

With one rater in each group this is Cohen's (weighted) kappa. P_o and P_e are those of Vanbelle &
Albert 2009, Psychometrika 74, 477-491; here the maximum is 1, as for every other coefficient, also
where a group disagrees internally.

Standard error: delta method on u_i'Wv_i, u_i and v_i over items, t(n - 1).
"""

from typing import Literal

import numpy as np
import numpy.typing as npt

from metrics.agreement.counts.common_correlation import (
    CommonCorrelationModel,
    Margins,
    compute_weights_across_groups,
)
from metrics.agreement.counts.contingency import has_constant_side
from metrics.agreement.counts.pattern_sums import build_pattern_sums
from metrics.agreement.counts.score_intervals import ScoreLimits
from metrics.agreement.estimate import (
    ChanceCorrected,
    Estimate,
    EstimateBasis,
    Floats,
    build_estimate,
    divide_or_nan,
)
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
    """Return kappa between two groups of raters, from counts of categories in each group.

    first, second (P, k): patterns of the two groups on the same items; n_items (..., P): numbers of
    items; weights (k, k). chance: expected agreement from both margins, as Gwet's AC, or none at
    all.
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
    """Return P_e (...) and its derivatives by the two margins (..., k)."""
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
