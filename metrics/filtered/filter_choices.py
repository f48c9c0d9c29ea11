"""What there is to filter by. A worker gathers it; pages and the API read it."""

from __future__ import annotations

from typing import Any

from metrics.filters import CURRENT, EVERYTHING, NAMED, Filter, refused
from metrics.models import Slice
from projects.models import Question, Rater

from . import filtered_jobs


def choices(question: Question) -> dict[str, Any] | None:
    """What there is to filter by; None while that is not known."""
    row = _stored(question)
    return None if row.body is None else _in_order(row.body)


def check(question: Question, chosen: Filter) -> None:
    """Raises BadRequest for a filter by what there is not, as far as that is known."""
    _check_raters(question, chosen)
    if not (chosen.group or chosen.attributes or chosen.content not in ("", CURRENT)):
        return
    row = _stored(question)
    if row.body is not None and row.catalogue == question.project.catalogue_version:
        chosen.check(_in_order(row.body))


def _check_raters(question: Question, chosen: Filter) -> None:
    if not chosen.without:
        return
    known = Rater.objects.filter(project=question.project_id)
    found = known.filter(key__in=chosen.without).values_list("key", flat=True)
    if unknown := sorted({*chosen.without} - {*found}):
        allowed = known.order_by("key").values_list("key", flat=True)
        raise refused("without", unknown[0], allowed[: NAMED + 1])


def _stored(question: Question) -> Slice:
    return filtered_jobs.ask(
        question, filtered_jobs.Wanted(Slice.Kind.CHOICES, EVERYTHING), version=0
    )


def _in_order(body: dict[str, Any]) -> dict[str, Any]:
    """Choices by name and value: PostgreSQL keeps no order in JSON."""
    attributes = {}
    for name, values in sorted(body["attributes"].items()):
        attributes[name] = dict(sorted(values.items()))
    return body | {"attributes": attributes, "groups": dict(sorted(body["groups"].items()))}
