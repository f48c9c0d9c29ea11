"""Merge the headline of all ratings with that of the random sample, and separate them.

See results.headline.random_sample.
"""

from __future__ import annotations

from typing import Any

ALL, PEOPLE, MODELS = "all", "people", "models"
# The keys of a headline that depend on the ratings it is based on. All others belong to the
# question.
SAMPLE_PARTS = (
    "name",
    "why",
    "companions",
    "value",
    "values",
    "spread_of_means",
    ALL,
    PEOPLE,
    MODELS,
    "between",
)


def merge_sample_headline(headline: dict[str, Any], sample: dict[str, Any]) -> dict[str, Any]:
    """Return a headline with the values of the random sample, keeping those of all ratings.

    ``sample``: the result of random_sample.compute_sample_headline. The replaced parts are kept as
    `pooled`. The headline is returned unchanged where there is no sample, or only that of another
    coefficient, because the scale has just changed.
    """
    if not sample or sample["replaces"] != headline["name"]:
        return headline
    pooled = {name: headline[name] for name in SAMPLE_PARTS if name in headline}
    parts = {name: value for name, value in sample.items() if name != "replaces"}
    return (
        {name: headline[name] for name in headline if name not in SAMPLE_PARTS}
        | parts
        | {"pooled": pooled}
    )


def get_all_ratings_headline(headline: dict[str, Any]) -> dict[str, Any]:
    """Return the headline of all ratings from one that was merged with the sample's."""
    if "pooled" not in headline:
        return headline
    replaced = {"sample", "pooled", *SAMPLE_PARTS}
    common = {name: value for name, value in headline.items() if name not in replaced}
    full_headline: dict[str, Any] = common | headline["pooled"]
    return full_headline
