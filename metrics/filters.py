"""Filters of ratings: parsed from a URL, validated, and applied to querysets.

A filter selects ratings by their raters, times and items. Everything on a filtered page is computed
from the selected ratings only, as if there were no others.
"""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from django.core.exceptions import BadRequest
from django.db.models import Exists, F, OuterRef, Q, QuerySet, TextField
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast
from django.http import QueryDict
from django.utils.translation import gettext as _

from core.text import get_list_separator, has_control_character
from projects.models import Rater
from ratings.models import Assignment
from ratings.services.rating_timestamps import EPOCH

EVERY_KIND = "all"  # people and models together, which are otherwise shown separately
ITEM_PREFIX = "item."  # the parameter item.language=de selects items by their attribute "language"
# All other parameters of a filter.
FILTER_NAMES = ("from", "to", "kind", "group", "content_version", "exclude", "sample")
MAX_ATTRIBUTES = 3
RANDOM_SAMPLE, ALL_RATINGS = "random", "all"
SAMPLE_CHOICES = (RANDOM_SAMPLE, ALL_RATINGS)
CURRENT_VERSION = "current"  # the current version of an item's content
MAX_VERSIONS = 1_000
MAX_NAME_LENGTH = 100
MAX_VALUE_LENGTH = 200
MAX_EXCLUDED_RATERS = 100
MAX_LISTED_VALUES = 20  # allowed values that an error message lists


class FilterChoices(TypedDict):
    """The available values of a filter.

    ``attributes``: attribute -> value -> number of items; ``groups``: group -> number of raters;
    ``models``: whether any model rates; ``versions``: the highest content version of any item.
    """

    attributes: Mapping[str, Mapping[str, int]]
    groups: Mapping[str, int]
    models: bool
    versions: int


