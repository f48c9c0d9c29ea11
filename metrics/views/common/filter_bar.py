"""The filter of a page as people see it: what there is to choose, and what is chosen, each with the
way to undo it."""

from __future__ import annotations

import datetime
import zoneinfo
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Max
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from metrics.filtered import filter_choices
from metrics.filters import CURRENT, EVERY, ITEM, RANDOM, Filter, one_line
from metrics.models import Reading, Span
from projects.models import Project, QueueOrder, Rater

from .selection import Selection

NOTHING: dict[str, Any] = {"attributes": {}, "groups": {}, "models": False}
VERSIONS = 20  # of items' contents that can be chosen from
PRESETS = (7, 30)  # the last days
NAMED_RATERS = 5  # so many who are left out are named
_NAMES = ("from", "to", "kind", "group", "content", "without", "drawn")
_DRAWN = {RANDOM: gettext_lazy("drawn at random"), EVERY: gettext_lazy("all, however chosen")}
PASSING = ("page", "sort")  # what an address says of a list that another filter does not have


@dataclass(frozen=True)
class Choice:
    """A select of the bar: its parameter, its name for people, what is chosen, and the options with
    how many."""

    name: str
    words: str
    chosen: str
    options: list[tuple[str, str]]


@dataclass(frozen=True)
class Chip:
    """One part of the filter, and the address of the page without it. ``name``: its field, where it
    has one; there it is taken away in wide windows."""

    words: str
    without: str
    name: str = ""


@dataclass(frozen=True)
class Preset:
    """Days that are often asked for, and the address of the page with them."""

    words: str
    url: str
    chosen: bool


@dataclass(frozen=True)
class FilterBar:
    chips: list[Chip]
    presets: list[Preset]
    choices: list[Choice]
    kept: list[tuple[str, str]]  # what else the address says
    cleared: str

    @property
    def fields(self) -> list[tuple[Choice, Chip | None]]:
        """The selects, each with what takes its choice away."""
        return [(choice, self._chip(choice.name)) for choice in self.choices]

    @property
    def days(self) -> list[Chip | None]:
        """What takes away the first day, and the last one."""
        return [self._chip("from"), self._chip("to")]

    def _chip(self, name: str) -> Chip | None:
        return next((chip for chip in self.chips if chip.name == name), None)

    @classmethod
    def of(cls, request: HttpRequest, chosen: Selection) -> FilterBar:
        known = filter_choices.choices(chosen.question) or NOTHING
        mine = chosen.filter.parameters
        kept = [
            (name, str(value))
            for name, value in request.GET.dict().items()
            if not _filters(name) and name not in PASSING
        ]
        chips = [
            Chip(_words(name, value), _without(request, name), name) for name, value in mine.items()
        ]
        if left_out := chosen.filter.without:
            kept.append(("without", mine["without"]))  # a part of the filter without a field
            chips = [chip for name, chip in zip(mine, chips, strict=True) if name != "without"]
            chips += _left_out(request, left_out)
        return cls(
            chips,
            _presets(request, chosen),
            _choices(chosen, known),
            kept,
            _without(request, *mine),
        )


def nothing_chosen(chosen: Selection) -> str:
    """What is said of a filter that chooses no rating: which days, and how old the newest is."""
    days = Filter(first=chosen.filter.first, last=chosen.filter.last)
    said = _("No rating is of this choice.")
    if chosen.filter == days and days.last is None:
        said = _nothing_since(chosen.project, days.first)
    elif chosen.filter == days:
        said = _("No ratings in these days.")
    rows = Reading.objects.filter(question=chosen.question, span=Span.DAY)
    newest = rows.aggregate(newest=Max("start"))["newest"]
    if newest is None:
        return said
    return f"{said} {_('The newest of all ratings is of %(day)s.') % {'day': newest.isoformat()}}"


def _nothing_since(project: Project, first: datetime.date | None) -> str:
    for n, day in _last_days(project):
        if day == first:
            return _("No ratings in the last %(n)s days.") % {"n": n}
    return _("No ratings since %(day)s.") % {"day": first}


def _last_days(project: Project) -> list[tuple[int, datetime.date]]:
    """So many days up to today, and the first of them; days are the project's."""
    today = timezone.localdate(timezone=zoneinfo.ZoneInfo(project.time_zone))
    return [(n, today - datetime.timedelta(days=n - 1)) for n in PRESETS]


