"""Agreement of a question under weights that it does not have: given ones, or by scores.

`preview_weights` computes it from the stored counts, of which there are few, however many ratings.

Scores are numbers that represent the categories: their own values, or for each category the mean
gold score of the items that raters put in it. With quadratic weights 1 - (s_j - s_l)^2 / span^2 on
scores s, Cohen's kappa of two raters is Lin's concordance, 2 s_xy / (s_xx + s_yy + (mean_x -
mean_y)^2) with moments of divisor n. ICC(A,1) differs from it by terms of order 1/n (Fleiss & Cohen
1973, Educational and Psychological Measurement 33, 613-619).
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from metrics.agreement.coefficients import cohen, fleiss, krippendorff
from metrics.agreement.coefficients.conger import RatedItems
from metrics.agreement.coefficients.correlation import lin_ccc, pearson
from metrics.agreement.coefficients.intraclass.icc import icc
from metrics.agreement.counts import tally
from metrics.agreement.estimate import divide_or_nan
from metrics.agreement.headline import HeadlineFacts
from metrics.agreement.weights import CUSTOM, get_weight_matrix, score_weights
from metrics.counting import store
from metrics.models import ALL_DAYS, CountState, PatternTally, Population
from metrics.question_scale import QuestionScale
from metrics.results.headline.headline_computation import ALL, PEOPLE, CountedRaters
from metrics.results.patterns import GroupedPatterns, GroupValues
from projects.models import Question

from .stored_values import Values, build_icc_value

CATEGORY_VALUES = "values"  # the source of the scores; otherwise the name of an item attribute
ICC_NAMES = ("icc2", "icc3")


class ScoredAgreement(TypedDict):
    """Agreement on scores; ``reason``: why there are no scores, or None."""

    reason: str | None
    scores: list[float]  # of the categories
    weights: list[list[float]]  # of their pairs
    coefficients: Values


def build_undefined_scores(reason: str) -> ScoredAgreement:
    """Return the result where there are no scores, for this reason."""
    return {"reason": reason, "scores": [], "weights": [], "coefficients": {}}


def compute_category_scores(
    code: np.ndarray, score: np.ndarray, k: int
) -> tuple[np.ndarray | None, str | None]:
    """Return (mean gold score of each category (k,), None), or (None, reason) if undefined.

    ``score`` (M,): the gold score of each rating's item, NaN for an item without one. An unused
    category gets the mean of the others.
    """
    has_score = np.isfinite(score)
    scored_codes = code[has_score]
    means = divide_or_nan(
        np.bincount(scored_codes, weights=score[has_score], minlength=k),
        np.bincount(scored_codes, minlength=k),
    )
    defined = np.isfinite(means)
    if not defined.any():
        return None, "no_scores"
    if (~defined & (np.bincount(code, minlength=k) > 0)).any():
        return None, "unscored_category"
    return np.where(defined, means, means[defined].mean()), None


def compute_score_agreement(
    item: np.ndarray, rater: np.ndarray, code: np.ndarray, scores: np.ndarray
) -> ScoredAgreement:
    """Return the agreement of ratings (M,) on the scores (k,) of their categories.

    `coefficients` maps name -> Value. Two raters have weighted kappa, which is Lin's concordance,
    and Pearson's correlation. Any number of raters have Fleiss' kappa, alpha, and the intraclass
    correlations of the items that all raters rated. Where all scores are equal there are none, with
    the reason "equal_scores".
    """
    if np.ptp(scores) == 0:
        return build_undefined_scores("equal_scores")
    k = len(scores)
    weights = score_weights(scores)
    counted = tally.count_patterns(item, code, k)
    values: Values = {}
    pairs = tally.count_pair_tables(item, rater, code, k)
    if len(np.unique(rater)) == 2 and len(pairs):
        table = pairs.tables[0]
        values["cohen_kappa_custom"] = cohen.kappa(table, weights).to_value()
        values["lin_ccc"] = lin_ccc(table, scores).to_value()
        values["pearson"] = pearson(table, scores).to_value()
    estimate = fleiss.fleiss_kappa(counted.counts, counted.n_items, weights=weights)
    values["fleiss_kappa_custom"] = estimate.to_value()
    alpha = krippendorff.krippendorff_alpha(
        counted.counts, counted.n_items, metric="interval", values=scores
    )
    values["krippendorff_alpha_interval"] = alpha.to_value()
    codes = RatedItems.from_ratings(item, rater, code, k).get_complete_codes()
    correlations = icc(scores[codes])
    for name in ICC_NAMES:
        value = build_icc_value(correlations[name], n_items=len(codes), n_ratings=codes.size)
        values[name] = value
    return {
        "reason": None,
        "scores": scores.tolist(),
        "weights": weights.tolist(),
        "coefficients": values,
    }


MAX_CELLS = 2_000_000  # of the patterns; a larger question gets no preview


def preview_weights(question_id: int, weights: list[list[float]]) -> dict[str, object] | None:
    """Return the weighted kappa under the declared weights (`now`) and under ``weights`` (`then`).

    The third key is the coefficient's `name`. None before anything is counted, if ``weights`` has
    another number of categories, and if the patterns have more than MAX_CELLS cells.
    """
    question = Question.objects.filter(pk=question_id).first()
    state = CountState.objects.filter(pk=question_id).first()
    row = PatternTally.objects.filter(
        question_id=question_id, day=ALL_DAYS, population=Population.ALL
    ).first()
    if question is None or state is None or row is None:
        return None
    scale = QuestionScale.for_question(question)
    if len(weights) != scale.k or len(row.patterns) // 8 > MAX_CELLS:
        return None
    counts, n_items = store.decode_patterns(row, scale.width)
    groups = CountedRaters.from_state(state, scale).build_groups(
        GroupedPatterns.from_code_counts(counts, scale), n_items, GroupValues({})
    )
    group = groups[ALL if scale.pooled else PEOPLE]
    name = HeadlineFacts(scale.kind, 0, scale.weights).weighting
    current_weights = scale.matrix if name == CUSTOM else get_weight_matrix(name, scale.k)
    new_weights = np.array(weights, float)
    if group.n_raters == 2:
        tables = group.tables()
        if not len(tables):
            return None
        kappas = [
            cohen.kappa(tables[0], matrix_weights).to_value()
            for matrix_weights in (current_weights, new_weights)
        ]
        return {"name": "cohen_kappa", "now": kappas[0], "then": kappas[1]}
    patterns = group.counts, group.n_items
    kappas = [
        fleiss.fleiss_kappa(*patterns, weights=matrix_weights).to_value()
        for matrix_weights in (current_weights, new_weights)
    ]
    return {"name": "fleiss_kappa", "now": kappas[0], "then": kappas[1]}
