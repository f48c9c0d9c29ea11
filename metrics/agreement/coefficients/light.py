"""Mean pairwise kappa: the mean of Cohen's kappas over all pairs of raters for which it is defined.

Light 1971, Psychological Bulletin 76, 365-377. No analytic standard error: the pairs share raters
and items.
"""

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficient import (
    NO_ERROR,
    NO_PAIRS,
    ONE_CATEGORY,
    Coefficient,
    Example,
    Formula,
)
from metrics.agreement.counts.grouping import Ints
from metrics.agreement.estimate import CODE, Basis, Corrected, Estimate, divided, estimated

from .cohen import kappa


def mean_pairwise(estimate: Estimate) -> tuple[Estimate, Ints]:
    """Estimates of pairs (..., P) -> mean over the defined ones (...), and how many pairs are
    defined (...).

    Items and ratings are summed over pairs: an item shared by three pairs counts three times.
    """
    defined = estimate.reason == 0
    n_pairs = defined.sum(axis=-1)
    value, observed, expected = (
        divided(np.where(defined, part, 0).sum(axis=-1), n_pairs)
        for part in (estimate.value, estimate.observed, estimate.expected)
    )
    single = (estimate.reason == CODE["single_category"]).any(axis=-1)
    reason = np.where(
        n_pairs > 0, 0, np.where(single, CODE["single_category"], CODE["no_pairable_items"])
    )
    basis = Basis(estimate.n_items.sum(axis=-1), estimate.n_ratings.sum(axis=-1), n_pairs - 1.0)
    return estimated(Corrected(observed, expected, value, reason), None, basis), n_pairs


def light_kappa(tables: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Estimate:
    """Tables of all pairs (..., P, k, k) -> Estimate (...)."""
    return mean_pairwise(kappa(tables, weights, interval=False))[0]


LIGHT_KAPPA = Coefficient(
    name="light_kappa",
    title="Mean pairwise kappa (Light's)",
    formula="mean of Cohen's kappas over the pairs of raters for which it is defined",
    low=None,
    high=1,
    undefined=(NO_PAIRS, ONE_CATEGORY),
    error=NO_ERROR,
    source="Light 1971, Psychological Bulletin 76, 365-377",
    example=Example(
        case="13_irr_anxiety_icc", name="light_kappa", value="-0.01748", printed="verified case"
    ),
    of_pairs=Formula(light_kappa, weights=True),
    told="value",
)
