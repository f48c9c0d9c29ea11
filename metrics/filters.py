"""Which ratings a page is narrowed to: the filter in the address, what it may say, and the ratings
that it chooses.

A filter chooses ratings: those which these raters gave in this time on these items. Everything on a
filtered page is computed from the chosen ratings alone, as if there were no others.
"""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import BadRequest
from django.db.models import Exists, F, OuterRef, Q, QuerySet, TextField
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast
from django.http import QueryDict
from django.utils.translation import gettext as _

from core.text import has_control
from projects.models import Rater
from ratings.models import Assignment
from ratings.services.days import EPOCH

ITEM = "item."  # the parameter item.language=de chooses items by their attribute "language"
MOST_ATTRIBUTES = 3
RANDOM, EVERY = "random", "all"  # of how items came to their raters
DRAWN = (RANDOM, EVERY)
CURRENT = "current"  # of the versions of an item's content
MOST_VERSIONS = 1_000
LONGEST_NAME = 100
LONGEST_VALUE = 200
MOST_LEFT_OUT = 100  # raters
NAMED = 20  # so many allowed values are named in a refusal


@dataclass(frozen=True)
class Filter:
    """``first`` and ``last``: days, both within. ``content``: the number of a version of the item's
    content under which it was rated, or CURRENT. ``without``: keys of raters who are left out, in
    order. ``drawn``: RANDOM for the ratings alone that nobody was asked for because of what others
    had said; EVERY for all, in what is read first too, which else rests on the former. Empty texts
    and dates choose everything."""

    first: datetime.date | None = None
    last: datetime.date | None = None
    kind: str = ""
    group: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    content: str = ""
    without: tuple[str, ...] = ()
    drawn: str = ""

    def __bool__(self) -> bool:
        return self != Filter()

    @classmethod
    def of(cls, given: QueryDict) -> Filter:
        """The filter of an address. Raises BadRequest in plain words for what cannot be one."""
        kind = given.get("kind") or ""
        if kind and kind not in Rater.Kind.values:
            raise refused("kind", kind, Rater.Kind.values)
        first, last = _date(given, "from"), _date(given, "to")
        if first and last and first > last:
            raise BadRequest(_("“from” must not be later than “to”."))
        attributes = tuple(
            (name.removeprefix(ITEM), value)
            for name in sorted(given)
            if name.startswith(ITEM) and (value := given.get(name) or "")
        )
        if len(attributes) > MOST_ATTRIBUTES:
            raise BadRequest(
                _("At most %(n)s attributes of items can be chosen at once.")
                % {"n": MOST_ATTRIBUTES}
            )
        for name, value in attributes:
            if not can_be_chosen(name) or len(value) > LONGEST_VALUE or "\0" in value:
                raise BadRequest(
                    _("Items cannot be chosen by “%(name)s”.")
                    % {"name": f"{name[:40]}={value[:40]}"}
                )
        group, content, without = _text(given, "group"), _content(given), _without(given)
        drawn = given.get("drawn") or ""
        if drawn not in ("", *DRAWN):
            raise refused("drawn", drawn.replace("\0", ""), DRAWN)
        return cls(first, last, kind, group, attributes, content, without, drawn)

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Filter:
        first, last = (
            datetime.date.fromisoformat(spec[name]) if name in spec else None
            for name in ("from", "to")
        )
        attributes = tuple(sorted(spec.get("items", {}).items()))
        names = ("kind", "group", "content", "drawn")
        kind, group, content, drawn = (spec.get(name, "") for name in names)
        without = tuple(spec.get("without", ()))
        return cls(first, last, kind, group, attributes, content, without, drawn)

    @property
    def spec(self) -> dict[str, Any]:
        """The filter as plain JSON; what chooses everything is left out."""
        found: dict[str, Any] = {
            name: value for name, value in self.parameters.items() if not name.startswith(ITEM)
        }
        found |= {"without": list(self.without)} if self.without else {}
        return found | ({"items": dict(self.attributes)} if self.attributes else {})

    @property
    def parameters(self) -> dict[str, str]:
        """The filter as parameters of an address."""
        found = {
            "from": self.first.isoformat() if self.first else "",
            "to": self.last.isoformat() if self.last else "",
            "kind": self.kind,
            "group": self.group,
            "content": self.content,
            "without": one_line(self.without),
            "drawn": self.drawn,
        }
        found |= {f"{ITEM}{name}": value for name, value in self.attributes}
        return {name: value for name, value in found.items() if value}

    def check(self, choices: Mapping[str, Any]) -> None:
        """Raises BadRequest when nothing can match: the message names what there is."""
        if self.group and self.group not in choices["groups"]:
            raise refused("group", self.group, choices["groups"])
        newest = choices.get("versions", 1)
        if self.content not in ("", CURRENT) and int(self.content) > newest:
            raise refused("content", self.content, [CURRENT, *range(1, newest + 1)])
        for name, value in self.attributes:
            known = choices["attributes"].get(name)
            if known is None:
                raise refused("item", name, [*choices["attributes"]])
            if value not in known:
                raise refused(f"{ITEM}{name}", value, known)

    def ratings(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Those of the ratings that the filter chooses, as the counts hold them."""
        if self.first:
            rows = rows.filter(counted_day__gte=(self.first - EPOCH).days)
        if self.last:
            rows = rows.filter(counted_day__lte=(self.last - EPOCH).days)
        if self.kind:
            rows = rows.filter(rater__kind=self.kind)
        if self.group:
            rows = rows.filter(rater__group=self.group)
        if self.without:
            rows = rows.exclude(rater__key__in=self.without)
        if self.drawn == RANDOM:
            same: dict[str, Any] = {"item": OuterRef("item"), "rater": OuterRef("rater")}
            rows = rows.filter(~Exists(Assignment.objects.filter(planned=True, **same)))
        if self.content:
            rows = rows.filter(_under(self.content))
        return self.items(rows, "item__attributes")

    def items(self, rows: QuerySet[Any], path: str = "attributes") -> QuerySet[Any]:
        """Those of the items (or rows with an item's attributes under ``path``) that the filter
        chooses."""
        for place, (name, value) in enumerate(self.attributes):
            text = Cast(KeyTextTransform(name, F(path)), TextField())
            rows = rows.alias(**{f"attribute_{place}": text}).filter(
                **{f"attribute_{place}": value}
            )
        return rows


EVERYTHING = Filter()


def can_be_chosen(name: str) -> bool:
    """Whether an attribute of this name can be asked for; the databases take a number for a place
    in a list."""
    return 0 < len(name) <= LONGEST_NAME and "\0" not in name and not name.lstrip("+-").isdecimal()


def one_line(keys: Iterable[str]) -> str:
    """Keys as an address says them: between commas, and in quotation marks where a key has one
    itself (a line of CSV)."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(keys)
    return line.getvalue()


def refused(name: str, value: str, allowed: Any) -> BadRequest:
    """A refusal that names what is allowed."""
    known = [str(one) for one in allowed]
    shown = ", ".join(known[:NAMED]) + (" …" if len(known) > NAMED else "")
    told = {"name": name, "value": value[:60], "allowed": shown or _("nothing yet")}
    return BadRequest(_("“%(name)s” cannot be “%(value)s”; there is: %(allowed)s.") % told)


def _text(given: QueryDict, name: str) -> str:
    text = given.get(name) or ""
    if "\0" in text or len(text) > LONGEST_VALUE:
        raise refused(name, text.replace("\0", ""), [])
    return text


def _without(given: QueryDict) -> tuple[str, ...]:
    text = given.get("without") or ""
    try:
        line = [] if has_control(text) else next(csv.reader([text], strict=True), [])
    except csv.Error:
        line = []
    keys = tuple(sorted({key.strip() for key in line} - {""}))
    if text and not keys:
        raise BadRequest(_("“without” names raters by their keys, with commas between them."))
    if len(keys) > MOST_LEFT_OUT:
        raise BadRequest(_("At most %(n)s raters can be left out at once.") % {"n": MOST_LEFT_OUT})
    return keys


def _content(given: QueryDict) -> str:
    text = given.get("content") or ""
    if text and text != CURRENT:
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 5 else 0
        if not 1 <= number <= MOST_VERSIONS:
            raise refused("content", text, [CURRENT, "1", "2", "…"])
        return str(number)
    return text


def _under(content: str) -> Q:
    """Ratings made under this version of their item's content. An item that was never changed has
    one content, whatever its ratings know of it."""
    if content == CURRENT:
        return Q(item_version=F("item__version")) | Q(item__version=1)
    number = int(content)
    under = Q(item_version=number)
    return under | Q(item__version=1) if number == 1 else under


def _date(given: QueryDict, name: str) -> datetime.date | None:
    text = given.get(name) or ""
    try:
        return datetime.date.fromisoformat(text) if text else None
    except ValueError:
        problem = _("“%(name)s” must be a day, written like 2026-03-02; not “%(text)s”.")
        raise BadRequest(problem % {"name": name, "text": text[:40]}) from None
