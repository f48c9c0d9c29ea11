"""Raters who rate higher or lower than the others on the same items, all the time."""

from __future__ import annotations

import numpy as np
from scipy import special

from .funnel import MIN_ITEMS, MIN_RATERS

FALSE_POSITIVE_RATE = 0.05  # of naming anyone on a question where all rate on one level
# Standard deviations of the answers, between a small and a medium effect (Cohen 1988): smaller ones
# are found in most raters of large studies.
MIN_EFFECT = 0.3


def find_biased_raters(
    biases: np.ndarray, ses: np.ndarray, n_items: np.ndarray, answer_sd: float
) -> np.ndarray:
    """Return a mask (R,) of the raters whose level differs from that of the middle rater.

    biases, ses (R,): mean difference from the others on the same items, and its standard error, NaN
    where unknown; n_items (R,): compared items; answer_sd: standard deviation of all answers.

    A rater differs if the bias and its distance from the median bias have one sign, both are at
    least MIN_EFFECT answer_sd, and the distance is not due to chance (z test with Bonferroni's
    correction for the raters). The median is the reference because one harsh rater makes all others
    appear lenient. With fewer than three raters nobody differs: the data cannot tell which of two
    is harsh.
    """
    is_usable = np.isfinite(biases) & np.isfinite(ses) & (n_items >= MIN_ITEMS)
    n_raters = np.count_nonzero(is_usable)
    if n_raters < MIN_RATERS:
        return np.zeros(len(biases), bool)
    usable_biases = np.where(is_usable, biases, np.nan)
    distance = usable_biases - np.median(biases[is_usable])
    effect = np.minimum(usable_biases * np.sign(distance), np.abs(distance))
    variances = np.where(is_usable, ses, np.nan) ** 2
    # The median of R independent normal values has the variance pi/2 sigma^2/R.
    variances = variances + np.pi / 2 * np.nanmedian(variances) / n_raters
    quantile = -special.ndtri(FALSE_POSITIVE_RATE / (2 * n_raters))
    is_large = effect >= max(MIN_EFFECT * answer_sd, 1e-9)
    return np.asarray(is_usable & is_large & (np.abs(distance) > quantile * np.sqrt(variances)))
