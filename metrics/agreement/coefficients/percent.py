"""Percent agreement: how often two ratings of the same item are the same.

    P_i = sum_jl w_jl n_ij (n_il - [j = l]) / (m_i (m_i - 1))
    P_o = mean of P_i over items with m_i >= 2

Standard error as irrCAC (Gwet 2014, Handbook of Inter-Rater Reliability, ch. 5):
x_i = (n / n2) [m_i >= 2] P_i, se^2 = sum (x_i - P_o)^2 / (n (n - 1)).
"""

import numpy.typing as npt

from metrics.agreement.coefficients.declaration import (
    IRRCAC,
    NO_PAIRS,
    Coefficient,
    Example,
    Formula,
)
from metrics.agreement.counts.sums import PatternSums, pattern_sums
from metrics.agreement.estimate import Corrected, Estimate, divided, estimated
from metrics.agreement.glossary import gettext_noop as _

from . import two_raters


def percent_agreement(
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    interval: bool = True,
    sums: PatternSums | None = None,
) -> Estimate:
    """Patterns (P, k), numbers of items (..., P) -> Estimate (...). `expected` is 0: nothing is
    corrected."""
    sums = sums or pattern_sums(counts, n_items)
    agreement = sums.agreement(weights)
    observed = sums.observed(agreement)
    point = Corrected.of(observed, 0 * sums.n, sums.has_pairs)
    if not interval:
        return estimated(point, None, sums.basis())
    spread = sums.spread([(divided(sums.n, sums.n2), agreement)], constant=-observed)
    return estimated(point, sums.standard_error(spread), sums.basis())


PERCENT_AGREEMENT = Coefficient(
    name="percent_agreement",
    called=_("Percent agreement"),
    says=_(
        "How often two ratings of the same item are the same. Not corrected for chance: where "
        "one answer is frequent, it is high without any skill."
    ),
    formula="P_o = mean over items with m_i >= 2 of sum w_jl n_ij (n_il - [j=l]) / (m_i (m_i - 1))",
    low=0,
    high=1,
    undefined=(NO_PAIRS,),
    error=IRRCAC,
    source="Gwet 2014, Handbook of Inter-Rater Reliability, 4th ed.",
    example=Example(
        case="10_krippendorff2011_gwet_4raters",
        name="percent_agreement",
        value="0.81818",
        printed="irrCAC README",
    ),
    of_patterns=Formula(percent_agreement, weights=True),
    of_table=Formula(two_raters.percent_agreement),
    corrected=False,
)
