"""Intervals of clusters of items in the bodies of filtered results.

The design effects are those of the selected ratings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from metrics.agreement.headline import COHEN
from metrics.models import FilteredResult
from metrics.results import clusters
from metrics.results.clusters import QuestionClusters
from metrics.scale import QuestionScale, get_weighted_name
from projects.models import Project

from .compact_values import SHORT_FIELDS, Body

POINT_FIELDS = (*SHORT_FIELDS, "n_items", "n_ratings", "se")


def widen_by_clusters(
    body: Body,
    kind: str,
    ratings: np.ndarray,
    scale: QuestionScale,
    *,
    project: Project,
    models: Sequence[int],
) -> Body:
    """Return a body with widened intervals and `clusters`; unchanged without clusters.

    ``ratings``: array with item, rater and code that the body is of; ``models``: ids of raters.
    """
    if not project.cluster_attribute:
        return body
    is_model = np.isin(ratings["rater"], models)
    effects = clusters.compute_headline_clusters(ratings, is_model, scale, project)
    widened = body | {"clusters": effects.to_json()}
    if "coefficients" in body:
        widened["coefficients"] = effects.widen_all(body["coefficients"])
    if "headline" in body:
        widened["headline"] = effects.widen_headline(body["headline"])
        widened["details"] = effects.widen_details(body["details"])
        widened["means"] = effects.widen_all(body["means"])
    if "raters" in body and kind == FilteredResult.Kind.DASHBOARD:
        widened["raters"] = [
            row | {"coefficients": effects.widen_all(row["coefficients"])} for row in body["raters"]
        ]
    if "trend" in body:
        widened["trend"] = {
            span: {
                name: points
                if name == "starts"
                else [[_widen_list(effects, name, part) for part in point] for point in points]
                for name, points in lines.items()
            }
            for span, lines in body["trend"].items()
        }
    if "pairs" in body:
        weightings = scale.list_weightings()
        widened["pairs"] = [
            row
            | {
                weighting: _widen_list(
                    effects, get_weighted_name(COHEN, weighting), row[weighting], n_items=row["n"]
                )
                for weighting in weightings
                if weighting in row
            }
            for row in body["pairs"]
        ]
    if "policies" in body:
        widened["policies"] = [
            policy | {"estimate": effects.widen(policy["coefficient"], policy["estimate"])}
            for policy in body["policies"]
        ]
        widened["categories"] = effects.widen_categories(body["categories"])
    return widened


def _widen_list(
    effects: QuestionClusters, name: str, values: list[Any], **fields: Any
) -> list[Any]:
    """Return the values of a point or of a short list with the interval of clusters."""
    names = POINT_FIELDS[: len(values)]
    value = effects.widen(name, fields | dict(zip(names, values, strict=True)))
    return [value[field] for field in names]
