"""Krippendorff's alpha: one minus observed over expected disagreement.

Computed on items with two or more ratings.

    o_cl = sum_i n_ic (n_il - [c = l]) / (m_i - 1),   n_c = row sums,   N = sum n_c
    alpha = 1 - (N - 1) sum_cl o_cl d_cl / sum_cl n_c n_l d_cl

    nominal   d_cl = [c != l]
    ordinal   d_cl = (sum of n_g over g = c..l  -  (n_c + n_l) / 2)^2: the squared distance of
              mean ranks
    interval  d_cl = (v_c - v_l)^2
    ratio     d_cl = ((v_c - v_l) / (v_c + v_l))^2, 0 where v_c + v_l = 0

Krippendorff 2011, Computing Krippendorff's alpha-reliability; 2019, Content Analysis, 4th ed., ch.
12. Standard error as irrCAC's krippen.alpha.raw (Gwet 2014); none for ordinal, whose metric depends
on the margins.
"""

from functools import partial

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficients.declaration import (
    NO_ANALYTIC_ERROR,
    NO_PAIRABLE_ITEMS,
    SINGLE_CATEGORY,
    CategoryValues,
    Coefficient,
    Example,
    Formula,
)
from metrics.agreement.counts.common_correlation import (
    CommonCorrelationModel,
    Margins,
    compute_weights_within_group,
)
from metrics.agreement.counts.pattern_sums import PatternSums, build_pattern_sums
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

METRICS = ("nominal", "ordinal", "interval", "ratio")


def compute_distances(metric: str, k: int, values: npt.ArrayLike | None = None) -> Floats:
    """Return d (k, k) of the nominal, interval or ratio metric, scaled to a largest distance of 1.

    values (k,): numbers of the categories, ranks when None. Raises ValueError for an unknown
    metric, or for values that are not k finite numbers.
    """
    if metric == "nominal":
        return 1 - np.eye(k)
    v = np.arange(1.0, k + 1) if values is None else np.asarray(values, float)
    if v.shape != (k,) or not np.isfinite(v).all():
        raise ValueError(f"values must be {k} finite numbers, one for each category")
    difference, total = v[:, None] - v[None, :], v[:, None] + v[None, :]
    if metric == "ratio":
        d = np.where(total == 0, 0.0, difference / np.where(total == 0, 1.0, total)) ** 2
    elif metric == "interval":
        d = difference**2
    else:
        raise ValueError(f"unknown metric {metric!r}; one of {', '.join(METRICS)}")
    scaled: Floats = d / (d.max() or 1.0)
    return scaled


def krippendorff_alpha(
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    *,
    metric: str = "nominal",
    values: npt.ArrayLike | None = None,
    interval: bool = True,
    sums: PatternSums | None = None,
) -> Estimate:
    """Return Krippendorff's alpha of patterns (P, k) under a metric.

    n_items (..., P): numbers of items; metric: one of METRICS; values (k,): numbers of the
    categories, ranks when None; interval: False for the value alone; sums: those of the patterns if
    they are at hand, else None. In the estimate, `observed` is 1 - D_o and `expected` is 1 - D_e,
    with Krippendorff's N - 1 in D_e. Ordinal alpha has no analytic standard error. Raises
    ValueError for an unknown metric.
    """
    sums = sums or build_pattern_sums(counts, n_items)
    if metric == "ordinal":
        return _estimate_ordinal(sums)
    return _estimate_with_distances(
        sums, compute_distances(metric, sums.k, values), interval=interval
    )


def alpha_from_distances(
    counts: npt.ArrayLike, n_items: npt.ArrayLike, distance: npt.ArrayLike, *, interval: bool = True
) -> Estimate:
    """Return Krippendorff's alpha of patterns (P, k) under any distance matrix (k, k).

    counts (P, k): patterns; n_items (..., P): numbers of items. Raises ValueError unless the
    distances are finite, symmetric, not negative and 0 on the diagonal.
    """
    sums = build_pattern_sums(counts, n_items)
    d = np.asarray(distance, float)
    if d.shape != (sums.k, sums.k):
        raise ValueError(f"the distances must be {sums.k} x {sums.k}, not of shape {d.shape}")
    if not np.isfinite(d).all() or (d < 0).any() or (d != d.T).any() or np.diag(d).any():
        raise ValueError("distances must be finite, not negative, symmetric, 0 on the diagonal")
    return _estimate_with_distances(sums, d / (d.max() or 1.0), interval=interval)


