"""Available filter values of a question, which a worker collects."""

from __future__ import annotations

from metrics.filters import (
    CURRENT_VERSION,
    MAX_LISTED_VALUES,
    NO_FILTER,
    FilterChoices,
    RatingFilter,
    build_invalid_value_error,
)
from metrics.models import FilteredResult
from projects.models import Question, Rater

from . import filtered_jobs


def get_or_request_filter_choices(question: Question) -> FilterChoices | None:
    """Return the available filter values, or request them and return None."""
    row = _get_or_request_choices(question)
    return None if row.body is None else _sort_choices(row.body)


def validate_filter(question: Question, rating_filter: RatingFilter) -> None:
    """Raise BadRequest for a filter by values that do not exist, as far as these are computed."""
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
    if not rating_filter.excluded_raters:
        return
    raters = Rater.objects.filter(project=question.project_id)
    existing = raters.filter(key__in=rating_filter.excluded_raters).values_list("key", flat=True)
    if unknown := sorted({*rating_filter.excluded_raters} - {*existing}):
        allowed = raters.order_by("key").values_list("key", flat=True)
        raise build_invalid_value_error("exclude", unknown[0], allowed[: MAX_LISTED_VALUES + 1])


def _get_or_request_choices(question: Question) -> FilteredResult:
    return filtered_jobs.get_or_request_filtered_result(
        question, filtered_jobs.FilteredRequest(FilteredResult.Kind.CHOICES, NO_FILTER), version=0
    )


def _sort_choices(choices: FilterChoices) -> FilterChoices:
    """Sort the choices by name and value: PostgreSQL keeps no order in JSON."""
    attributes = {
        name: dict(sorted(values.items())) for name, values in sorted(choices["attributes"].items())
    }
    return {**choices, "attributes": attributes, "groups": dict(sorted(choices["groups"].items()))}
