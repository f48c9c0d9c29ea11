"""Conger's kappa: chance agreement of two different raters, each with their own category shares.

    p_gj = share of j among all ratings of rater g,   pbar = mean over the R raters,
    S_jl = covariance of p_g (divisor R - 1),   P_e = sum w_jl (pbar_j pbar_l - S_jl / R)

which is the mean of p_g'W p_h over all ordered pairs of different raters; P_o as in gwet.py.
With two raters and complete data it is Cohen's kappa. Conger 1980, Psychological Bulletin 88,
322-328. Standard error as irrCAC (Gwet 2014): x_i as for the other coefficients, with

    pe_i - P_e = sum over the item's raters g of (n / n_g) (u_g[c_ig] - p_g'u_g) / (R (R - 1)),
    u_g = W'(R pbar - p_g)
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficients.declaration import (
    IRRCAC_ERROR,
    NO_PAIRABLE_ITEMS,
    SINGLE_CATEGORY,
    Coefficient,
    Example,
    Formula,
)
from metrics.agreement.counts.common_correlation import CommonCorrelationModel, Margins
from metrics.agreement.counts.grouping import Ints, index_distinct
from metrics.agreement.counts.pattern_sums import build_pattern_sums
from metrics.agreement.counts.score_intervals import ScoreLimits
from metrics.agreement.estimate import (
    REASON_CODES,
    ChanceCorrected,
    Estimate,
    EstimateBasis,
    Floats,
    build_estimate,
    correct_for_chance,
    divide_or_nan,
)
from metrics.agreement.glossary import gettext_noop as _
from metrics.agreement.weights import as_weight_matrix


@dataclass(frozen=True)
class RatedItems:
    """Ratings in long form, with items and raters numbered from 0.

    item, rater, code: int (M,); counts (N, k): ratings of each item by category; margins (R, k):
    those of each rater.
    """

    item: Ints
    rater: Ints
    code: Ints
    counts: Floats
    margins: Floats

    @classmethod
    def from_ratings(
        cls, item: npt.ArrayLike, rater: npt.ArrayLike, code: npt.ArrayLike, k: int
    ) -> "RatedItems":
        """Build it from ratings (M,), at most one for an item and rater.

        item, rater: any integer keys; code: 0..k-1.
        """
        codes = np.asarray(code, np.int64)
        items, item_index = index_distinct(item)
        raters, rater_index = index_distinct(rater)
        counts, margins = (
            np.bincount(index * k + codes, minlength=size * k).reshape(size, k).astype(float)
            for index, size in ((item_index, items.size), (rater_index, raters.size))
        )
        return cls(item_index, rater_index, codes, counts, margins)

    def get_complete_codes(self) -> Ints:
        """Return the codes (N, R) of the N items that all R raters rated.

        Rows ascend by item, columns by rater; (0, R) where no item is complete.
        """
        n_raters = len(self.margins)
        is_complete = (self.counts.sum(axis=1) == n_raters)[self.item]
        order = np.lexsort((self.rater[is_complete], self.item[is_complete]))
        return (
            self.code[is_complete][order].reshape(-1, n_raters)
            if n_raters
            else np.zeros((0, 0), np.int64)
        )


def conger_kappa(rated_items: RatedItems, *, weights: npt.ArrayLike | None = None) -> Estimate:
    """Return Conger's kappa of ratings, an Estimate (), with weights (k, k) or None."""
    n, k = rated_items.counts.shape
    n_raters = len(rated_items.margins)
    w = as_weight_matrix(weights, k)
    sums = build_pattern_sums(rated_items.counts, np.ones(n))
    agreement = sums.compute_item_agreement(weights)
    observed = sums.compute_observed(agreement)
    if not sums.has_pairs:
        reason = np.asarray(REASON_CODES["no_pairable_items"])
        return build_estimate(
            ChanceCorrected(observed, observed, observed, reason), None, sums.build_basis()
        )
    shares = rated_items.margins / rated_items.margins.sum(axis=1, keepdims=True)
    chance_gradient = (shares.sum(axis=0) - shares) @ w
    pairs = n_raters * (n_raters - 1)
    expected = np.asarray((chance_gradient * shares).sum() / pairs)
    value, reason = correct_for_chance(observed, expected, sums.has_pairs)
    point = ChanceCorrected(observed, expected, value, reason)
    centred = (chance_gradient - (chance_gradient * shares).sum(axis=1, keepdims=True)) * (
        n / rated_items.margins.sum(axis=1, keepdims=True)
    )
    chance = (
        np.bincount(
            rated_items.item, weights=centred[rated_items.rater, rated_items.code], minlength=n
        )
        / pairs
    )
    scale = divide_or_nan(n, sums.n2 * (1 - expected))
    x = scale * np.where(sums.pairable, agreement - expected, 0.0)
    x = x - divide_or_nan(2 * (1 - value), 1 - expected) * chance
    spread = np.asarray(((x - value) ** 2).sum())
    basis = EstimateBasis(
        sums.n2.astype(np.int64), sums.pairable_ratings.astype(np.int64), sums.n - 1
    )
    se = sums.compute_standard_error(spread)
    # Items with a single rating make irrCAC's standard error too wide: see gwet.py.
    limit_influence = x - scale * np.where(sums.pairable, observed - expected, 0.0)
    limit_se = sums.compute_standard_error(np.asarray((limit_influence**2).sum()))
    margins = shares.mean(axis=0)
    model = CommonCorrelationModel.from_margins(
        sums.build_pair_weights(pooled=False), w, Margins(margins, expected, (w + w.T) @ margins)
    )
    smallest = sums.smallest_pairable_size
    lowest = 1 - divide_or_nan(sums.n * smallest, sums.n2 * (smallest - 1))
    # One rater at most uses several categories: kappa is 0 whatever this one answers.
    has_no_limits = ((rated_items.margins > 0).sum(axis=1) > 1).sum() < 2
    limits_df = np.where(has_no_limits, np.nan, sums.n2 - 1)
    limits = ScoreLimits(point, model, limit_se, limits_df, lowest=lowest)
    return build_estimate(point, se, basis, limits=limits)


CONGER_KAPPA = Coefficient(
    name="conger_kappa",
    label=_("Conger’s kappa"),
    description=_("Cohen’s kappa extended to any number of raters."),
    formula="(P_o - P_e) / (1 - P_e),   P_e = sum w_jl (pbar_j pbar_l - S_jl / R)",
    low=None,
    high=1,
    undefined=(NO_PAIRABLE_ITEMS, SINGLE_CATEGORY),
    error=IRRCAC_ERROR,
    source="Conger 1980, Psychological Bulletin 88, 322-328",
    example=Example(
        case="10_krippendorff2011_gwet_4raters",
        name="conger_kappa",
        value="0.76282",
        printed_in="irrCAC README",
    ),
    ratings_formula=Formula(conger_kappa, takes_weights=True),
)
