"""Agreement on scores: numbers that stand for the categories, as their own values or the mean of a
gold score of the items that raters put in them (Cohen's kappa with quadratic weights on scores is
Lin's concordance: metrics.agreement.coefficients.scores)."""

from __future__ import annotations

from typing import Any

import numpy as np

from metrics.agreement.coefficients import cohen, fleiss, krippendorff
from metrics.agreement.coefficients.conger import RatedItems
from metrics.agreement.coefficients.correlation import lin_ccc, pearson
from metrics.agreement.coefficients.intraclass.icc import icc
from metrics.agreement.coefficients.scores import mean_scores
from metrics.agreement.counts import tally
from metrics.agreement.weights import scored

from .values import value_of_icc

VALUES = "values"  # the categories' own; else the name of an attribute of items
SINGLE = ("icc2", "icc3")


def unknown(reason: str) -> dict[str, Any]:
    """What there is to say where no scores can be had."""
    return {"reason": reason, "scores": [], "weights": [], "coefficients": {}}


def of_items(code: np.ndarray, score: np.ndarray, k: int) -> tuple[np.ndarray | None, str | None]:
    """The scores (k,) of the categories from the gold scores (M,) of the ratings' items, NaN for an
    item without one; or None, and why. A category that nobody used gets the mean of the others."""
    means = mean_scores(code, score, k)
    known = np.isfinite(means)
    if not known.any():
        return None, "no_scores"
    if (~known & (np.bincount(code, minlength=k) > 0)).any():
        return None, "unscored_category"
    return np.where(known, means, means[known].mean()), None


def of_ratings(
    item: np.ndarray, rater: np.ndarray, code: np.ndarray, scores: np.ndarray
) -> dict[str, Any]:
    """Name -> READING of what scores (k,) make of ratings (M,): of two raters weighted kappa, which
    is Lin's concordance; of more Fleiss' kappa and alpha; the intraclass correlations of the items
    that all rated."""
    if np.ptp(scores) == 0:
        return unknown("equal_scores")
    k = len(scores)
    weights = scored(scores)
    counted = tally.patterns(item, code, k)
    found: dict[str, Any] = {}
    pairs = tally.pair_tables(item, rater, code, k)
    if len(np.unique(rater)) == 2 and len(pairs):
        table = pairs.tables[0]
        found["cohen_kappa_custom"] = cohen.kappa(table, weights).reading()
        found["lin_ccc"] = lin_ccc(table, scores).reading()
        found["pearson"] = pearson(table, scores).reading()
    estimate = fleiss.fleiss_kappa(counted.counts, counted.n_items, weights=weights)
    found["fleiss_kappa_custom"] = estimate.reading()
    alpha = krippendorff.krippendorff_alpha(
        counted.counts, counted.n_items, metric="interval", values=scores
    )
    found["krippendorff_alpha_interval"] = alpha.reading()
    codes = RatedItems.of(item, rater, code, k).complete()
    correlations = icc(scores[codes])
    for name in SINGLE:
        reading = value_of_icc(correlations[name], n_items=len(codes), n_ratings=codes.size)
        found[name] = reading
    return {
        "reason": None,
        "scores": scores.tolist(),
        "weights": weights.tolist(),
        "coefficients": found,
    }
