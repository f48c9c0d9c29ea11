"""What there is to filter by. A worker gathers it; pages read it."""

from __future__ import annotations

from typing import Any

from metrics.filters import Filter
from metrics.models import Slice
from metrics.on_request import slices

from .selection import Selection


def choices(chosen: Selection) -> dict[str, Any] | None:
    """What there is to filter by; None while that is not known."""
    row = _stored(chosen)
    return None if row.body is None else _in_order(row.body)


def check(chosen: Selection) -> None:
    """Raises BadRequest for a filter by what there is not, as far as that is known."""
    if not (chosen.filter.group or chosen.filter.attributes):
        return
    row = _stored(chosen)
    if row.body is not None and row.catalogue == chosen.project.catalogue_version:
        chosen.filter.check(_in_order(row.body))


def _stored(chosen: Selection) -> Slice:
    return slices.ask(chosen.question, slices.Wanted(Slice.Kind.CHOICES, Filter()), version=0)


def _in_order(body: dict[str, Any]) -> dict[str, Any]:
    """Choices by name and value: PostgreSQL keeps no order in JSON."""
    attributes = {}
    for name, values in sorted(body["attributes"].items()):
        attributes[name] = dict(sorted(values.items()))
    return body | {"attributes": attributes, "groups": dict(sorted(body["groups"].items()))}
