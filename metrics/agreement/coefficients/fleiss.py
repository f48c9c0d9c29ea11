"""Fleiss' kappa for any number of ratings an item, in two definitions, with any weights.

    kappa = (P_o - P_e) / (1 - P_e),   P_e = sum_jl w_jl p_j p_l,   P_o as in percent.py

* `fleiss_kappa`, this project's: p_j = sum_i n_ij / M, pooled over ALL ratings, singletons too
  (Fleiss 1971, Psychological Bulletin 76, 378-382, eq. 1). Standard error by the delta method:
  f_i = [(n/n2) [m_i >= 2] (P_i - P_o) - (1 - kappa) (n/M) (n_i - m_i p)'(W + W')p] / (1 - P_e),
  se^2 = sum f_i^2 / (n (n - 1)).
* `fleiss_kappa_gwet`: p_j = mean of n_ij / m_i over rated items (Gwet 2014; irrCAC), with irrCAC's
  standard error:
  x_i = (n/n2) [m_i >= 2] (P_i - P_e) / (1 - P_e) - 2 (1 - kappa) (pe_i - P_e) / (1 - P_e).

Both are the same when all items have the same number (>= 2) of ratings.
"""

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
from metrics.agreement.counts.sums import PatternSums, pattern_sums
from metrics.agreement.estimate import Corrected, Estimate, divided, estimated, undefined_where
from metrics.agreement.glossary import gettext_noop as _
from metrics.agreement.weights import weighting


def fleiss_kappa(
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    interval: bool = True,
    sums: PatternSums | None = None,
) -> Estimate:
    """Patterns (P, k), numbers of items (..., P) -> Estimate (...)."""
    sums = sums or pattern_sums(counts, n_items)
    w = weighting(weights, sums.k)
    agreement = sums.agreement(weights)
    share = divided(sums.totals, sums.ratings[..., None])
    observed, expected = sums.observed(agreement), np.einsum("...j,jl,...l->...", share, w, share)
    point = Corrected.of(observed, expected, sums.has_pairs)
    if not interval:
        return estimated(point, None, sums.basis())
    scale = divided(sums.n, sums.n2 * (1 - expected))
    slope = (1 - point.value) * divided(sums.n, sums.ratings * (1 - expected))
    pull = share @ (w + w.T)
    spread = sums.spread(
        [
            (scale, agreement),
            (-scale * observed, sums.pairable),
            (-slope[..., None] * pull, sums.counts),
            (slope * (share * pull).sum(axis=-1), sums.sizes),
        ]
    )
    return estimated(point, sums.standard_error(spread), sums.basis())


def influence(
    counts: npt.ArrayLike, n_items: npt.ArrayLike, weights: npt.ArrayLike | None = None
) -> npt.NDArray[np.float64]:
    """f (P,) of an item of each pattern on fleiss_kappa, from patterns (P, k) and their numbers of
    items (P,); not-a-number where kappa is undefined, 0 for the pattern without a rating."""
    sums = pattern_sums(counts, n_items)
    w = weighting(weights, sums.k)
    agreement = sums.agreement(weights)
    share = divided(sums.totals, sums.ratings)
    observed, expected = sums.observed(agreement), share @ w @ share
    kappa = Corrected.of(observed, np.asarray(expected), sums.has_pairs).value
    pull = share @ (w + w.T)
    own = divided(sums.n, sums.n2) * sums.pairable * (agreement - observed)
    margin = divided(sums.n, sums.ratings) * (sums.counts @ pull - sums.sizes * (share @ pull))
    rated = np.asarray(counts, float).sum(axis=1) > 0
    found = np.zeros(rated.size)
    found[rated] = divided(own - (1 - kappa) * margin, 1 - expected)
    return found


def fleiss_kappa_gwet(
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    interval: bool = True,
    sums: PatternSums | None = None,
) -> Estimate:
    """Patterns (P, k), numbers of items (..., P) -> Estimate (...)."""
    sums = sums or pattern_sums(counts, n_items)
    w = weighting(weights, sums.k)
    share = divided(sums.n_items @ sums.shares, sums.n[..., None])
    expected = np.einsum("...j,jl,...l->...", share, w, share)
    return chance_by_item(sums, weights, expected, share @ (w + w.T) / 2, interval=interval)


