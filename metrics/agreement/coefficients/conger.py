"""Conger's kappa: chance agreement of two different raters, each with an own distribution of
categories.

    p_gj = share of j among all ratings of rater g,   pbar = mean over the R raters,
    S_jl = covariance of p_g (divisor R - 1),   P_e = sum w_jl (pbar_j pbar_l - S_jl / R)

which is the mean of p_g'W p_h over all ordered pairs of different raters; P_o as in percent.py.
With two raters and complete data it is Cohen's kappa. Conger 1980, Psychological Bulletin 88,
322-328. Standard error as irrCAC (Gwet 2014): x_i as for the other coefficients, with

    pe_i - P_e = sum over the item's raters g of (n / n_g) (u_g[c_ig] - p_g'u_g) / (R (R - 1)),
    u_g = W'(R pbar - p_g)
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficients.declaration import (
    IRRCAC,
    NO_PAIRS,
    ONE_CATEGORY,
    Coefficient,
    Example,
    Formula,
)
from metrics.agreement.counts.grouping import Ints, compact
from metrics.agreement.counts.sums import pattern_sums
from metrics.agreement.estimate import (
    CODE,
    Basis,
    Corrected,
    Estimate,
    Floats,
    chance_corrected,
    divided,
    estimated,
)
from metrics.agreement.glossary import gettext_noop as _
from metrics.agreement.weights import weighting


@dataclass(frozen=True)
class RatedItems:
    """Ratings in long form, items and raters numbered from 0: item, rater, code (M,); counts (N,
    k), margins (R, k)."""

    item: Ints
    rater: Ints
    code: Ints
    counts: Floats
    margins: Floats

    @classmethod
    def of(
        cls, item: npt.ArrayLike, rater: npt.ArrayLike, code: npt.ArrayLike, k: int
    ) -> "RatedItems":
        codes = np.asarray(code, np.int64)
        items, item_index = compact(item)
        raters, rater_index = compact(rater)
        counts, margins = (
            np.bincount(index * k + codes, minlength=size * k).reshape(size, k).astype(float)
            for index, size in ((item_index, items.size), (rater_index, raters.size))
        )
        return cls(item_index, rater_index, codes, counts, margins)

    def complete(self) -> Ints:
        """codes (N, R) of the items that all raters rated."""
        n_raters = len(self.margins)
        mine = (self.counts.sum(axis=1) == n_raters)[self.item]
        order = np.lexsort((self.rater[mine], self.item[mine]))
        return (
            self.code[mine][order].reshape(-1, n_raters) if n_raters else np.zeros((0, 0), np.int64)
        )


def conger_kappa(rated: RatedItems, *, weights: npt.ArrayLike | None = None) -> Estimate:
    """Ratings in long form -> Estimate (). Needs the ratings of each rater, not only patterns."""
    n, k = rated.counts.shape
    n_raters = len(rated.margins)
    w = weighting(weights, k)
    sums = pattern_sums(rated.counts, np.ones(n))
    agreement = sums.agreement(weights)
    observed = sums.observed(agreement)
    if not sums.has_pairs:
        reason = np.asarray(CODE["no_pairable_items"])
        return estimated(Corrected(observed, observed, observed, reason), None, sums.basis())
    share = rated.margins / rated.margins.sum(axis=1, keepdims=True)
    pull = (share.sum(axis=0) - share) @ w
    pairs = n_raters * (n_raters - 1)
    expected = np.asarray((pull * share).sum() / pairs)
    value, reason = chance_corrected(observed, expected, sums.has_pairs)
    point = Corrected(observed, expected, value, reason)
    centred = (pull - (pull * share).sum(axis=1, keepdims=True)) * (
        n / rated.margins.sum(axis=1, keepdims=True)
    )
    chance = np.bincount(rated.item, weights=centred[rated.rater, rated.code], minlength=n) / pairs
    scale = divided(n, sums.n2 * (1 - expected))
    x = scale * np.where(sums.pairable, agreement - expected, 0.0)
    x = x - divided(2 * (1 - value), 1 - expected) * chance
    spread = np.asarray(((x - value) ** 2).sum())
    basis = Basis(sums.n2.astype(np.int64), sums.pairable_ratings.astype(np.int64), sums.n - 1)
    return estimated(point, sums.standard_error(spread), basis)


CONGER_KAPPA = Coefficient(
    name="conger_kappa",
    called=_("Conger’s kappa"),
    says=_(
        "Agreement beyond chance of these raters, each with an own habit: chance is that two "
        "different raters happen to give the same. Of two raters it is Cohen’s kappa."
    ),
    formula="(P_o - P_e) / (1 - P_e),   P_e = sum w_jl (pbar_j pbar_l - S_jl / R)",
    low=None,
    high=1,
    undefined=(NO_PAIRS, ONE_CATEGORY),
    error=IRRCAC,
    source="Conger 1980, Psychological Bulletin 88, 322-328",
    example=Example(
        case="10_krippendorff2011_gwet_4raters",
        name="conger_kappa",
        value="0.76282",
        printed="irrCAC README",
    ),
    of_ratings=Formula(conger_kappa, weights=True),
)
