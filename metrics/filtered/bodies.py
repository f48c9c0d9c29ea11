"""Compute the bodies of filtered results from the ratings that the filter selects.

Memory: about 40 bytes a rating, and tables of bounded size (MAX_CELLS), for any number of raters
and days.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from django.db.models import Max, QuerySet

from metrics.filters import FilterChoices, RatingFilter, is_filterable_attribute
from metrics.models import FilteredResult
from metrics.results.clusters import QuestionClusters, compute_headline_clusters
from metrics.results.headline import random_sample
from metrics.scale import QuestionScale
from projects.models import Item, Project, Rater
from ratings.models import NO_CODE, Rating

from . import coefficient_body, dashboard_body, pair_bodies, rater_bodies
from .compact_values import ResultBody

MAX_ATTRIBUTE_VALUES = (
    100  # an attribute with more distinct values identifies items, not groups of items
)
MAX_UNIQUE_VALUES = 10  # up to so many values may have one item each
MAX_ATTRIBUTES = 20  # that can be filtered by
MAX_ATTRIBUTES_READ = 200  # attributes that are read

ROW = np.dtype([("item", "i8"), ("rater", "i8"), ("code", "i4"), ("day", "i4"), ("seconds", "f4")])


def compute_body(row: FilteredResult) -> Mapping[str, object]:
    """Return the body of a filtered result as plain JSON."""
    if row.kind == FilteredResult.Kind.CHOICES:
        return compute_filter_choices(row.question.project)
    scale = QuestionScale.for_question(row.question)
    rows = RatingFilter.from_spec(row.spec).filter_ratings(
        Rating.objects.filter(question=row.question, counted__gt=NO_CODE)
    )
    if row.kind == FilteredResult.Kind.ITEM_ORDER:
        return dashboard_body.compute_item_order(_load_ratings(rows, scale), scale)
    return BODIES[FilteredResult.Kind(row.kind)](row, rows, scale).to_json()


def _compute_pair(row: FilteredResult, rows: QuerySet[Any], scale: QuestionScale) -> ResultBody:
    rater_a, rater_b = row.spec["raters"]
    ratings = _load_ratings(rows.filter(rater__in=[rater_a, rater_b]), scale)
    clusters = _compute_clusters(ratings, (), scale, row.question.project)
    return pair_bodies.compute_pair_body(ratings, rater_a, rater_b, scale, clusters=clusters)


def _compute_rater(row: FilteredResult, rows: QuerySet[Any], scale: QuestionScale) -> ResultBody:
    (rater,) = row.spec["raters"]
    own_items = Rating.objects.filter(
        question=row.question, rater=rater, counted__gt=NO_CODE
    ).values("item_id")
    ratings = _load_ratings(rows.filter(item_id__in=own_items), scale)
    models = _list_models(row.question.project)
    clusters = _compute_clusters(ratings, models, scale, row.question.project)
    return rater_bodies.compute_rater_body(ratings, rater, scale, models=models, clusters=clusters)


def _compute_coefficients(
    row: FilteredResult, rows: QuerySet[Any], scale: QuestionScale
) -> ResultBody:
    project = row.question.project
    ratings, models = _load_ratings(rows, scale), _list_models(project)
    scored = None
    if score_source := row.spec.get("scores"):
        displayed = coefficient_body.select_displayed(ratings, scale, models=models)
        scored = coefficient_body.compute_scored_agreement(displayed, scale, project, score_source)
    clusters = _compute_clusters(ratings, models, scale, project)
    return coefficient_body.compute_coefficients(
        ratings, scale, models=models, clusters=clusters, scored=scored
    )


def _compute_dashboard(
    row: FilteredResult, rows: QuerySet[Any], scale: QuestionScale
) -> ResultBody:
    project, rating_filter = row.question.project, RatingFilter.from_spec(row.spec)
    ratings, models = _load_ratings(rows, scale), _list_models(project)
    n_items = None
    if rating_filter.attributes:
        n_items = rating_filter.filter_items(Item.objects.filter(project=project)).count()
    is_excluded = random_sample.build_targeted_mask(project.pk, ratings)
    selected = dashboard_body.SelectedRatings(
        ratings, np.isin(ratings["rater"], models), is_excluded & (not rating_filter.sample)
    )
    clusters = _compute_clusters(ratings, models, scale, project)
    return dashboard_body.compute_dashboard(selected, scale, clusters=clusters, n_items=n_items)


BODIES = {
    FilteredResult.Kind.DASHBOARD: _compute_dashboard,
    FilteredResult.Kind.RATER: _compute_rater,
    FilteredResult.Kind.PAIR: _compute_pair,
    FilteredResult.Kind.COEFFICIENTS: _compute_coefficients,
}


def _list_models(project: Project) -> list[int]:
    return list(project.raters.filter(kind=Rater.Kind.MODEL).values_list("pk", flat=True))


def _compute_clusters(
    ratings: np.ndarray, models: Sequence[int], scale: QuestionScale, project: Project
) -> QuestionClusters | None:
    """Return the clusters of the selected items, or None where the project has none."""
    if not project.cluster_attribute:
        return None
    is_model = np.isin(ratings["rater"], models)
    return compute_headline_clusters(ratings, is_model, scale, project)


def _load_ratings(rows: Any, scale: QuestionScale) -> np.ndarray:
    """Return the ratings (M,) as ROW, with ``code`` as the index in declared order.

    Those of retired categories are left out. One statement, so that all are of the same moment.
    """
    columns = rows.order_by().values_list(
        "item_id", "rater_id", "counted", "counted_day", "seconds"
    )
    records = (
        (*ints, np.nan if seconds is None else seconds)
        for *ints, seconds in columns.iterator(chunk_size=20_000)
    )
    ratings = np.fromiter(records, dtype=ROW)
    ratings["code"] = scale.get_code_indices(ratings["code"])
    return ratings[ratings["code"] >= 0]


def compute_filter_choices(project: Project) -> FilterChoices:
    """Return the available filter values."""
    counters: dict[str, Counter[str] | None] = {}
    for attributes in (
        Item.objects.filter(project=project).values_list("attributes", flat=True).iterator(5_000)
    ):
        if isinstance(attributes, dict):
            _count_values(counters, attributes)
    groups = Counter(project.raters.exclude(group="").values_list("group", flat=True))
    usable = {
        name: counts for name, counts in sorted(counters.items()) if counts and _has_groups(counts)
    }
    return {
        "attributes": dict(list(usable.items())[:MAX_ATTRIBUTES]),
        "groups": groups,
        "models": project.raters.filter(kind="model").exists(),
        "versions": Item.objects.filter(project=project).aggregate(n=Max("version"))["n"] or 1,
    }


def _count_values(
    counters: dict[str, Counter[str] | None], attributes: Mapping[str, object]
) -> None:
    """Count the attribute values of one item.

    The counter of an attribute with too many values becomes None.
    """
    for name, value in attributes.items():
        text = format_value(value)
        if text is None or not is_filterable_attribute(name):
            continue
        if name not in counters and len(counters) >= MAX_ATTRIBUTES_READ:
            continue
        counts = counters.setdefault(name, Counter())
        if counts is None:
            continue
        counts[text] += 1
        if len(counts) > MAX_ATTRIBUTE_VALUES:
            counters[name] = None


def _has_groups(counts: Counter[str]) -> bool:
    """Return True if the values of an attribute group items, instead of identifying them."""
    return len(counts) <= MAX_UNIQUE_VALUES or len(counts) < counts.total()


def format_value(value: object) -> str | None:
    """Return a single value as the databases write it; None if it cannot be filtered by."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value) if isinstance(value, str | int | float) else ""
    # Databases write exponents differently.
    if isinstance(value, float) and ("e" in text or "n" in text):
        return None
    return text if 0 < len(text) <= 200 and "\0" not in text else None
