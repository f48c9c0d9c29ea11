"""Stored forms of results as JSON, and builders of Values that no Estimate provides.

A stored headline may be merged with that of the random sample (results.headline.random_sample).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NotRequired, TypedDict, cast

from metrics.agreement.coefficients.intraclass.icc import Icc
from metrics.agreement.estimate import Value

Values = dict[str, Value]  # by the name of the coefficient


class CategoryAgreement(TypedDict):
    """The number of ratings of a category, and the agreement on it versus the other categories."""

    label: str
    ratings: int
    agreement: Value


class ResultDetails(TypedDict, total=False):
    """The numbers of a result besides its coefficients; empty before anything is counted."""

    by_ratings: dict[str, int]  # items by their number of ratings
    rated: int
    with_two_or_more: int
    categories: list[CategoryAgreement]


class RandomSample(TypedDict):
    """Numbers of ratings in and outside the random sample, and the coefficients of the sample."""

    n_ratings: int
    left_out: int
    coefficients: NotRequired[Values]  # reports store them elsewhere


class HeadlineResult(TypedDict, total=False):
    """A headline: the choice of the coefficient, and its values (results.headline).

    ``unweighted``: the same coefficient without weights, if weights change it. ``values``:
    intraclass correlations of complete items. Where models are separate, `all`, `people`, `models`
    and `between` are the same coefficient of each group, and `coefficients` all those of people.
    If the headline is based on the random sample, `sample` describes it, and `pooled` holds the
    replaced parts of the headline of all ratings.
    """

    name: str
    why: str
    trend_coefficient: str
    companions: list[str]
    population: str
    n_people: int
    n_models: int
    complete: bool
    weights: str
    value: Value
    unweighted: Value
    values: Values
    spread_of_means: float
    all: Value
    people: Value
    models: Value
    between: Value
    coefficients: Values
    sample: RandomSample
    pooled: HeadlineResult
    replaces: str  # of the parts of a sample: the name of the headline that they belong to


def build_uncounted_value() -> Value:
    """Return the Value of a coefficient before its ratings are counted."""
    return build_value(None, "not_counted", n_items=0, n_ratings=0)


def build_undefined_value(reason: str) -> Value:
    """Return the Value of a coefficient that is undefined for this reason."""
    return build_value(None, reason, n_items=0, n_ratings=0)


def build_icc_value(icc: Icc, *, n_items: int, n_ratings: int) -> Value:
    """Return the Value of an intraclass correlation of complete items, with its F interval.

    ``n_items``, ``n_ratings``: of these items. An undefined correlation keeps its reason.
    """
    limits = icc.ci_low, icc.ci_high
    return build_value(icc.value, icc.reason, n_items=n_items, n_ratings=n_ratings, limits=limits)


def build_pair_mean_value(
    mean: float | None, n_pairs: int, *, undefined_reason: str = "no_pairable_items"
) -> Value:
    """Return the Value of the mean kappa of ``n_pairs`` pairs.

    Without pairs ``mean`` is None, and the Value is undefined for ``undefined_reason``.
    """
    value = build_value(mean, None if n_pairs else undefined_reason, n_items=None, n_ratings=None)
    value["n_pairs"] = n_pairs
    return value


def get_number(values: Mapping[str, Value], name: str) -> float | None:
    """Return the number of a coefficient; None where it is undefined or missing."""
    return values[name]["value"] if name in values else None


def copy_sample_sizes(values: Mapping[str, Value], source: Value) -> Values:
    """Return the values by name, each with the numbers of items and ratings of ``source``."""
    n_items, n_ratings = source["n_items"], source["n_ratings"]
    return {
        name: {**value, "n_items": n_items, "n_ratings": n_ratings}
        for name, value in values.items()
    }


def build_value(
    value: float | None,
    reason: str | None,
    *,
    n_items: int | None,
    n_ratings: int | None,
    limits: tuple[float | None, float | None] = (None, None),
) -> Value:
    """Return a Value without standard error and chance agreement.

    ``reason``: why ``value`` is None, or None; ``limits``: the lower and the upper one of its
    interval.
    """
    return {
        "value": value,
        "low": limits[0],
        "high": limits[1],
        "se": None,
        "observed": None,
        "expected": None,
        "n_items": n_items,
        "n_ratings": n_ratings,
        "reason": reason,
    }


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
