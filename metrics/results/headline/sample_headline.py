"""Merge the headline of all ratings with that of the random sample, and separate them.

See results.headline.random_sample.
"""

from __future__ import annotations

from typing import Final, cast

from metrics.results.values import HeadlineResult

ALL: Final = "all"
PEOPLE: Final = "people"
MODELS: Final = "models"
# The keys of a headline that depend on the ratings it is based on. All others belong to the
# question.
SAMPLE_PARTS = (
    "name",
    "why",
    "companions",
    "value",
    "unweighted",
    "values",
    "spread_of_means",
    ALL,
    PEOPLE,
    MODELS,
    "between",
)


def merge_sample_headline(headline: HeadlineResult, sample: HeadlineResult) -> HeadlineResult:
    """Return a headline with the values of the random sample; those replaced are kept as `pooled`.

    ``sample``: the result of random_sample.compute_sample_headline. The headline is returned
    unchanged if there is no sample, or if the sample is of another coefficient because the scale
    has just changed.
    """
    if not sample or sample["replaces"] != headline["name"]:
        return headline
    parts = {name: value for name, value in sample.items() if name != "replaces"}
    merged = _split_parts(headline, sampled=False) | parts
    return cast("HeadlineResult", merged | {"pooled": _split_parts(headline, sampled=True)})


def get_all_ratings_headline(headline: HeadlineResult) -> HeadlineResult:
    """Return the headline of all ratings from one that was merged with the sample's."""
    if "pooled" not in headline:
        return headline
    common = _split_parts(headline, sampled=False)
    common = {name: value for name, value in common.items() if name not in ("sample", "pooled")}
    return cast("HeadlineResult", common | {**headline["pooled"]})


def _split_parts(headline: HeadlineResult, *, sampled: bool) -> dict[str, object]:
    """Return the SAMPLE_PARTS of a headline (``sampled``), or its other parts."""
    return {name: value for name, value in headline.items() if (name in SAMPLE_PARTS) is sampled}
