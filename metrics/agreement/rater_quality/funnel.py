"""Funnel plot: the range around the median rater that chance explains, narrower with more items.

Spiegelhalter 2005, Statistics in Medicine 24, 1185-1202.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metrics.agreement.estimate import NORMAL_QUANTILE

MIN_ITEMS = 30  # compared items from which a rater enters the funnel
MIN_RATERS = 3  # with fewer raters there is no funnel


@dataclass(frozen=True)
class Funnel:
    """Funnel around the median rater: its center, and the standard deviation of one item."""

    center: float
    item_sd: float

    def compute_limits(self, n_items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and the upper 95 % limits (N,) for numbers of items (N,), each >= 1."""
        half_width = NORMAL_QUANTILE * self.item_sd / np.sqrt(n_items)
        return self.center - half_width, self.center + half_width


def build_funnel(values: np.ndarray, ses: np.ndarray, n_items: np.ndarray) -> Funnel | None:
    """Return the funnel of raters, or None for fewer than MIN_RATERS with MIN_ITEMS items.

    values, ses (R,): coefficient and standard error of each rater, NaN where unknown; n_items (R,):
    compared items. The variance of one item is the median of n se^2 over the raters, so that an
    outlier moves neither the center nor the width.
    """
    is_usable = np.isfinite(values) & np.isfinite(ses) & (n_items >= MIN_ITEMS)
    if np.count_nonzero(is_usable) < MIN_RATERS:
        return None
    variance = float(np.median(n_items[is_usable] * ses[is_usable] ** 2))
    return Funnel(float(np.median(values[is_usable])), float(np.sqrt(variance)))
