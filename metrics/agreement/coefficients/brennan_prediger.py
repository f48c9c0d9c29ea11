"""Brennan-Prediger: chance is every category equally often, P_e = T_w / k^2 (T_w = sum of all
weights).

Brennan & Prediger 1981, Educational and Psychological Measurement 41, 687-699; with two raters also
known as PABAK, S and the G index. Standard error as irrCAC.
"""

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficients.declaration import (
    IRRCAC,
    NO_PAIRS,
    Coefficient,
    Example,
    Formula,
)
from metrics.agreement.counts.sums import PatternSums, pattern_sums
from metrics.agreement.estimate import Estimate
from metrics.agreement.glossary import gettext_noop as _
from metrics.agreement.weights import weighting

from . import two_raters
from .fleiss import chance_by_item


def brennan_prediger(
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    interval: bool = True,
    sums: PatternSums | None = None,
) -> Estimate:
    """Patterns (P, k), numbers of items (..., P) -> Estimate (...)."""
    sums = sums or pattern_sums(counts, n_items)
    expected = np.full(sums.n.shape, np.sum(weighting(weights, sums.k)) / sums.k**2)
    nothing = np.zeros((*sums.n.shape, sums.k))
    return chance_by_item(sums, weights, expected, nothing, interval=interval, offset=expected)


BRENNAN_PREDIGER = Coefficient(
    name="brennan_prediger",
    called=_("Brennan-Prediger"),
    says=_(
        "Agreement beyond chance where chance gives every category equally often, whatever the "
        "raters’ habits are."
    ),
    formula="(P_o - P_e) / (1 - P_e),   P_e = T_w / k^2",
    low=None,
    high=1,
    undefined=(NO_PAIRS,),
    error=IRRCAC,
    source="Brennan & Prediger 1981, Educational and Psychological Measurement 41, 687-699",
    example=Example(
        case="10_krippendorff2011_gwet_4raters",
        name="brennan_prediger",
        value="0.77273",
        printed="irrCAC README",
    ),
    of_patterns=Formula(brennan_prediger, weights=True),
    of_table=Formula(two_raters.brennan_prediger),
)
