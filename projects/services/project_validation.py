"""Validate the settings of a project."""

from __future__ import annotations

import functools
import zoneinfo
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from core.text import (
    describe_invalid_choice,
    describe_length,
    describe_line,
    describe_whole_range,
    has_control_character,
    has_nul,
)
from projects.models import BandScheme, QueueOrder

MAX_OVERLAP = 1000
MAX_ATTRIBUTE_LENGTH = 100  # characters; for the attribute of clusters
MAX_TAGS = 10
MAX_TAG_LENGTH = 50  # characters
MAX_TAGS_LENGTH = MAX_TAGS * (MAX_TAG_LENGTH + len(", "))  # of Project.tags
MAX_TEXT_LENGTH = 200_000  # characters; for the description and the guidelines
# Integer settings: (lowest, highest).
QUALITY_CHECK_BOUNDS = {
    "gold_percent": (0, 50),
    "repeat_percent": (0, 20),
    "repeat_after_items": (10, 10_000),
    "repeat_after_days": (0, 365),
}


_NEEDS_RANDOM = _lazy("A fixed order reveals test items: choose a random one, or 0.")


class InvalidProjectChange(ValueError):
    """The change is not valid, and nothing was changed.

    ``fields``: {field: message, or {index: {field: message}} as in question_validation}.
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        super().__init__("; ".join(flatten_messages(fields)))
        self.fields = fields


def flatten_messages(fields: Mapping[str, Any]) -> list[str]:
    """Return all messages of {field: message}; values may be nested dicts of the same form."""
    return [
        message
        for errors in fields.values()
        for message in (flatten_messages(errors) if isinstance(errors, dict) else [str(errors)])
    ]


@functools.cache
def list_time_zones() -> tuple[str, ...]:
    """Return the names of the allowed time zones, sorted."""
    return tuple(sorted(zoneinfo.available_timezones() - {"Factory", "localtime"}))


def normalize_time_zone(name: str) -> str:
    """Return the official spelling of a time zone's name; an unknown name unchanged."""
    name = name.strip()
    return {zone.casefold(): zone for zone in list_time_zones()}.get(name.casefold(), name)


def normalize_tags(text: str) -> str:
    """Return the tags of ``text``, separated by ", ", without empty and repeated ones."""
    tags = (" ".join(tag.split()) for tag in text.replace("，", ",").split(","))
    return ", ".join({tag.casefold(): tag for tag in tags if tag}.values())


def find_project_problems(
    *,
    name: str,
    description: str = "",
    guidelines: str = "",
    overlap: int = 3,
    time_zone: str = "UTC",
    band_scheme: str = BandScheme.LANDIS_KOCH,
    target_agreement: float | None = None,
    queue_order: str = QueueOrder.FIXED,
    **numbers: int,
) -> dict[str, str]:
    """Return {field: message} of the invalid settings; empty when all are valid.

    ``numbers``: settings in QUALITY_CHECK_BOUNDS.
    """
    problems = {}
    if not name.strip() or len(name) > 200 or not name.isprintable():
        problems["name"] = describe_line(200)
    for field, text in (("description", description), ("guidelines", guidelines)):
        if has_nul(text) or len(text) > MAX_TEXT_LENGTH:
            problems[field] = describe_length(MAX_TEXT_LENGTH)
    if not 1 <= overlap <= MAX_OVERLAP:
        problems["overlap"] = describe_whole_range(1, MAX_OVERLAP)
    if band_scheme not in BandScheme.values:
        problems["band_scheme"] = describe_invalid_choice(band_scheme, BandScheme.values)
    if target_agreement is not None and not 0 < target_agreement <= 1:
        problems["target_agreement"] = _("The target must be above 0, at most 1.")
    if time_zone not in list_time_zones():
        problems["time_zone"] = _("Use a time zone like Europe/Berlin.")
    return problems | _find_quality_check_problems(queue_order, numbers)


def _find_quality_check_problems(queue_order: str, numbers: dict[str, int]) -> dict[str, str]:
    problems = {}
    for field, number in numbers.items():
        lowest, highest = QUALITY_CHECK_BOUNDS[field]
        if not lowest <= number <= highest:
            problems[field] = describe_whole_range(lowest, highest)
        elif queue_order == QueueOrder.FIXED and field.endswith("_percent") and number:
            problems[field] = str(_NEEDS_RANDOM)
    return problems


def validate_project(*, cluster_attribute: str = "", tags: str = "", **fields: Any) -> None:
    """Raise InvalidProjectChange if these settings of a project are not valid."""
    problems = find_project_problems(**fields)
    if len(cluster_attribute) > MAX_ATTRIBUTE_LENGTH or has_control_character(cluster_attribute):
        problems["cluster_attribute"] = describe_line(MAX_ATTRIBUTE_LENGTH)
    names = tags.split(", ")
    is_too_long = len(names) > MAX_TAGS or max(map(len, names)) > MAX_TAG_LENGTH
    if is_too_long or not tags.isprintable():
        problems["tags"] = _("At most %(n)s tags of at most %(length)s characters.") % {
            "n": MAX_TAGS,
            "length": MAX_TAG_LENGTH,
        }
    if problems:
        raise InvalidProjectChange(problems)