def _estimate_with_distances(sums: PatternSums, d: Floats, *, interval: bool) -> Estimate:
    pair_factor = np.where(sums.pairable, 1 / np.maximum(sums.sizes - 1, 1), 0.0)
    disagreement = sums.sum_over_pairs(d) * pair_factor
    margins = sums.pairable_totals
    total = sums.pairable_ratings
    observed = divide_or_nan(sums.n_items @ disagreement, total)
    pooled = divide_or_nan(np.einsum("...j,jl,...l->...", margins, d, margins), total**2)
    point = _compute_alpha(observed, pooled, total)
    if not interval:
        return build_estimate(point, None, _build_basis(sums))
    spread = _sum_squared_influence(sums, (disagreement, d), (observed, pooled), margins)
    se = sums.compute_standard_error(spread, sums.n2)
    smallest = sums.smallest_pairable_size
    lowest = 1 - divide_or_nan((total - 1) * smallest, total * (smallest - 1))
    p = divide_or_nan(margins, total[..., None])
    model = CommonCorrelationModel.from_margins(
        _build_pair_weights(sums), 1 - d, Margins(p, 1 - pooled, -2 * (p @ d))
    )
    limits = ScoreLimits(point, model, se, sums.n2 - 1, lowest=lowest)
    return build_estimate(point, se, _build_basis(sums), limits=limits)


def _build_pair_weights(sums: PatternSums) -> Floats:
    """Return the weights (7, ...) of pairs in the variance of alpha; each rating counts once."""
    factor = sums.sizes * sums.pairable
    return compute_weights_within_group(sums.sizes, sums.n_items, factor, factor)


def _compute_alpha(observed: Floats, pooled: Floats, total: Floats) -> ChanceCorrected:
    """Return alpha from the observed and the expected disagreement (...).

    pooled: expected disagreement of pairs drawn with replacement; total (...): number of ratings.
    """
    with np.errstate(invalid="ignore"):
        singular = ~(pooled > 1e-12)
    reason = np.where(
        total == 0,
        REASON_CODES["no_pairable_items"],
        np.where(singular, REASON_CODES["single_category"], 0),
    )
    expected = pooled * divide_or_nan(total, total - 1)
    value = np.where(reason == 0, 1 - divide_or_nan(observed, expected), np.nan)
    return ChanceCorrected(1 - observed, 1 - expected, value, reason)


def _sum_squared_influence(
    sums: PatternSums,
    items: tuple[Floats, Floats],
    disagreement: tuple[Floats, Floats],
    margins: Floats,
) -> Floats:
    """Return the sum over items of their squared influence on alpha (...), as in irrCAC.

    The influence is x_i = (pa_i - p_e) / (1 - p_e) - 2 (1 - a) (pe_i - p_e) / (1 - p_e). With r the
    mean number of ratings, p = n_c / N, a = alpha without the finite-sample term, p_a the observed
    agreement with this term and d_i an item's disagreement: pa_i = (m_i - d_i) / r - p_a (m_i - r)
    / r, pe_i = n_i'Wp / r - p_e (m_i - r) / r.
    """
    d_item, d = items
    observed, expected = disagreement
    total = sums.pairable_ratings
    p = divide_or_nan(margins, total[..., None])
    pa = 1 - observed * (1 - divide_or_nan(1.0, total))
    pe = 1 - expected
    a = 1 - divide_or_nan(observed, expected)
    chance_slope = 2 * (1 - a)
    is_pairable = sums.pairable.astype(float)
    item_scale = divide_or_nan(sums.n2, total * expected)
    (spread,) = sums.sum_squared_influence(
        [
            (-item_scale, d_item),
            (item_scale * (1 - pa + chance_slope * pe), sums.sizes * is_pairable),
            (
                -(item_scale * chance_slope)[..., None] * (1 - p @ d),
                sums.scale_features(is_pairable),
            ),
            (divide_or_nan(pa - pe, expected) - a, is_pairable),
        ]
    )
    return np.asarray(spread)


def _estimate_ordinal(sums: PatternSums) -> Estimate:
    """Return ordinal alpha, with squared differences of mean ranks as distances.

    The identity sum_cl n_c n_l (r_c - r_l)^2 = 2 (N sum_c n_c r_c^2 - (sum_c n_c r_c)^2) needs no
    table of distances, so that the time does not grow with the square of the number of categories.
    """
    margins = sums.pairable_totals
    total = sums.pairable_ratings
    # Ranks are scaled to -1/2..1/2, which keeps the differences of squares exact.
    rank = divide_or_nan(np.cumsum(margins, axis=-1) - margins / 2, total[..., None]) - 0.5
    rank = np.where(np.isfinite(rank), rank, 0.0)
    per_item = np.where(sums.pairable, 1 / np.maximum(sums.sizes - 1, 1), 0.0)
    mean_ranks, squares = rank @ sums.counts.T, rank**2 @ sums.counts.T  # (..., P)
    disagreement = 2 * (sums.sizes * squares - mean_ranks**2) * per_item
    observed = divide_or_nan((sums.n_items * disagreement).sum(axis=-1), total)
    pooled = 2 * (
        divide_or_nan((margins * rank**2).sum(axis=-1), total)
        - divide_or_nan((margins * rank).sum(axis=-1), total) ** 2
    )
    return build_estimate(_compute_alpha(observed, pooled, total), None, _build_basis(sums))


