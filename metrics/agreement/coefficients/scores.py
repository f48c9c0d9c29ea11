"""Scores that ground categories in numbers, and how quadratic kappa on scores relates to the
intraclass correlation.

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

from metrics.agreement.estimate import Estimate, Floats, divided
from metrics.agreement.weights import scored

from .cohen import kappa
from .correlation import lin_ccc, pearson
from .intraclass.icc import Icc, icc


@dataclass(frozen=True)
class ScoredAgreement:
    """Of two raters on scores: kappa, Lin's concordance, Pearson's r, and the ICCs of agreement and
    consistency."""

    kappa: Estimate
    concordance: Estimate
    pearson: Estimate
    agreement: Icc
    consistency: Icc


def mean_scores(code: npt.ArrayLike, score: npt.ArrayLike, k: int) -> Floats:
    """Mean gold score (M,) of the ratings `code` (M,) of each category: (k,), NaN for a category
    that nobody used.

    A NaN score (an item without gold) is left out.
    """
    codes, scores = np.asarray(code, np.int64), np.asarray(score, float)
    known = np.isfinite(scores)
    codes, scores = codes[known], scores[known]
    return divided(np.bincount(codes, weights=scores, minlength=k), np.bincount(codes, minlength=k))


def scored_agreement(table: npt.ArrayLike, scores: npt.ArrayLike) -> ScoredAgreement:
    """Table (k, k) of two raters and finite scores (k,); ValueError when the scores do not tell
    categories apart."""
    counts, s = np.asarray(table, np.int64), np.asarray(scores, float)
    if s.shape != (len(counts),) or not np.isfinite(s).all():
        raise ValueError(f"scores must be {len(counts)} finite numbers, one for each category")
    cells = np.repeat(np.argwhere(np.ones_like(counts)), counts.ravel(), axis=0)
    iccs = icc(s[cells])
    return ScoredAgreement(
        kappa=kappa(counts, scored(s)),
        concordance=lin_ccc(counts, s),
        pearson=pearson(counts, s),
        agreement=iccs["icc2"],
        consistency=iccs["icc3"],
    )
