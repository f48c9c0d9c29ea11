"""Mean pairwise kappa: the mean of Cohen's kappas over all pairs of raters for which it is defined.

Light 1971, Psychological Bulletin 76, 365-377. No analytic standard error: the pairs share raters
and items.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficients.declaration import (
    NO_ANALYTIC_ERROR,
    NO_PAIRABLE_ITEMS,
    SINGLE_CATEGORY,
    Coefficient,
    Example,
    Formula,
)
from metrics.agreement.counts.common_correlation import (
    CommonCorrelationModel,
    Margins,
    compute_weights_within_group,
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

from .cohen import kappa


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
    """Return Light's kappa, the mean of Cohen's kappas, from tables of all pairs (..., P, k, k)."""
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


def mean_kappa_by_items(
    pairs: PairKappas,
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
) -> tuple[Estimate, int]:
    """Return the mean of the defined kappas weighted by shared items, and their number.

    The mean is an Estimate (). counts (P, k), n_items (P,): patterns of these raters and numbers of
    items. The standard error is sqrt(V_r + V_i). V_r is the jackknife variance over raters: (R - 1)
    / R times the sum of squared deviations of the R means without one rater each. V_i is the
    variance due to items by the delta method, as if every pair had the pooled margins. Their sum
    counts the interaction of rater and item twice, so the interval is rather too wide than too
    narrow. Its degrees of freedom are Satterthwaite's from R - 1 and n2 - 1. With fewer than three
    raters V_r is 0.
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
    raters, rater_index = np.unique(
        np.concatenate([pairs.rater_a[is_defined], pairs.rater_b[is_defined]]), return_inverse=True
    )
    rater_sums = np.bincount(rater_index, np.tile(n * kappa, 2))
    rater_items = np.bincount(rater_index, np.tile(n, 2))
    v_raters = 0.0
    other_items = total - rater_items
    if len(raters) > 2:
        leave_one_out = ((n * kappa).sum() - rater_sums[other_items > 0]) / other_items[
            other_items > 0
        ]
        size = len(leave_one_out)
        v_raters = (size - 1) / size * float(((leave_one_out - leave_one_out.mean()) ** 2).sum())
    v_items, n2, model = _compute_item_variance(value, counts, n_items, weights)
    variance = v_raters + v_items
    df_terms = (v_raters**2 / (len(raters) - 1), v_items**2 / max(n2 - 1, 1))
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


def _compute_item_variance(
    value: float, counts: npt.ArrayLike, n_items: npt.ArrayLike, weights: npt.ArrayLike | None
) -> tuple[float, int, CommonCorrelationModel | None]:
    """Return (variance V_i of the mean kappa due to items, number of items, model of V_i).

    The model gives V_i for any true kappa; None where V_i is 0 because nothing can be compared.

    Let p be the pooled shares, w_j. = sum_l w_jl p_l and g_jl = w_jl - (1 - kappa) (w_j. + w_l.).
    With u_i the sum of g over the pairs of ratings of item i, N the number of all pairs and gbar
    the mean of g over them, V_i = n / (n - 1) sum (u_i - pairs_i gbar)^2 / (N (1 - P_e))^2.
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
    description=_("The mean of all pairs’ defined Cohen’s kappas."),
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