def _presets(request: HttpRequest, chosen: Selection) -> list[Preset]:
    """The last days, and those since the guidelines were changed."""
    zone = zoneinfo.ZoneInfo(chosen.project.time_zone)
    offered = [(_("%(n)s days") % {"n": n}, first) for n, first in _last_days(chosen.project)]
    if chosen.project.guidelines_version > 1:  # the first were there from the beginning
        newest = chosen.project.guideline_versions.values_list("number", "made_at").last()
        if newest is not None:
            number, made_at = newest
            since = timezone.localdate(made_at, timezone=zone)
            offered.append((_("since guidelines %(n)s") % {"n": number}, since))
    found = []
    for words, first in offered:
        query = request.GET.copy()
        for name in ("to", *PASSING):
            query.pop(name, None)
        query["from"] = first.isoformat()
        mine = chosen.filter.first == first and chosen.filter.last is None
        found.append(Preset(words, f"{request.path}?{query.urlencode()}", mine))
    return found


def _filters(name: str) -> bool:
    return name in _NAMES or name.startswith(ITEM)


def _without(request: HttpRequest, *names: str) -> str:
    query = request.GET.copy()
    for name in (*names, *PASSING):
        query.pop(name, None)
    return f"{request.path}?{query.urlencode()}"


def _left_out(request: HttpRequest, keys: tuple[str, ...]) -> list[Chip]:
    """A chip for each rater who is left out, or one for many of them."""
    everybody = _without(request, "without")
    joint = "" if everybody.endswith("?") else "&"
    if len(keys) > NAMED_RATERS:
        return [Chip(_("without %(n)s raters") % {"n": len(keys)}, everybody)]
    if len(keys) == 1:
        return [Chip(_("without %(rater)s") % {"rater": keys[0]}, everybody)]
    chips = []
    for key in keys:
        others = urlencode({"without": one_line(other for other in keys if other != key)})
        chips.append(Chip(_("without %(rater)s") % {"rater": key}, f"{everybody}{joint}{others}"))
    return chips


def _words(name: str, value: str) -> str:
    known: dict[str, Callable[[], str]] = {
        "from": lambda: _("from %(day)s") % {"day": value},
        "to": lambda: _("to %(day)s") % {"day": value},
        "kind": lambda: _("only models") if value == Rater.Kind.MODEL else _("only people"),
        "group": lambda: _("group: %(group)s") % {"group": value},
        "content": lambda: _content(value),
        "drawn": lambda: str(_DRAWN[value]),
    }
    return known[name]() if name in known else f"{name.removeprefix(ITEM)}: {value}"


def _content(value: str) -> str:
    if value == CURRENT:
        return _("of today's content of items")
    return _("of version %(n)s of items") % {"n": value}


def _choices(chosen: Selection, known: dict[str, Any]) -> list[Choice]:
    """What stands to choice, and what is chosen even where nothing else does."""
    mine = chosen.filter
    found = []
    if known["models"] or mine.kind:
        kinds = [("human", _("people")), ("model", _("models"))]
        found.append(Choice("kind", _("Raters"), mine.kind, kinds))
    if known["groups"] or mine.group:
        found.append(Choice("group", _("Group"), mine.group, _options(known["groups"], mine.group)))
    if known.get("versions", 1) > 1 or mine.content:
        numbers = [str(n) for n in range(1, min(known.get("versions", 1), VERSIONS) + 1)]
        values = dict.fromkeys([CURRENT, *numbers, *([mine.content] if mine.content else [])])
        options = [(value, _content(value)) for value in values]
        found.append(Choice("content", _("Content"), mine.content, options))
    if mine.drawn or chosen.project.queue_order == QueueOrder.LABELS:
        ways = [(value, str(said)) for value, said in _DRAWN.items()]
        found.append(Choice("drawn", _("Items"), mine.drawn, ways))
    own = dict(mine.attributes)
    for name in dict.fromkeys((*own, *known["attributes"])):
        counts = known["attributes"].get(name, {})
        if len(counts) > 1 or name in own:
            found.append(
                Choice(
                    f"{ITEM}{name}", name, own.get(name, ""), _options(counts, own.get(name, ""))
                )
            )
    return found


def _options(known: dict[str, int], chosen: str) -> list[tuple[str, str]]:
    values = dict.fromkeys((*known, *([chosen] if chosen else [])))
    return [(value, value if len(value) <= 40 else f"{value[:39]}…") for value in values]
