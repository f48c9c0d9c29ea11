"""What is read first of a file of ratings, as on the pages and in the API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from metrics.agreement.weights import CUSTOM
from metrics.management.rating_file import RatingFile
from metrics.results.headline.headline_computation import MODELS, PEOPLE, of_ratings
from metrics.results.values import undefined
from metrics.scale import QuestionScale

# Why, in words (metrics.agreement.headline).
WHYS = {
    "two_raters": "two raters",
    "nominal": "categories without an order",
    "ordinal": "categories in an order",
    "complete": "numbers, and everybody rated every item",
    "incomplete": "numbers, and not everybody rated every item",
}
ROW = np.dtype([("item", "i8"), ("rater", "i8"), ("code", "i8")])


def scale_of(ratings: RatingFile, *, scale: str, weights: str, matrix: Any) -> QuestionScale:
    """The scale as a question would have it. ValueError for custom weights without a matrix."""
    if weights == CUSTOM and matrix is None:
        raise ValueError("--weights custom needs --matrix")
    k = len(ratings.categories)
    return QuestionScale(
        kind=scale,
        codes=np.arange(k),
        width=k,
        labels=ratings.categories,
        values=np.array(ratings.values, float),
        matrix=None if matrix is None else np.array(matrix, float),
        # A matrix that is given is declared.
        weights=CUSTOM if matrix is not None else weights,
    )


def first_number(
    ratings: RatingFile, *, scale: str, weights: str, matrix: Any, models: Sequence[str]
) -> dict[str, Any]:
    """`headline` (name, why, of, READING), and READINGs of the same coefficient: `people`, `models`
    and `people_models`. ValueError for a model that rated nothing, or custom weights without a
    matrix."""
    for model in models:
        if model not in ratings.raters:
            known = ", ".join(ratings.raters[:10])
            raise ValueError(f"--models: no rater {model!r} in the file; there is {known}")
    numbers = scale_of(ratings, scale=scale, weights=weights, matrix=matrix)
    rows = np.empty(len(ratings.item), ROW)
    rows["item"], rows["rater"], rows["code"] = ratings.item, ratings.rater, ratings.code
    places = [ratings.raters.index(model) for model in models]
    first, row = of_ratings(rows, np.isin(rows["rater"], places), numbers)
    found = first.whole(row)
    nobody = undefined("no_pairable_items")
    named = {name: found[name] for name in ("name", "why", "of")}
    return {
        "headline": {**found["value"], **named},
        "n_people": found["n_people"],
        "n_models": found["n_models"],
        "people": found.get(PEOPLE, found["value"] if found["of"] == PEOPLE else nobody),
        "models": found.get(MODELS, found["value"] if found["of"] == MODELS else nobody),
        "people_models": found.get("between", nobody),
    }
