"""Percent agreement, Brennan-Prediger and Gwet's AC1/AC2, with the standard errors of irrCAC.

    P_i = sum_jl w_jl n_ij (n_il - [j = l]) / (m_i (m_i - 1))
    P_o = mean of P_i over items with m_i >= 2

    percent agreement  P_o: no correction for chance
    Brennan-Prediger   P_e = T_w / k^2: as if all categories were equally frequent
    AC1, AC2           P_e = T_w sum_j p_j (1 - p_j) / (k (k - 1)): chance only on items that are
                       hard to rate

T_w is the sum of all weights, p_j the mean of n_ij / m_i. P_e of AC1 is below 1 on any scale of two
or more categories, so AC1 is defined even when all ratings agree. Brennan-Prediger is with two
raters also known as PABAK, S and the G index.

Standard error as irrCAC (Gwet 2014, Handbook of Inter-Rater Reliability, ch. 5); of percent
agreement: x_i = (n / n2) [m_i >= 2] P_i, se^2 = sum (x_i - P_o)^2 / (n (n - 1)). Gwet 2008, British
Journal of Mathematical and Statistical Psychology 61, 29-48; Brennan & Prediger 1981, Educational
and Psychological Measurement 41, 687-699.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficients.declaration import (
    IRRCAC_ERROR,
    NO_PAIRABLE_ITEMS,
    Coefficient,
    Example,
    Formula,
)
from metrics.agreement.counts.common_correlation import CommonCorrelationModel, Margins
from metrics.agreement.counts.pattern_sums import PatternSums, build_pattern_sums
from metrics.agreement.counts.score_intervals import ScoreLimits
from metrics.agreement.estimate import (
    ChanceCorrected,
    Estimate,
    Floats,
    build_estimate,
    divide_or_nan,
)
from metrics.agreement.glossary import gettext_noop as _
from metrics.agreement.weights import as_weight_matrix, chance_factor

from . import two_raters


@dataclass(frozen=True)
class ItemChance:
    """Chance agreement P_e (...), and coefficients for the influence of each item on it.

    slope (..., k): of an item's shares; gradient (..., k): h with dP_e = sum_j h_j dp_j; offset:
    constant part, (...) or a number.
    """

    expected: Floats
    slope: Floats
    gradient: Floats
    offset: Floats | float = 0.0


def estimate_with_item_chance(
    sums: PatternSums,
    weights: npt.ArrayLike | None,
    chance: ItemChance,
    *,
    interval: bool,
    lowest: Floats,
) -> Estimate:
    """Return a chance-corrected coefficient with irrCAC's standard error and both intervals.

    weights (k, k) or None; interval: False for the value alone; lowest (...): the least value
    possible. Items with a single rating make irrCAC's standard error too wide, because it treats n2
    as fixed; the interval shown centres the agreement of the other items instead.
    """
    expected, agreement = chance.expected, sums.compute_item_agreement(weights)
    point = ChanceCorrected.from_agreement(
        sums.compute_observed(agreement), expected, sums.has_pairs
    )
    if not interval:
        return build_estimate(point, None, sums.build_basis())
    beyond_chance = 1 - expected
    scale = divide_or_nan(sums.n, sums.n2 * beyond_chance)
    chance_slope = divide_or_nan(2 * (1 - point.value), beyond_chance)
    spreads = sums.sum_squared_influence(
        [
            (scale, agreement),
            (-scale * expected, sums.pairable),
            (-chance_slope[..., None] * chance.slope, sums.share_features),
        ],
        constant=chance_slope * (expected - chance.offset) - point.value,
        shift=None if sums.pairable.all() else (-scale * (point.observed - expected), point.value),
    )
    se, se_shown = sums.compute_standard_error(spreads[0]), sums.compute_standard_error(spreads[-1])
    model = CommonCorrelationModel.from_margins(
        sums.build_pair_weights(pooled=False),
        None if weights is None else as_weight_matrix(weights, sums.k),
        Margins(sums.mean_shares, expected, chance.gradient),
    )
    limits = ScoreLimits(point, model, se_shown, sums.n2 - 1, lowest=lowest)
    return build_estimate(point, se, sums.build_basis(), limits=limits)


def gwet_ac(
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    interval: bool = True,
    sums: PatternSums | None = None,
) -> Estimate:
    """Return Gwet's AC1, or AC2 with weights (k, k), of patterns (P, k).

    n_items (..., P): numbers of items; interval: False for the value alone; sums: those of the
    patterns if they are at hand, else None.
    """
    sums = sums or build_pattern_sums(counts, n_items)
    share = sums.mean_shares
    factor = chance_factor(weights, sums.k)
    expected = factor * (share * (1 - share)).sum(axis=-1)
    chance = ItemChance(expected, factor * (1 - share), factor * (1 - 2 * share))
    lowest = sums.compute_least_value(weights, factor * (1 - 1 / sums.k))
    return estimate_with_item_chance(sums, weights, chance, lowest=lowest, interval=interval)


GWET_AC1 = Coefficient(
    name="gwet_ac1",
    label=_("Gwet’s AC1"),
    description=_(
        "Agreement beyond chance, stable if one category prevails; confusing a rare category "
        "hardly lowers it (Vach & Gerke 2023)."
    ),
    formula=(
        "(P_o - P_e) / (1 - P_e),   P_e = T_w sum p_j (1 - p_j) / (k (k - 1)),   "
        "p_j = mean of n_ij / m_i"
    ),
    low=None,
    high=1,
    undefined=(NO_PAIRABLE_ITEMS,),
    error=IRRCAC_ERROR,
    source="Gwet 2008, British J. of Mathematical and Statistical Psychology 61, 29-48",
    example=Example(
        case="10_krippendorff2011_gwet_4raters",
        name="gwet_ac1",
        value="0.77544",
        printed_in="irrCAC README",
    ),
    pattern_formula=Formula(gwet_ac, takes_weights=True),
    table_formula=Formula(two_raters.gwet_ac),
    weighted_base="gwet_ac2",
)


def percent_agreement(
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    interval: bool = True,
    sums: PatternSums | None = None,
) -> Estimate:
    """Return percent agreement of patterns (P, k) with numbers of items (..., P).

    weights (k, k) or None; the other arguments are as for gwet_ac. There is no correction for
    chance: `expected` is 0.
    """
    sums = sums or build_pattern_sums(counts, n_items)
    zeros = np.zeros((*sums.n.shape, sums.k))
    chance = ItemChance(0 * sums.n, zeros, zeros)
    lowest = sums.compute_least_value(weights)
    return estimate_with_item_chance(sums, weights, chance, lowest=lowest, interval=interval)


PERCENT_AGREEMENT = Coefficient(
    name="percent_agreement",
    label=_("Percent agreement"),
    description=_("How often two ratings of an item agree, by chance or not."),
    formula="P_o = mean over items with m_i >= 2 of sum w_jl n_ij (n_il - [j=l]) / (m_i (m_i - 1))",
    low=0,
    high=1,
    undefined=(NO_PAIRABLE_ITEMS,),
    error=IRRCAC_ERROR,
    source="Gwet 2014, Handbook of Inter-Rater Reliability, 4th ed.",
    example=Example(
        case="10_krippendorff2011_gwet_4raters",
        name="percent_agreement",
        value="0.81818",
        printed_in="irrCAC README",
    ),
    pattern_formula=Formula(percent_agreement, takes_weights=True),
    table_formula=Formula(two_raters.percent_agreement),
    chance_corrected=False,
)


def brennan_prediger(
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    interval: bool = True,
    sums: PatternSums | None = None,
) -> Estimate:
    """Return Brennan-Prediger's coefficient of patterns (P, k) with item numbers (..., P).

    weights (k, k) or None; the other arguments are as for gwet_ac.
    """
    sums = sums or build_pattern_sums(counts, n_items)
    expected = np.full(sums.n.shape, np.sum(as_weight_matrix(weights, sums.k)) / sums.k**2)
    zeros = np.zeros((*sums.n.shape, sums.k))
    chance = ItemChance(expected, zeros, zeros, offset=expected)
    lowest = sums.compute_least_value(weights, float(np.mean(as_weight_matrix(weights, sums.k))))
    return estimate_with_item_chance(sums, weights, chance, lowest=lowest, interval=interval)


BRENNAN_PREDIGER = Coefficient(
    name="brennan_prediger",
    label=_("Brennan-Prediger"),
    description=_("Agreement beyond chance if every category were equally likely."),
    formula="(P_o - P_e) / (1 - P_e),   P_e = T_w / k^2",
    low=None,
    high=1,
    undefined=(NO_PAIRABLE_ITEMS,),
    error=IRRCAC_ERROR,
    source="Brennan & Prediger 1981, Educational and Psychological Measurement 41, 687-699",
    example=Example(
        case="10_krippendorff2011_gwet_4raters",
        name="brennan_prediger",
        value="0.77273",
        printed_in="irrCAC README",
    ),
    pattern_formula=Formula(brennan_prediger, takes_weights=True),
    table_formula=Formula(two_raters.brennan_prediger),
)
