"""Every coefficient that suits a question's scale, computed from the ratings.

Including those that need to know who rated what, which the stored counts do not hold.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from metrics.agreement import batch, registry
from metrics.agreement.coefficients import fleiss
from metrics.agreement.coefficients.conger import RatedItems
from metrics.agreement.coefficients.intraclass.incomplete import icc_of_ratings
from metrics.agreement.counts import tally
from metrics.agreement.explain.diagnosis import is_band_withheld
from metrics.agreement.explain.missing_ratings import compute_by_policy
from metrics.agreement.headline import HeadlineFacts
from metrics.agreement.registry import MEAN_PAIRWISE
from metrics.filters import ITEM_PREFIX
from metrics.results import bootstrap, score_agreement
from metrics.results.headline.headline_computation import ALL, MODELS, PEOPLE
from metrics.results.values import build_icc_value, build_undefined_value, copy_sample_sizes
from metrics.scale import QuestionScale
from projects.models import Item, Project

from . import pair_bodies
from .compact_values import MAX_CELLS, Body

F_TEST_FIELDS = ("F", "df1", "df2", "p")  # of an intraclass correlation, in addition to its Value


def compute_coefficients(
    ratings: np.ndarray, scale: QuestionScale, *, models: Sequence[int]
) -> Body:
    """Return the Value of each coefficient (`coefficients`) and related results.

    `policies`: what rules about missing ratings give; `categories`: each category against the
    others; `of`: the group of raters, which is people where models rate too, unless the lead pooled
    them.
    """
    is_model = np.isin(ratings["rater"], models)
    displayed = select_displayed(ratings, scale, models=models)
    separate = len(displayed) < len(ratings)
    patterns = tally.count_patterns(displayed["item"], displayed["code"], scale.k)
    counts, n_items = patterns.counts, patterns.n_items
    raters = np.unique(displayed["rater"])
    values = {
        name: estimate.to_value()
        for name, estimate in scale.estimate_patterns(counts, n_items).items()
    }
    intervals = bootstrap.compute_intervals(counts, n_items, scale)
    values = bootstrap.add_intervals(values, intervals)
    pairwise, _means_by_rater = pair_bodies.compute_mean_pairwise(displayed, raters, scale)
    values |= copy_sample_sizes(pairwise, values["percent_agreement"])
    values |= pair_bodies.compute_means_by_items(displayed, patterns, scale)
    values |= _compute_rater_coefficients(displayed, scale)
    sizes = counts.sum(axis=1)
    weighting = HeadlineFacts(scale.kind, len(raters), scale.weights).weighting
    rules = compute_by_policy(
        counts,
        n_items,
        n_raters=len(raters),
        scale=scale.kind,
        weighting=weighting,
        values=scale.values,
        weight_matrix=scale.matrix,
    )
    group_name = MODELS if len(displayed) and is_model.all() else ALL if is_model.any() else PEOPLE
    return {
        "population": PEOPLE if separate else group_name,
        "separates_models": separate,
        "raters": raters[:2].tolist() if len(raters) == 2 else [],
        "n_raters": len(raters),
        "n_items": int(n_items.sum()),
        "n_ratings": len(displayed),
        "with_two_or_more": int(n_items[sizes >= 2].sum()),
        "complete": int(n_items[(sizes == len(raters)) & (sizes > 0)].sum()),
        "coefficients": _sort_coefficients(values, scale),
        "is_band_withheld": bool(len(n_items)) and is_band_withheld(counts, n_items),
        "policies": [_add_missing_data_policy_interval(asdict(rule), intervals) for rule in rules],
        "categories": _compute_categories(counts, n_items, scale),
    }


def select_displayed(
    ratings: np.ndarray, scale: QuestionScale, *, models: Sequence[int]
) -> np.ndarray:
    """Return the ratings that coefficients display: without models, unless they are pooled."""
    is_model = np.isin(ratings["rater"], models)
    separate = bool(is_model.any() and not is_model.all()) and not scale.pooled
    return ratings[~is_model] if separate else ratings


def build_score_agreement_body(
    ratings: np.ndarray, scale: QuestionScale, project: Project, score_source: str
) -> Body:
    """Compute agreement on scores: the categories' values, or the means of an item attribute."""
    if len(np.unique(ratings["item"])) * scale.k > MAX_CELLS:
        return score_agreement.build_undefined_scores("too_many_items")
    category_scores, reason = scale.values, "no_scores" if scale.values is None else None
    if score_source != score_agreement.CATEGORY_VALUES:
        item_scores = _read_item_scores(
            ratings["item"], project, score_source.removeprefix(ITEM_PREFIX)
        )
        category_scores, reason = score_agreement.compute_category_scores(
            ratings["code"], item_scores, scale.k
        )
    if category_scores is None:
        return score_agreement.build_undefined_scores(reason or "no_scores")
    return score_agreement.compute_score_agreement(
        ratings["item"], ratings["rater"], ratings["code"], category_scores
    )