@dataclass(frozen=True)
class RatingFilter:
    """A filter of ratings; an empty text, tuple or date does not restrict anything.

    ``from_date`` and ``to_date``: days, both inclusive. ``content_version``: the number of the
    version of the item's content under which it was rated, or CURRENT_VERSION. ``excluded_raters``:
    sorted keys. ``sample``: RANDOM_SAMPLE leaves out ratings that were requested because of what
    others had rated; ALL_RATINGS keeps them, also in the headline, which is otherwise based on the
    random sample. ``kind``: of the raters; EVERY_KIND for people and models as one group.
    """

    from_date: datetime.date | None = None
    to_date: datetime.date | None = None
    kind: str = ""
    group: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    content_version: str = ""
    excluded_raters: tuple[str, ...] = ()
    sample: str = ""

    def __bool__(self) -> bool:
        return self != RatingFilter()

    @classmethod
    def from_query(cls, query: QueryDict) -> RatingFilter:
        """Return the filter of a query string. Raises BadRequest if it is invalid."""
        kind = query.get("kind") or ""
        if kind and kind not in Rater.Kind.values:
            raise build_invalid_value_error("kind", kind, Rater.Kind.values)
        from_date, to_date = _parse_date(query, "from"), _parse_date(query, "to")
        if from_date and to_date and from_date > to_date:
            raise BadRequest(_("“from” is later than “to”."))
        attributes = tuple(
            (name.removeprefix(ITEM_PREFIX), value)
            for name in sorted(query)
            if name.startswith(ITEM_PREFIX) and (value := query.get(name) or "")
        )
        if len(attributes) > MAX_ATTRIBUTES:
            raise BadRequest(_("At most %(n)s item attributes.") % {"n": MAX_ATTRIBUTES})
        for name, value in attributes:
            if not is_filterable_attribute(name) or len(value) > MAX_VALUE_LENGTH or "\0" in value:
                raise BadRequest(
                    _("“%(name)s” can't filter items.") % {"name": f"{name[:40]}={value[:40]}"}
                )
        group = _parse_text(query, "group")
        content_version = _parse_content_version(query)
        excluded_raters = _parse_excluded_raters(query)
        sample = query.get("sample") or ""
        if sample not in ("", *SAMPLE_CHOICES):
            raise build_invalid_value_error("sample", sample.replace("\0", ""), SAMPLE_CHOICES)
        return cls(
            from_date, to_date, kind, group, attributes, content_version, excluded_raters, sample
        )

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> RatingFilter:
        """Return the filter that was stored as JSON (see ``spec``)."""
        from_date, to_date = (
            datetime.date.fromisoformat(spec[name]) if name in spec else None
            for name in ("from", "to")
        )
        attributes = tuple(sorted(spec.get("items", {}).items()))
        names = ("kind", "group", "content_version", "sample")
        kind, group, content_version, sample = (spec.get(name, "") for name in names)
        excluded_raters = tuple(spec.get("exclude", ()))
        return cls(
            from_date, to_date, kind, group, attributes, content_version, excluded_raters, sample
        )

    @property
    def spec(self) -> dict[str, object]:
        """The filter as plain JSON, without empty parts."""
        spec: dict[str, object] = {
            name: value
            for name, value in self.parameters.items()
            if not name.startswith(ITEM_PREFIX)
        }
        spec |= {"exclude": list(self.excluded_raters)} if self.excluded_raters else {}
        return spec | ({"items": dict(self.attributes)} if self.attributes else {})

    @property
    def parameters(self) -> dict[str, str]:
        """The filter as URL parameters."""
        parameters = {
            "from": self.from_date.isoformat() if self.from_date else "",
            "to": self.to_date.isoformat() if self.to_date else "",
            "kind": self.kind,
            "group": self.group,
            "content_version": self.content_version,
            "exclude": join_keys(self.excluded_raters),
            "sample": self.sample,
        }
        parameters |= {f"{ITEM_PREFIX}{name}": value for name, value in self.attributes}
        return {name: value for name, value in parameters.items() if value}

    def validate(self, choices: FilterChoices) -> None:
        """Raise BadRequest if the filter names values that do not occur; the message lists them.

        ``choices``: the values that occur in the question.
        """
        if self.group and self.group not in choices["groups"]:
            raise build_invalid_value_error("group", self.group, choices["groups"])
        newest = choices["versions"]
        if self.content_version not in ("", CURRENT_VERSION) and int(self.content_version) > newest:
            raise build_invalid_value_error(
                "content_version", self.content_version, [CURRENT_VERSION, *range(1, newest + 1)]
            )
        for name, value in self.attributes:
            available = choices["attributes"].get(name)
            if available is None:
                raise build_invalid_value_error("attributes", name, choices["attributes"])
            if value not in available:
                raise build_invalid_value_error(f"{ITEM_PREFIX}{name}", value, available)

    def filter_ratings(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Return those of the ratings that the filter selects, by the day of the counted rating."""
        if self.from_date:
            rows = rows.filter(counted_day__gte=(self.from_date - EPOCH).days)
        if self.to_date:
            rows = rows.filter(counted_day__lte=(self.to_date - EPOCH).days)
        if self.kind not in ("", EVERY_KIND):
            rows = rows.filter(rater__kind=self.kind)
        return self._filter_subjects(rows, "")

    def filter_answers(
        self, rows: QuerySet[Any], zone: datetime.tzinfo, *, path: str = ""
    ) -> QuerySet[Any]:
        """Return those of the answers (ratings.models.JudgementBase) that the filter selects.

        Days are those of `rated_at` in this time zone. `path`: prefix of the fields item and rater,
        such as `rating__`. The kind of the raters is not filtered: it depends on the moment.
        """
        if self.from_date:
            rows = rows.filter(rated_at__gte=_get_midnight(self.from_date, zone))
        if self.to_date:
            next_day = self.to_date + datetime.timedelta(days=1)
            rows = rows.filter(rated_at__lt=_get_midnight(next_day, zone))
        return self._filter_subjects(rows, path)

    def _filter_subjects(self, rows: QuerySet[Any], path: str) -> QuerySet[Any]:
        """Return the rows whose rater, item and content version the filter selects."""
        if self.group:
            rows = rows.filter(**{f"{path}rater__group": self.group})
        if self.excluded_raters:
            rows = rows.exclude(**{f"{path}rater__key__in": self.excluded_raters})
        if self.sample == RANDOM_SAMPLE:
            item, rater = OuterRef(f"{path}item"), OuterRef(f"{path}rater")
            planned = Assignment.objects.filter(planned=True, item=item, rater=rater)
            rows = rows.filter(~Exists(planned))
        if self.content_version:
            rows = rows.filter(_build_content_filter(self.content_version, path))
        return self.filter_items(rows, f"{path}item__attributes")

    def filter_items(self, rows: QuerySet[Any], path: str = "attributes") -> QuerySet[Any]:
        """Return those of the items that the filter selects.

        ``rows`` may be other rows with an item's attributes under ``path``.
        """
        for index, (name, value) in enumerate(self.attributes):
            text = Cast(KeyTextTransform(name, F(path)), TextField())
            rows = rows.alias(**{f"attribute_{index}": text}).filter(
                **{f"attribute_{index}": value}
            )
        return rows


NO_FILTER = RatingFilter()


def is_filterable_attribute(name: str) -> bool:
    """Return True if items can be filtered by an attribute of this name.

    Names that are numbers are excluded: databases take a number as an index into a JSON list. So
    are empty and too long names.
    """
    return (
        0 < len(name) <= MAX_NAME_LENGTH and "\0" not in name and not name.lstrip("+-").isdecimal()
    )


def join_keys(keys: Iterable[str]) -> str:
    """Return keys as one line of CSV, the form in which a URL contains them.

    They are separated by commas; a key that contains a comma is quoted.
    """
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(keys)
    return line.getvalue()


def build_invalid_value_error(name: str, value: str, allowed: Any) -> BadRequest:
    """Return the BadRequest for an invalid value of a filter; it lists the allowed values."""
    values = [str(choice) for choice in allowed]
    listed = get_list_separator().join(values[:MAX_LISTED_VALUES]) + (
        " …" if len(values) > MAX_LISTED_VALUES else ""
    )
    parameters = {"name": name, "value": value[:60], "allowed": listed}
    if not values:
        text = _("“%(name)s” has no values yet; remove “%(value)s”.")
    else:
        text = _("“%(name)s” must be one of %(allowed)s, not “%(value)s”.")
    return BadRequest(text % parameters)


def _parse_text(query: QueryDict, name: str) -> str:
    text = query.get(name) or ""
    if "\0" in text or len(text) > MAX_VALUE_LENGTH:
        raise build_invalid_value_error(name, text.replace("\0", ""), [])
    return text


def _parse_excluded_raters(query: QueryDict) -> tuple[str, ...]:
    text = query.get("exclude") or ""
    try:
        line = [] if has_control_character(text) else next(csv.reader([text], strict=True), [])
    except csv.Error:
        line = []
    keys = tuple(sorted({key.strip() for key in line} - {""}))
    if text and not keys:
        raise BadRequest(_("“exclude” takes rater IDs, separated by commas."))
    if len(keys) > MAX_EXCLUDED_RATERS:
        raise BadRequest(_("Exclude at most %(n)s raters.") % {"n": MAX_EXCLUDED_RATERS})
    return keys


def _parse_content_version(query: QueryDict) -> str:
    text = query.get("content_version") or ""
    if text and text != CURRENT_VERSION:
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 5 else 0
        if not 1 <= number <= MAX_VERSIONS:
            raise build_invalid_value_error(
                "content_version", text, [CURRENT_VERSION, "1", "2", "…"]
            )
        return str(number)
    return text


def _build_content_filter(content_version: str, path: str) -> Q:
    """Return a filter of ratings given under this version of their item's content.

    All ratings of an item that never changed are of version 1, also if they store no version.
    ``path``: prefix of the field item.
    """
    never_changed = Q(**{f"{path}item__version": 1})
    if content_version == CURRENT_VERSION:
        return Q(item_version=F(f"{path}item__version")) | never_changed
    number = int(content_version)
    by_version = Q(item_version=number)
    return by_version | never_changed if number == 1 else by_version


def _get_midnight(day: datetime.date, zone: datetime.tzinfo) -> datetime.datetime:
    return datetime.datetime.combine(day, datetime.time(), tzinfo=zone)


def _parse_date(query: QueryDict, name: str) -> datetime.date | None:
    text = query.get(name) or ""
    try:
        return datetime.date.fromisoformat(text) if text else None
    except ValueError:
        problem = _("“%(name)s” must be a date like 2026-03-02, not “%(text)s”.")
        raise BadRequest(problem % {"name": name, "text": text[:40]}) from None
