"""What a project must be, and how a change that the rules do not allow is refused."""

from __future__ import annotations

import functools
import zoneinfo
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from core.text import has_nul
from projects.models import BandScheme, QueueOrder

MOST_OVERLAP = 1000
MOST_TEXT = 200_000  # characters of a description or of guidelines
# Whole numbers that a project may have, from and to.
BOUNDS = {
    "gold_percent": (0, 50),
    "repeat_percent": (0, 20),
    "repeat_after_items": (10, 10_000),
    "repeat_after_days": (0, 365),
}


_NEEDS_RANDOM = _lazy(
    "In a fixed order it would be seen which items test a rater: choose the random order, or 0."
)


class Refused(ValueError):
    """The rules do not allow this change, and nothing was changed.

    ``fields`` maps each place to what is wrong there: a message, or place -> field -> message (as
    in question_rules).
    """

    def __init__(self, fields: dict[str, Any]) -> None:
        super().__init__("; ".join(_messages(fields)))
        self.fields = fields


def _messages(fields: dict[str, Any]) -> list[str]:
    return [
        message
        for found in fields.values()
        for message in (_messages(found) if isinstance(found, dict) else [str(found)])
    ]


@functools.cache
def time_zones() -> tuple[str, ...]:
    """The names of the zones that a project may have, in order."""
    return tuple(sorted(zoneinfo.available_timezones() - {"Factory", "localtime"}))


def zone_named(typed: str) -> str:
    """The zone of this name, however its letters are typed; what no zone is called stays."""
    typed = typed.strip()
    return {name.casefold(): name for name in time_zones()}.get(typed.casefold(), typed)


def problems_of(
    *,
    name: str,
    description: str = "",
    guidelines: str = "",
    overlap: int = 3,
    time_zone: str = "UTC",
    band_scheme: str = BandScheme.LANDIS_KOCH,
    bar: float | None = None,
    queue_order: str = QueueOrder.FIXED,
    **numbers: int,
) -> dict[str, Any]:
    """Field name -> message; empty when all is well. ``numbers`` are those of BOUNDS."""
    found = {}
    if not name.strip() or len(name) > 200 or not name.isprintable():
        found["name"] = _("A name of 1 to 200 characters is needed, without control characters.")
    for place, text in (("description", description), ("guidelines", guidelines)):
        if has_nul(text) or len(text) > MOST_TEXT:
            found[place] = _("A text of %(most)s characters at most, without NUL.") % {
                "most": MOST_TEXT
            }
    if not 1 <= overlap <= MOST_OVERLAP:
        found["overlap"] = _("Ratings wanted per item: a whole number from 1 to %(most)s.") % {
            "most": MOST_OVERLAP
        }
    if band_scheme not in BandScheme.values:
        found["band_scheme"] = _("'%(found)s' is not known; one of %(allowed)s.") % {
            "found": str(band_scheme)[:40],
            "allowed": ", ".join(BandScheme.values),
        }
    if bar is not None and not 0 < bar <= 1:
        found["bar"] = _("A bar lies above 0 and is 1 at most.")
    if time_zone not in time_zones():
        found["time_zone"] = _(
            "'%(zone)s' is no time zone; names look like Europe/Berlin, Asia/Shanghai or UTC."
        ) % {"zone": str(time_zone)[:64]}
    return found | _problems_of_tests(queue_order, numbers)


def _problems_of_tests(queue_order: str, numbers: dict[str, int]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for place, number in numbers.items():
        lowest, highest = BOUNDS[place]
        if not lowest <= number <= highest:
            found[place] = _("A whole number from %(lowest)s to %(highest)s.") % {
                "lowest": lowest,
                "highest": highest,
            }
        elif queue_order == QueueOrder.FIXED and place.endswith("_percent") and number:
            found[place] = _NEEDS_RANDOM
    return found


def check(**fields: Any) -> None:
    """Raises Refused when a project may not be like this."""
    if found := problems_of(**fields):
        raise Refused(found)
