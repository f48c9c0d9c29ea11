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
    NO_ERROR,
    OF_COMPLETE_ITEMS,
    Coefficient,
    Example,
    Formula,
)
from metrics.agreement.estimate import CODE, Basis, Corrected, Estimate, estimated
from metrics.agreement.glossary import gettext_noop as _

from .conger import RatedItems


def kendall_w(codes: npt.ArrayLike) -> Estimate:
    """codes (N, R) of the complete items, ordered categories as integers -> Estimate ()."""
    code = np.asarray(codes, np.int64)
    n, n_raters = code.shape
    value, reason = np.nan, 0
    if n_raters < 2:
        reason = CODE["needs_two_raters"]
    elif n < 2:
        reason = CODE["needs_complete_items"] if n == 0 else CODE["too_few_items"]
    else:
        times = np.stack(
            [np.bincount(column, minlength=int(code.max()) + 1) for column in code.T]
        ).astype(float)
        rank = np.cumsum(times, axis=1) - (times - 1) / 2
        total = np.take_along_axis(rank.T, code, axis=0).sum(axis=1)
        ties = (times**3 - times).sum()
        room = n_raters**2 * (n**3 - n) - n_raters * ties
        value, reason = (12 * ((total - total.mean()) ** 2).sum() / room, 0) if room else (
            np.nan, CODE["zero_variance"]
        )  # fmt: skip
    nothing = np.asarray(np.nan)
    point = Corrected(nothing, nothing, np.asarray(value), np.asarray(reason))
    basis = Basis(np.asarray(n), np.asarray(n * n_raters), np.asarray(n - 1.0))
    return estimated(point, None, basis)


def _of_ratings(rated: RatedItems) -> Estimate:
    return kendall_w(rated.complete())


KENDALL_W = Coefficient(
    name="kendall_w",
    called=_("Kendall’s W"),
    says=_(
        "Whether all raters put the items in the same order: 1 is the same order, 0 is none in "
        "common. Level does not count, so it is no agreement."
    ),
    formula="12 S / (R^2 (n^3 - n) - R sum T_g), complete items, average ranks",
    low=0,
    high=1,
    undefined=OF_COMPLETE_ITEMS,
    error=NO_ERROR,
    source="Kendall & Babington Smith 1939, Annals of Mathematical Statistics 10, 275-287",
    example=Example(
        case="13_irr_anxiety_icc", name="kendall_w", value="0.540", printed="R irr ?kendall"
    ),
    of_ratings=Formula(_of_ratings),
    ordered=True,
    told="value",
    corrected=False,
)
