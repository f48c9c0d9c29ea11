"""Mean pairwise kappa: the mean of Cohen's kappas over all pairs of raters for which it is defined.

Light 1971, Psychological Bulletin 76, 365-377. No analytic standard error: the pairs share raters
and items.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficients.declaration import (
    NO_ERROR,
    NO_PAIRS,
    ONE_CATEGORY,
    Coefficient,
    Example,
    Formula,
)
from metrics.agreement.counts.grouping import Ints
from metrics.agreement.estimate import (
    CODE,
    Basis,
    Corrected,
    Estimate,
    Floats,
    divided,
    estimated,
)
from metrics.agreement.glossary import gettext_noop as _
from metrics.agreement.weights import weighting

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


@dataclass(frozen=True)
class KappasOfPairs:
    """Cohen's kappas of pairs of raters: rater_a, rater_b, n_items and kappa (P,); NaN where
    undefined."""

    rater_a: npt.NDArray[np.int64]
    rater_b: npt.NDArray[np.int64]
    n_items: npt.NDArray[np.int64]
    kappa: Floats


def by_items(
    pairs: KappasOfPairs,
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
) -> tuple[Estimate, int]:
    """The mean of the defined kappas, each counted by the items that both rated, and how many they
    are; with the patterns (P, k) and numbers of items (P,) of these raters. Estimate ().

    A pair with one shared item moves it as one item does. Standard error: sqrt(V_r + V_i), with V_r
    the jackknife over raters, (R - 1) / R times the sum of squares of the means without each one,
    and V_i that of items by the delta method, every pair taken to have the pooled margins. Their
    sum counts what is left of a rater on an item twice, so the interval is rather too wide than too
    narrow. Degrees of freedom by Satterthwaite from R - 1 and n2 - 1. Fewer than three raters: V_i
    alone.
    """
    known = np.isfinite(pairs.kappa)
    kappa, n = pairs.kappa[known], pairs.n_items[known].astype(float)
    n_pairs = int(known.sum())
    if not n_pairs:
        reason = "single_category" if len(pairs.kappa) else "no_pairable_items"
        nothing = np.array(np.nan)
        undefined = Corrected(nothing, nothing, nothing, np.array(CODE[reason]))
        return estimated(undefined, None, Basis(np.array(0), np.array(0), np.array(0.0))), 0
    total, value = n.sum(), float((n * kappa).sum() / n.sum())
    raters, place = np.unique(
        np.concatenate([pairs.rater_a[known], pairs.rater_b[known]]), return_inverse=True
    )
    of_rater = np.bincount(place, np.tile(n * kappa, 2))
    items_of = np.bincount(place, np.tile(n, 2))
    v_raters = 0.0
    left = total - items_of
    if len(raters) > 2:
        without = ((n * kappa).sum() - of_rater[left > 0]) / left[left > 0]
        size = len(without)
        v_raters = (size - 1) / size * float(((without - without.mean()) ** 2).sum())
    v_items, n2 = _variance_over_items(value, counts, n_items, weights)
    variance = v_raters + v_items
    parts = (v_raters**2 / (len(raters) - 1), v_items**2 / max(n2 - 1, 1))
    df = variance**2 / sum(parts) if variance > 0 else n2 - 1.0
    point = Corrected(np.array(np.nan), np.array(np.nan), np.array(value), np.array(0))
    basis = Basis(np.array(n2), np.array(int(total) * 2), np.array(max(df, 1.0) if n2 > 1 else 0.0))
    return estimated(point, np.array(np.sqrt(variance)), basis), n_pairs


def _variance_over_items(
    value: float, counts: npt.ArrayLike, n_items: npt.ArrayLike, weights: npt.ArrayLike | None
) -> tuple[float, int]:
    """V_i, and the number of items with two or more ratings.

    With g_jl = w_jl - (1 - kappa) (w_j. + w_l.), w_j. = sum_l w_jl p_l and p the pooled shares: u_i
    = the sum of g over the pairs of ratings of item i, N that of pairs, g its mean over all pairs,
    V_i = n / (n - 1) sum (u_i - pairs_i g)^2 / (N (1 - P_e))^2.
    """
    patterns, items = np.asarray(counts, float), np.asarray(n_items, float)
    sizes = patterns.sum(axis=1)
    patterns, items, sizes = patterns[sizes > 1], items[sizes > 1], sizes[sizes > 1]
    n2 = int(items.sum())
    if n2 < 2:
        return 0.0, n2
    w = weighting(weights, patterns.shape[1])
    p = items @ patterns / (items @ sizes)
    row = w @ p
    n_pairs = sizes * (sizes - 1) / 2
    credit = (((patterns @ w) * patterns).sum(axis=1) - patterns @ np.diag(w)) / 2
    chance = (sizes - 1) * (patterns @ row)
    u = credit - (1 - value) * chance
    total = float(items @ n_pairs)
    spread = float(items @ (u - n_pairs * (items @ u) / total) ** 2)
    room = 1 - float(p @ row)
    if room < 1e-12:
        return 0.0, n2
    return n2 / (n2 - 1) * spread / (total * room) ** 2, n2


LIGHT_KAPPA = Coefficient(
    name="light_kappa",
    called=_("Light’s kappa"),
    says=_("The mean of Cohen’s kappas over all pairs of raters that share an item."),
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