def chance_by_item(
    sums: PatternSums,
    weights: npt.ArrayLike | None,
    expected: npt.NDArray[np.float64],
    slope: npt.NDArray[np.float64],
    *,
    interval: bool,
    offset: npt.NDArray[np.float64] | float = 0.0,
) -> Estimate:
    """A coefficient with irrCAC's standard error, where pe_i = offset + sum_j slope_j n_ij /
    m_i."""
    agreement = sums.agreement(weights)
    point = Corrected.of(sums.observed(agreement), expected, sums.has_pairs)
    if not interval:
        return estimated(point, None, sums.basis())
    room = 1 - expected
    scale = divided(sums.n, sums.n2 * room)
    pull = divided(2 * (1 - point.value), room)
    spread = sums.spread(
        [
            (scale, agreement),
            (-scale * expected, sums.pairable),
            (-pull[..., None] * slope, sums.shares),
        ],
        constant=pull * (expected - offset) - point.value,
    )
    return estimated(point, sums.standard_error(spread), sums.basis())


def category_kappas(
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    *,
    interval: bool = True,
    sums: PatternSums | None = None,
) -> Estimate:
    """Fleiss' kappa of each category versus the rest: Estimate (..., k). Null for a category used
    by all or none, or by none who could be compared."""
    sums = sums or pattern_sums(counts, n_items)
    estimates = []
    for j in range(sums.k):
        versus = np.column_stack([sums.counts[:, j], sums.sizes - sums.counts[:, j]])
        estimate = fleiss_kappa(versus, sums.n_items, interval=interval)
        compared = sums.n_items @ (versus * (sums.sizes >= 2)[:, None])
        estimate = undefined_where(compared[..., 1] == 0, ONE_CATEGORY, estimate)
        estimates.append(undefined_where(compared[..., 0] == 0, NO_PAIRS, estimate))
    return stacked(estimates)


def stacked(estimates: list[Estimate]) -> Estimate:
    """Estimates (...) as one Estimate (..., number of estimates)."""
    names = Estimate.__dataclass_fields__
    return Estimate(
        *(np.stack([getattr(one, name) for one in estimates], axis=-1) for name in names)
    )


FLEISS_KAPPA = Coefficient(
    name="fleiss_kappa",
    called=_("Fleiss’ kappa"),
    says=_(
        "Agreement beyond chance of any number of raters, who may be others for each item: 1 "
        "is full agreement, 0 is what chance gives. Chance is how often each category is used "
        "by all."
    ),
    formula="(P_o - P_e) / (1 - P_e),   P_e = p'Wp,   p_j = sum_i n_ij / M over all ratings",
    low=None,
    high=1,
    undefined=(NO_PAIRS, ONE_CATEGORY),
    error="delta method for the pooled estimator, t(n - 1)",
    source="Fleiss 1971, Psychological Bulletin 76, 378-382",
    example=Example(
        case="08_fleiss1971_diagnoses", name="fleiss_kappa", value="0.430", printed="Fleiss 1971"
    ),
    of_patterns=Formula(fleiss_kappa, weights=True),
)

FLEISS_KAPPA_GWET = Coefficient(
    name="fleiss_kappa_gwet",
    called=_("Fleiss’ kappa, margins by item"),
    says=_(
        "Fleiss’ kappa in which each item counts once in what chance gives, however many "
        "ratings it has. It differs from Fleiss’ kappa only where items have unequal numbers "
        "of ratings."
    ),
    formula="(P_o - P_e) / (1 - P_e),   P_e = p'Wp,   p_j = mean over rated items of n_ij / m_i",
    low=None,
    high=1,
    undefined=(NO_PAIRS, ONE_CATEGORY),
    error=IRRCAC,
    source="Gwet 2014, Handbook of Inter-Rater Reliability, 4th ed.",
    example=Example(
        case="10_krippendorff2011_gwet_4raters",
        name="fleiss_kappa_gwet",
        value="0.76117",
        printed="irrCAC README",
    ),
    of_patterns=Formula(fleiss_kappa_gwet, weights=True),
)

FLEISS_KAPPA_CATEGORY = Coefficient(
    name="fleiss_kappa_category",
    called=_("Fleiss’ kappa of each category"),
    says=_(
        "Agreement beyond chance on one category against all others. A low value names the "
        "category whose guideline needs work."
    ),
    formula="fleiss_kappa of the two categories j and not j",
    low=None,
    high=1,
    undefined=(NO_PAIRS, ONE_CATEGORY),
    error="delta method, t(n - 1)",
    source="Fleiss 1971, Psychological Bulletin 76, 378-382",
    example=Example(
        case="08_fleiss1971_diagnoses",
        name="fleiss_kappa_category",
        value="0.245 0.245 0.520 0.471 0.566",
        printed="R irr kappam.fleiss",
    ),
    of_patterns=Formula(category_kappas),
    told="categories",
)
