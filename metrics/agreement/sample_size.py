"""How many more items or ratings: until an interval of kappa is narrow, until labels are certain.

    after    the smallest N >= 2 with t(N - 1) se sqrt(n / N) <= h, from the error se on n items
    before   N = ceil(z^2 v / h^2); two raters, two categories:
             v = (1-kappa) [(1-kappa) (1-2 kappa) + kappa (2-kappa) / (2 pi (1-pi))]
             (Bloch & Kraemer 1989, Biometrics 45, 269-287); more categories: the delta method on
             the assumed table

Fewer ratings an item: leaving one rating of an item out at random turns its pattern n into n - e_c
with probability n_c / m; repeated, that is the hypergeometric law, exactly.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from .coefficients import cohen, fleiss
from .estimate import LEVEL, Floats, quantile_t

TOO_FEW = "too_few_items"


@dataclass(frozen=True)
class ItemsNeeded:
    """Items in all and items more; None with a reason where nothing is known of the error."""

    items: int | None
    more: int | None
    reason: str | None = None


def items_needed(se: float | None, n: int, half_width: float) -> ItemsNeeded:
    """From the error of a coefficient on n items: until its 95 % interval is -/+ half_width."""
    _refuse_width(half_width)
    if se is None or n < 1:
        return ItemsNeeded(None, None, TOO_FEW)

    def narrow(items: int) -> bool:
        margin = float(quantile_t(items - 1)) * se * math.sqrt(n / items)
        return margin <= half_width

    high = 2
    while not narrow(high):
        high *= 2
    low = high // 2  # not narrow, or 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if narrow(middle) else (middle, high)
    return ItemsNeeded(high, max(0, high - n))


def items_needed_before(kappa: float, prevalence: float | npt.ArrayLike, half_width: float) -> int:
    """Two raters, before any data. prevalence: of one of two categories, or of all (k,)."""
    _refuse_width(half_width)
    if not -1 <= kappa <= 1:
        raise ValueError(f"kappa must lie in -1..1, not {kappa:g}")
    shares = np.asarray(prevalence, float)
    if shares.ndim == 0:
        shares = np.array([shares, 1 - shares])
    if shares.size < 2 or (shares <= 0).any() or abs(shares.sum() - 1) > 1e-9:
        raise ValueError("prevalences must be above 0, of two categories or more, and add up to 1")
    if shares.size == 2:
        spread = 2 * float(shares[0] * shares[1])
        v = (1 - kappa) * ((1 - kappa) * (1 - 2 * kappa) + kappa * (2 - kappa) / spread)
    else:
        v = variance_of_table(kappa * np.diag(shares) + (1 - kappa) * np.outer(shares, shares))
    z = float(special.ndtri((1 + LEVEL) / 2))
    return max(2, math.ceil(z**2 * v / half_width**2 - 1e-9))


def variance_of_table(shares: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> float:
    """n se^2 of kappa on an assumed table of two raters (k, k) of shares that add up to 1."""
    p = np.asarray(shares, float)
    if (p < 0).any() or abs(p.sum() - 1) > 1e-9:
        raise ValueError("the assumed shares must not be negative and must add up to 1")
    many = 1000  # any number of items: se^2 falls as 1 / n
    return float(cohen.kappa(p * many, weights).se) ** 2 * many


def _refuse_width(half_width: float) -> None:
    if not half_width > 0:
        raise ValueError(f"the half-width must be above 0, not {half_width:g}")


def thinned(counts: npt.ArrayLike, n_items: npt.ArrayLike, m: int) -> tuple[Floats, Floats]:
    """Patterns (P, k) and numbers of items (P,) -> those to expect when no item has more than m
    ratings, drawn at random among its own: patterns (Q, k), expected numbers (Q,)."""
    patterns, items = np.asarray(counts, float), np.asarray(n_items, float)
    while True:
        sizes = patterns.sum(axis=1)
        above = sizes > m
        if not above.any():
            return patterns, items
        # only the largest, so that patterns of one size are merged before they are split
        largest = sizes == sizes.max()
        parts, numbers = [patterns[~largest]], [items[~largest]]
        for c in range(patterns.shape[1]):
            some = largest & (patterns[:, c] > 0)
            fewer = patterns[some]
            fewer[:, c] -= 1
            parts.append(fewer)
            numbers.append(items[some] * patterns[some, c] / sizes[some])
        patterns, where = np.unique(np.concatenate(parts), axis=0, return_inverse=True)
        items = np.bincount(where.ravel(), np.concatenate(numbers), len(patterns))


@dataclass(frozen=True)
class Plan:
    """With m ratings an item: the half-width on as many items as now, and what the wanted one
    takes. None where there is no error to go by."""

    m: int
    half_width_now: float | None
    items: int | None
    ratings: int | None


def plans(
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    half_width: float,
    weights: npt.ArrayLike | None = None,
) -> list[Plan]:
    """Fleiss' kappa with 2, 3, .. up to the largest number of ratings an item; patterns (P, k),
    numbers of items (P,)."""
    _refuse_width(half_width)
    patterns, items = np.asarray(counts, float), np.asarray(n_items, float)
    rated = patterns.sum(axis=1) > 0
    patterns, items = patterns[rated], items[rated]
    n = round(float(items.sum()))
    most = int(patterns.sum(axis=1).max()) if len(patterns) else 0
    found = []
    for m in range(2, most + 1):
        fewer, numbers = thinned(patterns, items, m)
        se = float(fleiss.fleiss_kappa(fewer, numbers, weights=weights).se)
        if not math.isfinite(se) or n < 2:
            found.append(Plan(m, None, None, None))
            continue
        needed = items_needed(se, n, half_width).items
        ratings = None if needed is None else needed * m
        found.append(Plan(m, float(quantile_t(n - 1)) * se, needed, ratings))
    return found


def cheapest(found: list[Plan]) -> Plan | None:
    """The plan with the fewest ratings, the one with fewer ratings an item when equal."""
    possible = [plan for plan in found if plan.ratings is not None]
    return min(possible, key=lambda plan: (plan.ratings, plan.m)) if possible else None


def ratings_to_go(
    posterior: npt.ArrayLike, value: npt.ArrayLike, target: float = 0.95
) -> npt.NDArray[np.int64]:
    """Ratings to expect until each label is certain to `target`, 0 where it is.

    posterior (N, k); value (N,): the information in nats of the next rating (consensus.information
    with the team's pooled confusion). max(1, ceil((entropy - entropy at the target) / value)),
    where at the target the other categories share the rest evenly; -1 where no rating tells
    anything.
    """
    t, gain = np.asarray(posterior, float), np.asarray(value, float)
    rest = (1 - target) / (t.shape[1] - 1)
    at_target = -target * math.log(target) - (1 - target) * math.log(rest)
    missing = special.entr(t).sum(axis=1) - at_target
    steps = np.where(gain > 1e-12, np.ceil(missing / np.maximum(gain, 1e-12)), -1.0)
    steps = np.where(gain > 1e-12, np.maximum(steps, 1), steps)
    return np.where(t.max(axis=1) >= target, 0, steps).astype(np.int64)
