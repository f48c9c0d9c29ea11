"""On-demand jobs that compute results of a filter, and its available values, from the ratings.

They are stored in rows (core.jobs.on_demand).
"""

from __future__ import annotations

import datetime
import hashlib
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import OperationalError
from django.db.models import Max, QuerySet
from django.utils import timezone

from core.jobs.on_demand import OnDemandJob, delete_least_recently_requested
from metrics.counting.store import encode_json
from metrics.filtered import coefficient_results, dashboard_results, pair_results, rater_results
from metrics.filters import (
    CURRENT_VERSION,
    EVERY_KIND,
    MAX_LISTED_VALUES,
    NO_FILTER,
    FilterChoices,
    RatingFilter,
    build_invalid_value_error,
    is_filterable_attribute,
)
from metrics.models import CountState, FilteredResult
from metrics.question_scale import QuestionScale
from metrics.results.headline import random_sample
from metrics.results.intervals import (
    QuestionClusters,
    compute_headline_clusters,
    find_cluster_numbers,
)
from projects.models import Item, Project, Question, Rater
from ratings.models import NO_CODE, Rating

from .compact_values import StoredResults

MAX_ATTRIBUTE_VALUES = (
    100  # an attribute with more distinct values identifies items, not groups of items
)
MAX_UNIQUE_VALUES = 10  # up to so many values may have one item each
MAX_ATTRIBUTES = 20  # that can be filtered by
MAX_ATTRIBUTES_READ = 200  # attributes that are read

ROW = np.dtype([("item", "i8"), ("rater", "i8"), ("code", "i4"), ("day", "i4"), ("seconds", "f4")])


def compute_body(row: FilteredResult) -> Mapping[str, object]:
    """Return the results of a filter as plain JSON."""
    if row.kind == FilteredResult.Kind.CHOICES:
        return compute_filter_choices(row.question.project)
    scale = QuestionScale.for_question(row.question)
    rows = RatingFilter.from_spec(row.spec).filter_ratings(
        Rating.objects.filter(question=row.question, counted__gt=NO_CODE)
    )
    if row.kind == FilteredResult.Kind.ITEM_ORDER:
        return dashboard_results.compute_item_order(_load_ratings(rows, scale), scale)
    return BODIES[FilteredResult.Kind(row.kind)](row, rows, scale).to_json()


def _compute_pair(row: FilteredResult, rows: QuerySet[Any], scale: QuestionScale) -> StoredResults:
    """Compute the results of the filter's two raters from its ratings (``rows``)."""
    rater_a, rater_b = row.spec["raters"]
    ratings = _load_ratings(rows.filter(rater__in=[rater_a, rater_b]), scale)
    _numbers, clusters = _compute_clusters(ratings, (), scale, row.question.project)
    return pair_results.compute_pair_results(ratings, rater_a, rater_b, scale, clusters=clusters)


def _compute_rater(row: FilteredResult, rows: QuerySet[Any], scale: QuestionScale) -> StoredResults:
    """Compute the results of the filter's rater from the ratings (``rows``) of their items."""
    (rater,) = row.spec["raters"]
    own_items = Rating.objects.filter(
        question=row.question, rater=rater, counted__gt=NO_CODE
    ).values("item_id")
    ratings = _load_ratings(rows.filter(item_id__in=own_items), scale)
    models = _list_separate_models(row)
    _numbers, clusters = _compute_clusters(ratings, models, scale, row.question.project)
    return rater_results.compute_rater_results(
        ratings, rater, scale, models=models, clusters=clusters
    )


def _compute_coefficients(
    row: FilteredResult, rows: QuerySet[Any], scale: QuestionScale
) -> StoredResults:
    """Compute all coefficients of the filter's ratings (``rows``), and of scores if requested."""
    project = row.question.project
    ratings, models = _load_ratings(rows, scale), _list_separate_models(row)
    scored = None
    if score_source := row.spec.get("scores"):
        displayed = coefficient_results.select_displayed(ratings, scale, models=models)
        scored = coefficient_results.compute_scored_agreement(
            displayed, scale, project, score_source
        )
    _numbers, clusters = _compute_clusters(ratings, models, scale, project)
    return coefficient_results.compute_coefficients(
        ratings, scale, models=models, clusters=clusters, scored=scored
    )