def _read_item_scores(items: np.ndarray, project: Project, name: str) -> np.ndarray:
    """Return the number in an attribute of each item (M,), NaN where there is none."""
    scores_by_item: dict[int, float] = {}
    rows = Item.objects.filter(project=project, attributes__has_key=name)
    for pk, attributes in rows.values_list("pk", "attributes").iterator(5_000):
        with contextlib.suppress(ValueError, TypeError):
            scores_by_item[pk] = float(attributes[name])
    unique, inverse = np.unique(items, return_inverse=True)
    item_scores = np.array([scores_by_item.get(pk, np.nan) for pk in unique.tolist()], float)
    return np.where(np.isfinite(item_scores), item_scores, np.nan)[inverse]


def _compute_rater_coefficients(ratings: np.ndarray, scale: QuestionScale) -> Body:
    """Compute coefficients that need to know who rated what.

    Conger's kappa, Kendall's W, intraclass correlations.
    """
    custom = scale.matrix is not None
    listed = registry.iter_coefficients(scale=scale.kind, custom=custom)
    names = [
        name for name, entry in listed if entry.ratings_formula or entry.report_format == "icc"
    ]
    if len(np.unique(ratings["item"])) * scale.k > MAX_CELLS:
        return {name: build_undefined_value("too_many_items") for name in names}
    rated = RatedItems.from_ratings(ratings["item"], ratings["rater"], ratings["code"], scale.k)
    estimates = batch.compute_rating_coefficients(
        rated, scale=scale.kind, values=scale.values, weight_matrix=scale.matrix
    )
    values: Body = {name: estimate.to_value() for name, estimate in estimates.items()}
    if scale.type.numeric and scale.values is not None:
        for name, icc_result in icc_of_ratings(rated, scale.values).items():
            value = build_icc_value(
                icc_result,
                n_items=icc_result.n_items or 0,
                n_ratings=icc_result.n_ratings or 0,
            )
            values[name] = {
                **value,
                **{field: getattr(icc_result, field) for field in F_TEST_FIELDS},
            }
    return values


def _sort_coefficients(values: Body, scale: QuestionScale) -> Body:
    """Return the values in the order of the registry; pair means follow them."""
    names = [name for name, _entry in registry.iter_coefficients(scale=scale.kind, custom=True)]
    of_pairs = [name for name in values if name.startswith(MEAN_PAIRWISE)]
    is_ordered = scale.type.ordered
    names += [name for name in of_pairs if is_ordered or not name.endswith(("linear", "quadratic"))]
    return {name: values[name] for name in names if name in values}


def _add_missing_data_policy_interval(
    policy: dict[str, Any], intervals: bootstrap.Intervals
) -> dict[str, Any]:
    """Return a policy for missing ratings, with a bootstrap interval where only that exists."""
    by_name = {policy["coefficient"]: policy["estimate"]}
    if policy["name"] == "paired":
        policy["estimate"] = bootstrap.add_intervals(by_name, intervals)[policy["coefficient"]]
    return policy


def _compute_categories(
    counts: np.ndarray, n_items: np.ndarray, scale: QuestionScale
) -> list[Body]:
    per_category = fleiss.category_kappas(counts, n_items)
    ratings = (n_items @ counts).tolist() if len(counts) else [0] * scale.k
    categories = []
    for index, label in enumerate(scale.labels):
        value = per_category.to_value((index,))
        categories.append({"label": label, "ratings": int(ratings[index]), "agreement": value})
    return categories
