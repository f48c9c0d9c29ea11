"""Agreement between two groups of raters, as people and models, on the items that both rated.

    u_i, v_i    shares of the categories among the ratings of item i by the one and the other group
    P_o         mean over shared items of u_i' W v_i: a random rater of the one against a random one
                of the other
    P_e         u' W v of the means of u_i and v_i

With one rater in each group this is Cohen's (weighted) kappa. The same P_o and P_e are those of
Vanbelle & Albert 2009, Psychometrika 74, 477-491; here 1 is the most that can be reached, as in
every other coefficient, also where a group is divided.

Standard error: delta method on u_i'Wv_i, u_i and v_i over items, t(n - 1).
"""

from typing import Literal

import numpy as np
import numpy.typing as npt

from metrics.agreement.counts.sums import pattern_sums
from metrics.agreement.estimate import Basis, Corrected, Estimate, Floats, divided, estimated
from metrics.agreement.weights import chance_factor, weighting

Chance = Literal["margins", "gwet", "none"]


def between(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    n_items: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    chance: Chance = "margins",
) -> Estimate:
    """Patterns of the two groups (P, k) each, numbers of items (..., P), weights (k, k) -> Estimate
    (...). `chance`: expected from both margins, as Gwet's AC, or none at all."""
    one, other = np.asarray(first, float), np.asarray(second, float)
    shared = (one.sum(axis=1) > 0) & (other.sum(axis=1) > 0)
    one, other = one[shared], other[shared]
    items = np.asarray(n_items, float)[..., shared]
    k = one.shape[1]
    w = weighting(weights, k)
    u = one / one.sum(axis=1, keepdims=True)
    v = other / other.sum(axis=1, keepdims=True)
    agreement = ((u @ w) * v).sum(axis=1)
    n = items.sum(axis=-1)
    observed = divided(items @ agreement, n)
    margins = divided(items @ u, n[..., None]), divided(items @ v, n[..., None])
    expected, slopes = _expected(margins, w, chance)
    point = Corrected.of(observed, expected, n > 0)
    room = 1 - point.value if chance != "none" else np.zeros_like(point.value)
    sums = pattern_sums(np.concatenate([one, other], axis=1), items)
    from_margins = sum((p * s).sum(axis=-1) for p, s in zip(margins, slopes, strict=True))
    spread = sums.spread(
        [
            (np.ones_like(n), agreement),
            (-room[..., None] * slopes[0], u),
            (-room[..., None] * slopes[1], v),
        ],
        constant=room * from_margins - observed,
    )
    se = divided(sums.standard_error(spread, n), 1 - expected)
    n_ratings = items @ (one.sum(axis=1) + other.sum(axis=1))
    basis = Basis(n.astype(np.int64), n_ratings.astype(np.int64), n - 1)
    return estimated(point, se, basis)


def _expected(
    margins: tuple[Floats, Floats], w: Floats, chance: Chance
) -> tuple[Floats, tuple[Floats, Floats]]:
    """P_e (...) and its slopes by the two margins (..., k)."""
    one, other = margins
    if chance == "margins":
        slopes = other @ w.T, one @ w
        return (one * slopes[0]).sum(axis=-1), slopes
    if chance == "none":
        nothing = np.zeros_like(one)
        return np.where(np.isnan(one[..., 0]), np.nan, 0.0), (nothing, nothing)
    both = (one + other) / 2
    factor = chance_factor(w, len(w))
    slope = factor * (1 - 2 * both) / 2
    return factor * (both * (1 - both)).sum(axis=-1), (slope, slope)