def _compute_dashboard(
    row: FilteredResult, rows: QuerySet[Any], scale: QuestionScale
) -> StoredResults:
    """Compute the results of a dashboard from the filter's ratings (``rows``)."""
    project, rating_filter = row.question.project, RatingFilter.from_spec(row.spec)
    ratings, models = _load_ratings(rows, scale), _list_separate_models(row)
    n_items = None
    if rating_filter.attributes:
        n_items = rating_filter.filter_items(Item.objects.filter(project=project)).count()
    is_excluded = random_sample.build_targeted_mask(project.pk, ratings)
    cluster_numbers, clusters = _compute_clusters(ratings, models, scale, project)
    selected = dashboard_results.SelectedRatings(
        ratings,
        np.isin(ratings["rater"], models),
        is_excluded & (not rating_filter.sample),
        cluster_numbers,
    )
    return dashboard_results.compute_dashboard(selected, scale, clusters=clusters, n_items=n_items)


BODIES = {
    FilteredResult.Kind.DASHBOARD: _compute_dashboard,
    FilteredResult.Kind.RATER: _compute_rater,
    FilteredResult.Kind.PAIR: _compute_pair,
    FilteredResult.Kind.COEFFICIENTS: _compute_coefficients,
}


def _list_separate_models(row: FilteredResult) -> list[int]:
    """Return the ids of models, whose results are separate from people's; none for EVERY_KIND."""
    if row.spec.get("kind") == EVERY_KIND:
        return []
    models = row.question.project.raters.filter(kind=Rater.Kind.MODEL)
    return list(models.values_list("pk", flat=True))


def _compute_clusters(
    ratings: np.ndarray, models: Sequence[int], scale: QuestionScale, project: Project
) -> tuple[np.ndarray | None, QuestionClusters | None]:
    """Return the cluster number of each rating's item (M,), and what clusters do to intervals.

    Both are None where the project has no clusters. ``models``: ids of separate models.
    """
    numbers = find_cluster_numbers(ratings["item"], project)
    if numbers is None:
        return None, None
    is_model = np.isin(ratings["rater"], models)
    return numbers, compute_headline_clusters(
        ratings, numbers, is_model, scale, attribute=project.cluster_attribute
    )


def _load_ratings(rows: Any, scale: QuestionScale) -> np.ndarray:
    """Return the ratings (M,) as ROW, with ``code`` as the index in declared order.

    Ratings of retired categories are left out. One query reads all, so that they are of the same
    moment.
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
    """Return True if an attribute groups items: it has few values, or items that share a value."""
    return len(counts) <= MAX_UNIQUE_VALUES or len(counts) < counts.total()


def format_value(value: object) -> str | None:
    """Return a single value as the databases write it; None if it cannot be used in a filter."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value) if isinstance(value, str | int | float) else ""
    # Databases write exponents differently.
    if isinstance(value, float) and ("e" in text or "n" in text):
        return None
    return text if 0 < len(text) <= 200 and "\0" not in text else None


logger = logging.getLogger(__name__)

BODY_FORMAT = 7  # so that no page reads a body that an older release wrote
MAX_STORED = 40  # for a question


@dataclass(frozen=True)
class FilteredRequest:
    """A request for a filtered result: its kind, the filter, up to two raters, and scores."""

    kind: str
    filter: RatingFilter
    raters: tuple[int, ...] = ()
    scores: str = ""  # source of the categories' scores (metrics.results.other_weights)

    @property
    def spec(self) -> dict[str, object]:
        """The filter, raters and scores as plain JSON."""
        spec = self.filter.spec | ({"raters": list(self.raters)} if self.raters else {})
        return spec | ({"scores": self.scores} if self.scores else {})

    @property
    def key(self) -> str:
        """Hash that identifies the stored result."""
        return hashlib.sha256(
            encode_json([BODY_FORMAT, self.kind, sorted(self.spec.items())]).encode()
        ).hexdigest()


