"""Gwet's AC1 (nominal) and AC2 (weighted): chance agreement only on items that are hard to rate.

    P_e = T_w sum_j p_j (1 - p_j) / (k (k - 1))
    T_w = sum of all weights,   p_j = mean of n_ij / m_i

Gwet 2008, British Journal of Mathematical and Statistical Psychology 61, 29-48; Gwet 2014, Handbook
of Inter-Rater Reliability. P_e is below 1 on any scale of two or more categories, so AC1 is defined
even when all ratings agree.
"""

import numpy.typing as npt

from metrics.agreement.coefficients.declaration import (
    IRRCAC_ERROR,
    NO_PAIRABLE_ITEMS,
    Coefficient,
    Example,
    Formula,
)
from metrics.agreement.counts.pattern_sums import PatternSums, build_pattern_sums
from metrics.agreement.estimate import Estimate
from metrics.agreement.glossary import gettext_noop as _
from metrics.agreement.weights import chance_factor

from . import two_raters
from .fleiss import ItemChance, estimate_with_item_chance


def gwet_ac(
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    interval: bool = True,
    sums: PatternSums | None = None,
) -> Estimate:
    """Return Gwet's AC1, or AC2 with weights, of patterns (P, k) with item numbers (..., P)."""
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
