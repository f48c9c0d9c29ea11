"""A headline of all ratings, and one of some of them in its place (readings.drawn)."""

from __future__ import annotations

from typing import Any

ALL, PEOPLE, MODELS = "all", "people", "models"
# What of a headline is of the ratings that it rests on. All else is of the question.
PARTS = ("name", "why", "beside", "value", "values", "apart", ALL, PEOPLE, MODELS, "between")


def merged(first: dict[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    """The headline of all ratings with ``rest`` (drawn.of_rest) in the place of its PARTS, which
    stand as `pooled`. As it is, where there is none, or only that of another coefficient: the scale
    changed a moment ago."""
    if not rest or rest["instead_of"] != first["name"]:
        return first
    pooled = {name: first[name] for name in PARTS if name in first}
    parts = {name: part for name, part in rest.items() if name != "instead_of"}
    return {name: first[name] for name in first if name not in PARTS} | parts | {"pooled": pooled}


def of_all(headline: dict[str, Any]) -> dict[str, Any]:
    """The headline of all ratings that `merged` was given."""
    if "pooled" not in headline:
        return headline
    others = {"drawn", "pooled", *PARTS}
    own = {name: part for name, part in headline.items() if name not in others}
    whole: dict[str, Any] = own | headline["pooled"]
    return whole