def get_or_request_filtered_result(
    question: Question, request: FilteredRequest, *, version: int
) -> FilteredResult:
    """Return the stored result, or request it; request a stale one again.

    ``version``: the current CountState.version. The body, which may be large, is loaded when it is
    accessed; that of filter choices immediately. If the database is full or busy, nothing is
    requested and no error raised: the page shows what is stored, and requests again later.
    """
    rows = FilteredResult.objects.filter(question=question, key=request.key)
    if request.kind != FilteredResult.Kind.CHOICES:
        rows = rows.defer("body")
    row = rows.first()
    try:
        if row is None:
            return _request_new(question, request)
        project_version = question.project.items_and_raters_version
        FILTERED_RESULT_JOB.request_refresh(
            row, is_stale=lambda: not row.is_based_on(version, project_version)
        )
    except OperationalError as error:
        logger.warning(
            "filtered result %s of question %s not requested (%s)", request.kind, question.pk, error
        )
    return row or FilteredResult(
        question=question,
        key=request.key,
        kind=request.kind,
        spec=request.spec,
        requested_at=timezone.now(),
    )


def _request_new(question: Question, request: FilteredRequest) -> FilteredResult:
    """Create the row of a first request and start its task; delete results beyond MAX_STORED."""
    row, is_new = FILTERED_RESULT_JOB.get_or_start(
        question=question,
        key=request.key,
        defaults={"kind": request.kind, "spec": request.spec},
    )
    if is_new:
        # The filter choices are kept: every filtered page needs them.
        deletable = FilteredResult.objects.filter(question=question).exclude(
            kind=FilteredResult.Kind.CHOICES
        )
        delete_least_recently_requested(deletable, keep=MAX_STORED)
    return row


def _compute_fields(row: FilteredResult) -> dict[str, object]:
    """Return the columns to store for a request: the body, and the versions that it is based on."""
    # Read before computing: if counting goes on meanwhile, the body is marked stale.
    version = (
        0 if row.kind == FilteredResult.Kind.CHOICES else CountState.get_version(row.question_id)
    )
    return {
        "body": compute_body(row),
        "version": version,
        "items_and_raters_version": row.question.project.items_and_raters_version,
    }


FILTERED_RESULT_JOB = OnDemandJob(
    rows=FilteredResult.objects.select_related("question__project").defer("body"),
    result_field="body",
    task_name="metrics.tasks.compute_filtered_result",
    compute_result=_compute_fields,
    min_cooldown=datetime.timedelta(seconds=2),
    expires_after=datetime.timedelta(hours=1),
)


def get_or_request_filter_choices(question: Question) -> FilterChoices | None:
    """Return the available filter values, or request them and return None."""
    row = _get_or_request_choices(question)
    return None if row.body is None else _sort_choices(row.body)


def validate_filter(question: Question, rating_filter: RatingFilter) -> None:
    """Raise BadRequest for a filter by values that do not exist.

    Until a worker has computed the current values, only raters are validated.
    """
    _validate_raters(question, rating_filter)
    if not (
        rating_filter.group
        or rating_filter.attributes
        or rating_filter.content_version not in ("", CURRENT_VERSION)
    ):
        return
    row = _get_or_request_choices(question)
    if (
        row.body is not None
        and row.items_and_raters_version == question.project.items_and_raters_version
    ):
        rating_filter.validate(_sort_choices(row.body))


def _validate_raters(question: Question, rating_filter: RatingFilter) -> None:
    """Raise BadRequest if the filter excludes a rater that the project does not have."""
    if not rating_filter.excluded_raters:
        return
    raters = Rater.objects.filter(project=question.project_id)
    existing = raters.filter(key__in=rating_filter.excluded_raters).values_list("key", flat=True)
    if unknown := sorted({*rating_filter.excluded_raters} - {*existing}):
        allowed = raters.order_by("key").values_list("key", flat=True)
        raise build_invalid_value_error("exclude", unknown[0], allowed[: MAX_LISTED_VALUES + 1])


def _get_or_request_choices(question: Question) -> FilteredResult:
    """Return the row of the question's filter choices; its body is None until it is computed."""
    return get_or_request_filtered_result(
        question, FilteredRequest(FilteredResult.Kind.CHOICES, NO_FILTER), version=0
    )


def _sort_choices(choices: FilterChoices) -> FilterChoices:
    """Sort the choices by name and value: PostgreSQL keeps no order in JSON."""
    attributes = {
        name: dict(sorted(values.items())) for name, values in sorted(choices["attributes"].items())
    }
    return {**choices, "attributes": attributes, "groups": dict(sorted(choices["groups"].items()))}
