"""Compute the bodies of filtered results from the ratings that the filter selects.

Memory: about 40 bytes a rating, and tables of bounded size (MAX_CELLS), for any number of raters
and days.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from django.db.models import Max

from metrics.filters import RatingFilter, is_filterable_attribute
from metrics.models import FilteredResult
from metrics.results.headline import random_sample
from metrics.scale import QuestionScale
from projects.models import Item, Project
from ratings.models import NO_CODE, Rating

from . import coefficient_body, dashboard_body, pair_bodies, rater_bodies
from .cluster_body import widen_by_clusters

MAX_ATTRIBUTE_VALUES = (
    100  # an attribute with more distinct values identifies items, not groups of items
)
MAX_UNIQUE_VALUES = 10  # up to so many values may have one item each
MAX_ATTRIBUTES = 20  # that can be filtered by
MAX_ATTRIBUTES_READ = 200  # attributes that are read

ROW = np.dtype([("item", "i8"), ("rater", "i8"), ("code", "i4"), ("day", "i4"), ("seconds", "f4")])


def compute_body(row: FilteredResult) -> dict[str, Any]:
    """Return the body of a filtered result."""
    if row.kind == FilteredResult.Kind.CHOICES:
        return compute_filter_choices(row.question.project)
    question, rating_filter = row.question, RatingFilter.from_spec(row.spec)
    scale = QuestionScale.for_question(question)
    rows = rating_filter.filter_ratings(
        Rating.objects.filter(question=question, counted__gt=NO_CODE)
    )
    if row.kind == FilteredResult.Kind.PAIR:
        rater_a, rater_b = row.spec["raters"]
        ratings = _load_ratings(rows.filter(rater__in=[rater_a, rater_b]), scale)
        body = pair_bodies.compute_pair_body(ratings, rater_a, rater_b, scale)
        return widen_by_clusters(
            body, row.kind, ratings, scale, project=question.project, models=()
        )
    of_models = question.project.raters.filter(kind="model")
    models = list(of_models.values_list("pk", flat=True))
    if row.kind == FilteredResult.Kind.RATER:
        (rater,) = row.spec["raters"]
        own_items = Rating.objects.filter(
            question=question, rater=rater, counted__gt=NO_CODE
        ).values("item_id")
        ratings = _load_ratings(rows.filter(item_id__in=own_items), scale)
        body = rater_bodies.compute_rater_body(ratings, rater, scale, models=models)
        return widen_by_clusters(
            body, row.kind, ratings, scale, project=question.project, models=models
        )
    if row.kind == FilteredResult.Kind.COEFFICIENTS:
        ratings = _load_ratings(rows, scale)
        body = coefficient_body.compute_coefficients(ratings, scale, models=models)
        if score_source := row.spec.get("scores"):
            displayed = coefficient_body.select_displayed(ratings, scale, models=models)
            body["scored"] = coefficient_body.build_score_agreement_body(
                displayed, scale, question.project, score_source
            )
        return widen_by_clusters(
            body, row.kind, ratings, scale, project=question.project, models=models
        )
    ratings = _load_ratings(rows, scale)
    if row.kind == FilteredResult.Kind.ITEM_ORDER:
        return dashboard_body.compute_item_order(ratings, scale)
    is_excluded = random_sample.build_targeted_mask(question.project_id, ratings) & (
        not rating_filter.sample
    )
    body = dashboard_body.compute_dashboard(ratings, scale, models=models, is_excluded=is_excluded)
    if rating_filter.attributes:  # otherwise all items of the project, which the page counts
        body["n_items"] = rating_filter.filter_items(
            Item.objects.filter(project=question.project)
        ).count()
    return widen_by_clusters(
        body, row.kind, ratings, scale, project=question.project, models=models
    )


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


def compute_filter_choices(project: Project) -> dict[str, Any]:
    """Return the available filter values.

    Attributes -> value -> number of items, and groups -> number of raters.
    """
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


def _count_values(counters: dict[str, Counter[str] | None], attributes: dict[str, Any]) -> None:
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


def format_value(value: Any) -> str | None:
    """Return a single value as the databases write it; None if it cannot be filtered by."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value) if isinstance(value, str | int | float) else ""
    # Databases write exponents differently.
    if isinstance(value, float) and ("e" in text or "n" in text):
        return None
    return text if 0 < len(text) <= 200 and "\0" not in text else None
