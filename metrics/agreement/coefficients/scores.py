"""Numeric scores of categories, and quadratic kappa on scores next to the intraclass correlation.

Scores are the categories' own values, or the mean of an external gold score over the items that
raters put in them. With score s_j and quadratic weights 1 - (s_j - s_l)^2 / span^2, for two raters
with variances of divisor n:

    kappa = 2 s_xy / (s_xx + s_yy + (mean_x - mean_y)^2)           exactly Lin's concordance
    ICC(A,1) = 2 S_xy / (S_xx + S_yy + (mean_x - mean_y)^2 - (S_xx + S_yy - 2 S_xy) / n)
                                                                   with divisor n - 1

so the two differ by terms of order 1/n only (Fleiss & Cohen 1973, Educational and Psychological
Measurement 33, 613-619).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.agreement.estimate import Estimate, Floats, divide_or_nan
from metrics.agreement.weights import score_weights

from .cohen import kappa
from .correlation import lin_ccc, pearson
from .intraclass.icc import Icc, icc


@dataclass(frozen=True)
class ScoreAgreement:
    """Agreement of two raters on numeric scores: quadratic kappa and intraclass correlations.

    kappa, Lin's concordance, Pearson's r, and the ICCs of agreement and consistency.
    """

    kappa: Estimate
    concordance: Estimate
    pearson: Estimate
    agreement: Icc
    consistency: Icc


def compute_mean_scores(code: npt.ArrayLike, score: npt.ArrayLike, k: int) -> Floats:
    """Return the mean gold score (k,) of each category, NaN for a category that nobody used.

    code, score: category and gold score (M,) of the ratings; a NaN score (an item without gold) is
    ignored.
    """
    codes, scores = np.asarray(code, np.int64), np.asarray(score, float)
    has_score = np.isfinite(scores)
    codes, scores = codes[has_score], scores[has_score]
    return divide_or_nan(
        np.bincount(codes, weights=scores, minlength=k), np.bincount(codes, minlength=k)
    )


def compute_score_agreement(table: npt.ArrayLike, scores: npt.ArrayLike) -> ScoreAgreement:
    """Return the agreement of two raters, from their table (k, k) and finite scores (k,).

    ValueError when all scores are equal.
    """
    counts, score_values = np.asarray(table, np.int64), np.asarray(scores, float)
    if score_values.shape != (len(counts),) or not np.isfinite(score_values).all():
        raise ValueError(f"scores must be {len(counts)} finite numbers, one for each category")
    cells = np.repeat(np.argwhere(np.ones_like(counts)), counts.ravel(), axis=0)
    iccs = icc(score_values[cells])
    return ScoreAgreement(
        kappa=kappa(counts, score_weights(score_values)),
        concordance=lin_ccc(counts, score_values),
        pearson=pearson(counts, score_values),
        agreement=iccs["icc2"],
        consistency=iccs["icc3"],
    )
