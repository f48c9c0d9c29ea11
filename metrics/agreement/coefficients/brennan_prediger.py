"""Brennan-Prediger: chance agreement if all categories were equally frequent, P_e = T_w / k^2.

T_w is the sum of all weights. Brennan & Prediger 1981, Educational and Psychological Measurement
41, 687-699; with two raters also known as PABAK, S and the G index. Standard error as irrCAC.
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
from metrics.agreement.weights import as_weight_matrix

from . import two_raters
from .fleiss import ItemChance, estimate_with_item_chance


def brennan_prediger(
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    interval: bool = True,
    sums: PatternSums | None = None,
) -> Estimate:
    """Return Brennan-Prediger's coefficient of patterns (P, k) with item numbers (..., P)."""
    sums = sums or build_pattern_sums(counts, n_items)
    expected = np.full(sums.n.shape, np.sum(as_weight_matrix(weights, sums.k)) / sums.k**2)
    zeros = np.zeros((*sums.n.shape, sums.k))
    chance = ItemChance(expected, zeros, zeros, offset=expected)
    lowest = sums.compute_least_value(weights, float(np.mean(as_weight_matrix(weights, sums.k))))
    return estimate_with_item_chance(sums, weights, chance, lowest=lowest, interval=interval)


BRENNAN_PREDIGER = Coefficient(
    name="brennan_prediger",
    label=_("Brennan-Prediger"),
    description=_("Agreement beyond chance, where every category is equally likely."),
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
