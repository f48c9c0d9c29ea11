"""Every coefficient that suits a question's scale, computed from the ratings.

Some of them depend on which rater gave which rating, which the stored counts do not hold.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np

from metrics.agreement import registry, scale_coefficients
from metrics.agreement.coefficients import fleiss
from metrics.agreement.coefficients.conger import RatedItems
from metrics.agreement.coefficients.intraclass.incomplete_icc import (
    compute_incomplete_icc,
    icc_of_ratings,
)
from metrics.agreement.counts import tally
from metrics.agreement.estimate import Value
from metrics.agreement.explain.diagnosis import is_band_withheld
from metrics.agreement.explain.headline_differences import MissingDataPolicy
from metrics.agreement.headline import ICC_AGREEMENT
from metrics.agreement.registry import MEAN_PAIRWISE
from metrics.filters import ITEM_PREFIX
from metrics.question_scale import QuestionScale
from metrics.results import other_weights
from metrics.results.headline.headline_computation import ALL, MODELS, PEOPLE
from metrics.results.intervals import Intervals, QuestionClusters, add_intervals, compute_intervals
from metrics.results.other_weights import ScoredAgreement
from metrics.results.pair_means import RatedPairs
from metrics.results.stored_values import (
    CategoryAgreement,
    Values,
    build_icc_value,
    build_undefined_value,
)
from projects.models import Item, Project

from .compact_values import MAX_CELLS, StoredResults

F_TEST_FIELDS = ("F", "df1", "df2", "p")  # of an intraclass correlation, in addition to its Value


@dataclass(frozen=True, kw_only=True)
class CoefficientResults(StoredResults):
    """The Value of each coefficient of the selected ratings, and related results.

    ``population``: the group of raters, which is people where models rate too, unless the lead
    pooled them; ``raters``: ids, of two raters only; ``complete``: number of items that all raters
    rated; ``policies``: the headline under each policy for missing ratings; ``categories``: each
    category against the others; ``incomplete``: intraclass correlations of all ratings, from
    variance components, where not all raters rated each item; ``scored``: agreement on scores, None
    where it was not requested.
    """

    population: str
    separates_models: bool
    raters: list[int]
    n_raters: int
    n_items: int
    n_ratings: int
    with_two_or_more: int
    complete: int
    coefficients: Values
    is_band_withheld: bool
    policies: list[MissingDataPolicy]
    categories: list[CategoryAgreement]
    incomplete: Values
    scored: ScoredAgreement | None

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        policies = [MissingDataPolicy(**policy) for policy in stored["policies"]]
        return super().from_json({**stored, "policies": policies})


def compute_coefficients(
    ratings: np.ndarray,
    scale: QuestionScale,
    *,
    models: Sequence[int],
    clusters: QuestionClusters | None,
    scored: ScoredAgreement | None,
) -> CoefficientResults:
    """Return every coefficient that suits the scale, computed from the ratings (M,)."""
    is_model = np.isin(ratings["rater"], models)
    displayed = select_displayed(ratings, scale, models=models)
    separate = len(displayed) < len(ratings)
    patterns = tally.count_patterns(displayed["item"], displayed["code"], scale.k)
    counts, n_items = patterns.counts, patterns.n_items
    raters = np.unique(displayed["rater"])
    intervals = compute_intervals(counts, n_items, scale)
    sizes = counts.sum(axis=1)
    rules = scale.compute_by_policy(patterns, len(raters))
    group_name = MODELS if len(displayed) and is_model.all() else ALL if is_model.any() else PEOPLE
    coefficients = _compute_values(displayed, patterns, intervals, scale)
    categories = _compute_categories(counts, n_items, scale)
    return CoefficientResults(
        population=PEOPLE if separate else group_name,
        separates_models=separate,
        raters=raters[:2].tolist() if len(raters) == 2 else [],
        n_raters=len(raters),
        n_items=int(n_items.sum()),
        n_ratings=len(displayed),
        with_two_or_more=int(n_items[sizes >= 2].sum()),
        complete=int(n_items[(sizes == len(raters)) & (sizes > 0)].sum()),
        coefficients=clusters.widen_all(coefficients) if clusters else coefficients,
        is_band_withheld=bool(len(n_items)) and is_band_withheld(counts, n_items),
        policies=[_build_policy(rule, intervals, clusters) for rule in rules],
        categories=clusters.widen_categories(categories) if clusters else categories,
        incomplete=_compute_incomplete_iccs(displayed, scale, clusters),
        scored=scored,
        clusters=clusters,
    )


def _compute_values(
    displayed: np.ndarray, patterns: tally.PatternCounts, intervals: Any, scale: QuestionScale
) -> Any:
    """Return name -> Value of every coefficient, in the order of the registry."""
    counts, n_items = patterns.counts, patterns.n_items
    estimates = scale.estimate_patterns(counts, n_items)
    values = {name: estimate.to_value() for name, estimate in estimates.items()}
    values = add_intervals(values, intervals)
    pairs = RatedPairs.from_ratings(displayed, scale)
    values |= pairs.compute_means(values)
    values |= pairs.compute_means_by_items(counts, n_items, scale)
    values |= _compute_rater_coefficients(displayed, scale)
    return _sort_coefficients(values, scale)


def select_displayed(
    ratings: np.ndarray, scale: QuestionScale, *, models: Sequence[int]
) -> np.ndarray:
    """Return the ratings on which coefficients are based.

    Those of models are left out where people rate too, unless the lead pooled them.
    """
    is_model = np.isin(ratings["rater"], models)
    separate = bool(is_model.any() and not is_model.all()) and not scale.pooled
    return ratings[~is_model] if separate else ratings


def compute_scored_agreement(
    ratings: np.ndarray, scale: QuestionScale, project: Project, score_source: str
) -> ScoredAgreement:
    """Return the agreement on scores of categories: their values, or means of an item attribute.

    ``ratings`` (M,): filtered_jobs.ROW; ``score_source``: CATEGORY_VALUES, or ITEM_PREFIX and the
    name of the attribute. Without scores, the result has the reason.
    """
    if len(np.unique(ratings["item"])) * scale.k > MAX_CELLS:
        return other_weights.build_undefined_scores("too_many_items")
    scores, reason = scale.values, "no_scores" if scale.values is None else None
    if score_source != other_weights.CATEGORY_VALUES:
        item_scores = _read_item_scores(
            ratings["item"], project, score_source.removeprefix(ITEM_PREFIX)
        )
        scores, reason = other_weights.compute_category_scores(
            ratings["code"], item_scores, scale.k
        )
    if scores is None:
        return other_weights.build_undefined_scores(reason or "no_scores")
    return other_weights.compute_score_agreement(
        ratings["item"], ratings["rater"], ratings["code"], scores
    )


def _read_item_scores(items: np.ndarray, project: Project, name: str) -> np.ndarray:
    """Return the number in this attribute of each item (M,), NaN where it has none."""
    scores_by_item: dict[int, float] = {}
    rows = Item.objects.filter(project=project, attributes__has_key=name)
    for pk, attributes in rows.values_list("pk", "attributes").iterator(5_000):
        with contextlib.suppress(ValueError, TypeError):
            scores_by_item[pk] = float(attributes[name])
    unique, inverse = np.unique(items, return_inverse=True)
    item_scores = np.array([scores_by_item.get(pk, np.nan) for pk in unique.tolist()], float)
    return np.where(np.isfinite(item_scores), item_scores, np.nan)[inverse]


def _compute_rater_coefficients(ratings: np.ndarray, scale: QuestionScale) -> Values:
    """Compute the coefficients that depend on which rater gave which rating.

    They are Conger's kappa, Kendall's W and the intraclass correlations.
    """
    custom = scale.matrix is not None
    listed = registry.iter_coefficients(scale=scale.kind, custom=custom)
    names = [
        name for name, entry in listed if entry.ratings_formula or entry.report_format == "icc"
    ]
    if len(np.unique(ratings["item"])) * scale.k > MAX_CELLS:
        return {name: build_undefined_value("too_many_items") for name in names}
    rated = RatedItems.from_ratings(ratings["item"], ratings["rater"], ratings["code"], scale.k)
    estimates = scale_coefficients.compute_rating_coefficients(
        rated, scale=scale.kind, values=scale.values, weight_matrix=scale.matrix
    )
    values: Values = {name: estimate.to_value() for name, estimate in estimates.items()}
    if scale.type.numeric and scale.values is not None:
        for name, icc_result in icc_of_ratings(rated, scale.values).items():
            value = build_icc_value(
                icc_result,
                n_items=icc_result.n_items or 0,
                n_ratings=icc_result.n_ratings or 0,
            )
            f_test = {field: getattr(icc_result, field) for field in F_TEST_FIELDS}
            values[name] = cast("Value", {**value, **f_test})
    return values


def _compute_incomplete_iccs(
    ratings: np.ndarray, scale: QuestionScale, clusters: QuestionClusters | None
) -> Values:
    """Compute the correlations from variance components; none where every rater rated each item."""
    n_items, n_raters = (np.unique(ratings[name]).size for name in ("item", "rater"))
    is_complete = n_items * n_raters == len(ratings)
    if scale.values is None or not scale.type.numeric or is_complete or n_raters < 2:
        return {}
    correlations = compute_incomplete_icc(
        ratings["item"], ratings["rater"], scale.values[ratings["code"]]
    )
    values = {
        name: build_icc_value(icc, n_items=n_items, n_ratings=len(ratings))
        for name, icc in correlations.by_name().items()
    }
    if clusters is None:
        return values
    return {name: clusters.widen_interval(ICC_AGREEMENT, value) for name, value in values.items()}


def _sort_coefficients(values: Values, scale: QuestionScale) -> Values:
    """Return the values in the order of the registry, followed by the means over pairs.

    Means with rank weights are left out where the categories have no order.
    """
    names = [name for name, _entry in registry.iter_coefficients(scale=scale.kind, custom=True)]
    of_pairs = [name for name in values if name.startswith(MEAN_PAIRWISE)]
    is_ordered = scale.type.ordered
    names += [name for name in of_pairs if is_ordered or not name.endswith(("linear", "quadratic"))]
    return {name: values[name] for name in names if name in values}


def _build_policy(
    rule: MissingDataPolicy, intervals: Intervals, clusters: QuestionClusters | None
) -> MissingDataPolicy:
    """Return the policy for missing ratings with its interval, widened for clusters.

    The policy "paired" has a bootstrap interval if it has no other.
    """
    name, value = rule.coefficient, rule.estimate
    if rule.name == "paired":
        value = add_intervals({name: value}, intervals)[name]
    value = clusters.widen_interval(name, value) if clusters else value
    return replace(rule, estimate=value)


def _compute_categories(
    counts: np.ndarray, n_items: np.ndarray, scale: QuestionScale
) -> list[CategoryAgreement]:
    """Return each category's number of ratings, and its agreement against all others.

    ``counts`` (P, k), ``n_items`` (P,): patterns and how many items have each.
    """
    per_category = fleiss.category_kappas(counts, n_items)
    ratings = (n_items @ counts).tolist() if len(counts) else [0] * scale.k
    categories: list[CategoryAgreement] = []
    for index, label in enumerate(scale.labels):
        value = per_category.to_value((index,))
        categories.append({"label": label, "ratings": int(ratings[index]), "agreement": value})
    return categories
