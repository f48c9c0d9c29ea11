"""Headline of a file of ratings for `manage.py agreement`, by the rules of the pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from metrics.agreement.all_statistics import ReportDict
from metrics.agreement.weights import CUSTOM
from metrics.management.rating_file import RatingFile
from metrics.question_scale import QuestionScale
from metrics.results.headline.headline_computation import (
    MODELS,
    PEOPLE,
    build_headline_from_ratings,
)
from metrics.results.values import build_undefined_value

# Reasons for the choice of the headline (metrics.agreement.headline), as text.
REASON_TEXTS = {
    "two_raters": "two raters",
    "nominal": "categories without an order",
    "ordinal": "categories in an order",
    "complete": "numbers, and everybody rated every item",
    "incomplete": "numbers, and not everybody rated every item",
}
ROW = np.dtype([("item", "i8"), ("rater", "i8"), ("code", "i8")])


def build_scale(ratings: RatingFile, *, scale: str, weights: str, matrix: Any) -> QuestionScale:
    """Return the scale that a question with these settings would have.

    Raises ValueError for custom weights without a matrix.
    """
    if weights == CUSTOM and matrix is None:
        raise ValueError("--weights custom needs --matrix")
    n_categories = len(ratings.categories)
    return QuestionScale(
        kind=scale,
        codes=np.arange(n_categories),
        width=n_categories,
        labels=ratings.categories,
        values=np.array(ratings.values, float),
        matrix=None if matrix is None else np.array(matrix, float),
        # A matrix in the options counts as declared.
        weights=CUSTOM if matrix is not None else weights,
    )


def compute_file_headline(
    ratings: RatingFile, *, scale: str, weights: str, matrix: Any, models: Sequence[str]
) -> ReportDict:
    """Return `headline` and the same coefficient of `people`, `models` and `people_models`.

    Raises ValueError for a model that rated nothing, or custom weights without a matrix.
    """
    for model in models:
        if model not in ratings.raters:
            available = ", ".join(ratings.raters[:10])
            raise ValueError(f"--models: no rater {model!r} in the file; there is {available}")
    question_scale = build_scale(ratings, scale=scale, weights=weights, matrix=matrix)
    rows = np.empty(len(ratings.item), ROW)
    rows["item"], rows["rater"], rows["code"] = ratings.item, ratings.rater, ratings.code
    model_indices = [ratings.raters.index(model) for model in models]
    builder, row = build_headline_from_ratings(
        rows, np.isin(rows["rater"], model_indices), question_scale
    )
    headline = builder.build_headline(row)
    undefined_value = build_undefined_value("no_pairable_items")
    choice = {name: headline[name] for name in ("name", "why", "population")}
    return {
        "headline": {**headline["value"], **choice, "unweighted": headline.get("unweighted")},
        "n_people": headline["n_people"],
        "n_models": headline["n_models"],
        "people": headline.get(
            PEOPLE, headline["value"] if headline["population"] == PEOPLE else undefined_value
        ),
        "models": headline.get(
            MODELS, headline["value"] if headline["population"] == MODELS else undefined_value
        ),
        "people_models": headline.get("between", undefined_value),
    }
