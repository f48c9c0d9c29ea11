"""Kendall's W: concordance of R raters who rank n items, on the items that all of them rated.

    W = 12 S / (R^2 (n^3 - n) - R sum_g T_g)
    S = sum over items of (rank sum - mean rank sum)^2
    T_g = sum over rater g's ties of t^3 - t,   average ranks for ties

Kendall & Babington Smith 1939, Annals of Mathematical Statistics 10, 275-287; Siegel & Castellan
1988, ch. 9.8.
"""

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficients.declaration import (
    COMPLETE_ITEM_REASONS,
    NO_ANALYTIC_ERROR,
    Coefficient,
    Example,
    Formula,
)
from metrics.agreement.estimate import (
    REASON_CODES,
    ChanceCorrected,
    Estimate,
    EstimateBasis,
    build_estimate,
)
from metrics.agreement.glossary import gettext_noop as _

from .conger import RatedItems


def kendall_w(codes: npt.ArrayLike) -> Estimate:
    """Return Kendall's W from codes (N, R) of complete items, which are ranks of categories."""
    code = np.asarray(codes, np.int64)
    n, n_raters = code.shape
    value, reason = np.nan, 0
    if n_raters < 2:
        reason = REASON_CODES["needs_two_raters"]
    elif n < 2:
        reason = REASON_CODES["needs_complete_items"] if n == 0 else REASON_CODES["too_few_items"]
    else:
        category_counts = np.stack(
            [np.bincount(column, minlength=int(code.max()) + 1) for column in code.T]
        ).astype(float)
        rank = np.cumsum(category_counts, axis=1) - (category_counts - 1) / 2
        total = np.take_along_axis(rank.T, code, axis=0).sum(axis=1)
        ties = (category_counts**3 - category_counts).sum()
        denominator = n_raters**2 * (n**3 - n) - n_raters * ties
        if denominator:
            value, reason = 12 * ((total - total.mean()) ** 2).sum() / denominator, 0
        else:
            value, reason = np.nan, REASON_CODES["zero_variance"]
    nan_value = np.asarray(np.nan)
    point = ChanceCorrected(nan_value, nan_value, np.asarray(value), np.asarray(reason))
    basis = EstimateBasis(np.asarray(n), np.asarray(n * n_raters), np.asarray(n - 1.0))
    return build_estimate(point, None, basis)


def _kendall_w_from_ratings(rated_items: RatedItems) -> Estimate:
    return kendall_w(rated_items.get_complete_codes())


KENDALL_W = Coefficient(
    name="kendall_w",
    label=_("Kendall’s W"),
    description=_("Whether all raters order the items alike. Not agreement: level does not count."),
    formula="12 S / (R^2 (n^3 - n) - R sum T_g), complete items, average ranks",
    low=0,
    high=1,
    undefined=COMPLETE_ITEM_REASONS,
    error=NO_ANALYTIC_ERROR,
    source="Kendall & Babington Smith 1939, Annals of Mathematical Statistics 10, 275-287",
    example=Example(
        case="13_irr_anxiety_icc", name="kendall_w", value="0.540", printed_in="R irr ?kendall"
    ),
    ratings_formula=Formula(_kendall_w_from_ratings),
    needs_order=True,
    report_format="value",
    chance_corrected=False,
)
