"""Percent agreement: the share of pairs of ratings of the same item that agree.

    P_i = sum_jl w_jl n_ij (n_il - [j = l]) / (m_i (m_i - 1))
    P_o = mean of P_i over items with m_i >= 2

Standard error as irrCAC (Gwet 2014, Handbook of Inter-Rater Reliability, ch. 5): x_i = (n / n2)
[m_i >= 2] P_i, se^2 = sum (x_i - P_o)^2 / (n (n - 1)).
"""

import numpy as np
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

from . import two_raters
from .fleiss import ItemChance, estimate_with_item_chance


def percent_agreement(
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    interval: bool = True,
    sums: PatternSums | None = None,
) -> Estimate:
    """Return percent agreement of patterns (P, k) with numbers of items (..., P).

    There is no correction for chance: `expected` is 0.
    """
    sums = sums or build_pattern_sums(counts, n_items)
    zeros = np.zeros((*sums.n.shape, sums.k))
    chance = ItemChance(0 * sums.n, zeros, zeros)
    lowest = sums.compute_least_value(weights)
    return estimate_with_item_chance(sums, weights, chance, lowest=lowest, interval=interval)


PERCENT_AGREEMENT = Coefficient(
    name="percent_agreement",
    label=_("Percent agreement"),
    description=_("How often two ratings of an item are the same, by chance or not."),
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
