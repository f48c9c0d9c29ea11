"""A funnel plot: how far a rater may lie from the middle by chance, the more items the less
(Spiegelhalter 2005, Statistics in Medicine 24, 1185-1202)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LEAST_ITEMS = 30  # compared items below which a rater does not help to make the funnel
LEAST_RATERS = 3  # of fewer the middle is nobody's
Z = 1.959964  # 95 %


@dataclass(frozen=True)
class Funnel:
    """``middle``: the median of the raters; ``spread``: the standard deviation of one item."""

    middle: float
    spread: float

    def limits(self, n_items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The lower and the upper limit (N,) at so many items (N,), each at least 1."""
        reach = Z * self.spread / np.sqrt(n_items)
        return self.middle - reach, self.middle + reach


def of(values: np.ndarray, ses: np.ndarray, n_items: np.ndarray) -> Funnel | None:
    """The funnel of raters with these values (R,), standard errors (R,) and numbers of compared
    items (R,); NaN: unknown. None for fewer than LEAST_RATERS with LEAST_ITEMS.

    The variance of one item is the median of n se^2 over the raters: one who is far off moves
    neither the middle nor the width.
    """
    known = np.isfinite(values) & np.isfinite(ses) & (n_items >= LEAST_ITEMS)
    if np.count_nonzero(known) < LEAST_RATERS:
        return None
    variance = float(np.median(n_items[known] * ses[known] ** 2))
    return Funnel(float(np.median(values[known])), float(np.sqrt(variance)))