def _build_basis(sums: PatternSums) -> EstimateBasis:
    return EstimateBasis(
        sums.n2.astype(np.int64), sums.pairable_ratings.astype(np.int64), sums.n2 - 1
    )


_ALPHA_FORMULA = "alpha = 1 - (N - 1) sum o_cl d_cl / sum n_c n_l d_cl,   "
_IRRCAC_ALPHA_ERROR = "irrCAC krippen.alpha.raw, t(n2 - 1)"


def _build_example(name: str, value: str) -> Example:
    case = "10_krippendorff2011_gwet_4raters"
    return Example(case=case, name=name, value=value, printed_in="Krippendorff 2011")


KRIPPENDORFF_NOMINAL = Coefficient(
    name="krippendorff_alpha_nominal",
    label=_("Krippendorff’s alpha, nominal"),
    description=_(
        "Agreement of any number of raters beyond chance; handles missing ratings and few items."
    ),
    formula=_ALPHA_FORMULA + "d_cl = [c != l]",
    low=None,
    high=1,
    undefined=(NO_PAIRABLE_ITEMS, SINGLE_CATEGORY),
    error=_IRRCAC_ALPHA_ERROR,
    source="Krippendorff 2019, Content Analysis, 4th ed., ch. 12",
    example=_build_example("krippendorff_alpha_nominal", "0.743"),
    pattern_formula=Formula(partial(krippendorff_alpha, metric="nominal")),
)

KRIPPENDORFF_ORDINAL = Coefficient(
    name="krippendorff_alpha_ordinal",
    label=_("Krippendorff’s alpha, ordinal"),
    description=_(
        "Krippendorff’s alpha where disagreements weigh more if more ratings lie between."
    ),
    formula=_ALPHA_FORMULA + "d_cl = (sum of n_g over g = c..l - (n_c + n_l) / 2)^2",
    low=None,
    high=1,
    undefined=(NO_PAIRABLE_ITEMS, SINGLE_CATEGORY),
    error=NO_ANALYTIC_ERROR,
    source="Krippendorff 2019, Content Analysis, 4th ed., ch. 12",
    example=_build_example("krippendorff_alpha_ordinal", "0.815"),
    pattern_formula=Formula(partial(krippendorff_alpha, metric="ordinal")),
    needs_order=True,
)

KRIPPENDORFF_INTERVAL = Coefficient(
    name="krippendorff_alpha_interval",
    label=_("Krippendorff’s alpha, interval"),
    description=_("Krippendorff’s alpha with squared differences."),
    formula=_ALPHA_FORMULA + "d_cl = (v_c - v_l)^2",
    low=None,
    high=1,
    undefined=(NO_PAIRABLE_ITEMS, SINGLE_CATEGORY),
    error=_IRRCAC_ALPHA_ERROR,
    source="Krippendorff 2019, Content Analysis, 4th ed., ch. 12",
    example=_build_example("krippendorff_alpha_interval", "0.849"),
    pattern_formula=Formula(
        partial(krippendorff_alpha, metric="interval"), category_values=CategoryValues.REQUIRED
    ),
    needs_numbers=True,
)

KRIPPENDORFF_RATIO = Coefficient(
    name="krippendorff_alpha_ratio",
    label=_("Krippendorff’s alpha, ratio"),
    description=_(
        "Krippendorff’s alpha for numbers with a true zero: differences weigh relative to the sum."
    ),
    formula=_ALPHA_FORMULA + "d_cl = ((v_c - v_l) / (v_c + v_l))^2, 0 where v_c + v_l = 0",
    low=None,
    high=1,
    undefined=(NO_PAIRABLE_ITEMS, SINGLE_CATEGORY),
    error=_IRRCAC_ALPHA_ERROR,
    source="Krippendorff 2019, Content Analysis, 4th ed., ch. 12",
    example=_build_example("krippendorff_alpha_ratio", "0.797"),
    pattern_formula=Formula(
        partial(krippendorff_alpha, metric="ratio"),
        category_values=CategoryValues.REQUIRED_NON_NEGATIVE,
    ),
    needs_numbers=True,
)
