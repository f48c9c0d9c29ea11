"""The filter bar of results pages: choices, and active parts with links to remove them.

The switch of the population says whose ratings a page shows, and links to the other choices.
"""

from __future__ import annotations

import datetime
import zoneinfo
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from metrics.filtered import filtered_jobs
from metrics.filters import (
    ALL_RATINGS,
    CURRENT_VERSION,
    FILTER_NAMES,
    ITEM_PREFIX,
    RANDOM_SAMPLE,
    FilterChoices,
    join_keys,
)
from metrics.results import rater_periods
from projects.models import Project, QueueOrder, Rater
from projects.models.rater import get_shown_key

from .selection import Selection

PEOPLE, ALL, MODELS = "people", "all", "models"
LABELS: dict[str, Promise] = {
    PEOPLE: pgettext_lazy("population", "People"),
    ALL: gettext_lazy("People + models"),
    MODELS: gettext_lazy("Models"),
}
KINDS = {PEOPLE: Rater.Kind.HUMAN.value, ALL: "", MODELS: Rater.Kind.MODEL.value}


@dataclass(frozen=True)
class PopulationLink:
    """A choice of the switch between people, models and all raters at the top of a page."""

    label: Promise
    url: str
    selected: bool


def is_of_people_and_models(selection: Selection) -> bool:
    """Return whether the page shows ratings of people and of models."""
    return not selection.filter.kind and bool(
        selection.headline.get("n_people") and selection.headline.get("n_models")
    )


def list_population_links(
    request: HttpRequest, selection: Selection, *, has_models: bool, transient: tuple[str, ...]
) -> list[PopulationLink]:
    """Return the choices of the switch between populations; none where no model rates.

    ``transient``: URL parameters that a switch to another population drops.
    """
    if not has_models and not selection.filter.kind:
        return []
    links = []
    for name, kind in KINDS.items():
        query = request.GET.copy()
        for parameter in ("kind", *transient):
            query.pop(parameter, None)
        if kind:
            query["kind"] = kind
        url = f"{request.path}?{query.urlencode()}"
        links.append(PopulationLink(LABELS[name], url, kind == selection.filter.kind))
    return links


NO_CHOICES: FilterChoices = {"attributes": {}, "groups": {}, "models": False, "versions": 1}
MAX_CONTENT_VERSIONS = 20  # content versions of items that are offered
PRESET_DAYS = (7, 30)  # lengths of the preset periods in days
MAX_NAMED_RATERS = 5  # excluded raters that get a chip each; more share one
_SAMPLE_LABELS = {
    RANDOM_SAMPLE: gettext_lazy("random sample"),
    ALL_RATINGS: gettext_lazy("all, including targeted ratings"),
}
TRANSIENT_PARAMETERS = ("page", "sort")  # parameters that are dropped when the filter changes


@dataclass(frozen=True)
class FilterField:
    """A select element of the filter bar.

    ``name``: of the URL parameter; ``options``: (value, label).
    """

    name: str
    label: str
    selected: str
    options: list[tuple[str, str]]


@dataclass(frozen=True)
class FilterChip:
    """An active part of the filter, and the URL of the page without it.

    ``name``: its form field, or empty.
    """

    label: str
    removal_url: str
    name: str = ""


@dataclass(frozen=True)
class DatePreset:
    """A common date range: its label, the URL of the page with it, and whether it is selected."""

    label: str
    url: str
    selected: bool


@dataclass(frozen=True)
class FilterBar:
    """The filter bar of a page: parts of the filter, fields, periods, and populations."""

    chips: list[FilterChip]
    presets: list[DatePreset]
    choices: list[FilterField]
    other_parameters: list[tuple[str, str]]  # the other parameters of the URL
    cleared_url: str
    populations: list[PopulationLink]
    leaves_models_out: bool  # in the parts of the page with the badge "People"

    @property
    def n_active(self) -> int:
        """Return the number of active parts of the filter, without the population."""
        return sum(chip.name != "kind" for chip in self.chips)

    @classmethod
    def from_request(cls, request: HttpRequest, selection: Selection) -> FilterBar:
        """Return the filter bar of a page, filled with the filter that the request selects."""
        choices = filtered_jobs.get_or_request_filter_choices(selection.question) or NO_CHOICES
        parameters = selection.filter.parameters
        other_parameters = [
            (name, str(value))
            for name, value in request.GET.dict().items()
            if not _is_filter_parameter(name) and name not in TRANSIENT_PARAMETERS
        ]
        chips = [
            FilterChip(format_filter_part(name, value), _build_url_without(request, name), name)
            for name, value in parameters.items()
        ]
        if selection.filter.kind:  # has the switch instead of a field
            other_parameters.append(("kind", selection.filter.kind))
        if excluded_keys := selection.filter.excluded_raters:
            other_parameters.append(
                ("exclude", parameters["exclude"])
            )  # this part of the filter has no field
            chips = [
                chip for name, chip in zip(parameters, chips, strict=True) if name != "exclude"
            ]
            chips += _build_excluded_rater_chips(request, excluded_keys)
        return cls(
            chips,
            _build_presets(request, selection),
            _build_fields(selection, choices),
            other_parameters,
            _build_url_without(request, *parameters),
            list_population_links(
                request,
                selection,
                has_models=choices["models"],
                transient=TRANSIENT_PARAMETERS,
            ),
            is_of_people_and_models(selection) and selection.headline["population"] == PEOPLE,
        )


def describe_empty_selection(selection: Selection) -> str:
    """Return the message that no rating matches, with the day of the question's newest rating."""
    message = _("No ratings match.")
    newest_days = rater_periods.get_newest_days([selection.question.pk])
    newest = newest_days.get(selection.question.pk)
    if newest is None:
        return message
    return f"{message} {_('Newest: %(day)s.') % {'day': newest.isoformat()}}"


def _list_preset_days(project: Project) -> list[tuple[int, datetime.date]]:
    """Return (number of days, first day) of each preset period.

    The periods end today, in the project's time zone.
    """
    today = timezone.localdate(timezone=zoneinfo.ZoneInfo(project.time_zone))
    return [(n, today - datetime.timedelta(days=n - 1)) for n in PRESET_DAYS]


def _build_presets(request: HttpRequest, selection: Selection) -> list[DatePreset]:
    """Return the presets: the last days, and the days since the last change of the guidelines.

    The day of that change is not included: it has ratings under both versions.
    """
    zone = zoneinfo.ZoneInfo(selection.project.time_zone)
    periods = [
        (_("%(n)s days") % {"n": n}, first_day)
        for n, first_day in _list_preset_days(selection.project)
    ]
    if selection.project.guidelines_version > 1:  # version 1 applies from the beginning
        newest = selection.project.guideline_versions.values_list("number", "created_at").last()
        if newest is not None:
            number, created_at = newest
            # The day of the change has ratings under both versions.
            since = timezone.localdate(created_at, timezone=zone) + datetime.timedelta(days=1)
            if since <= timezone.localdate(timezone=zone):
                periods.append((_("since guidelines %(n)s") % {"n": number}, since))
    presets = []
    for label, first_day in periods:
        query = request.GET.copy()
        for name in ("to", *TRANSIENT_PARAMETERS):
            query.pop(name, None)
        query["from"] = first_day.isoformat()
        selected = selection.filter.from_date == first_day and selection.filter.to_date is None
        presets.append(DatePreset(label, f"{request.path}?{query.urlencode()}", selected))
    return presets


def _is_filter_parameter(name: str) -> bool:
    return name in FILTER_NAMES or name.startswith(ITEM_PREFIX)


def _build_url_without(request: HttpRequest, *names: str) -> str:
    query = request.GET.copy()
    for name in (*names, *TRANSIENT_PARAMETERS):
        query.pop(name, None)
    return f"{request.path}?{query.urlencode()}"


def _build_excluded_rater_chips(request: HttpRequest, keys: tuple[str, ...]) -> list[FilterChip]:
    """Return a chip for each excluded rater, or a single chip for many."""

    def build_text(key: str) -> str:
        return _("without %(rater)s") % {"rater": get_shown_key(key)}

    url_without_any = _build_url_without(request, "exclude")
    separator = "" if url_without_any.endswith("?") else "&"
    if len(keys) > MAX_NAMED_RATERS:
        return [FilterChip(_("without %(n)s raters") % {"n": len(keys)}, url_without_any)]
    if len(keys) == 1:
        return [
            FilterChip(
                build_text(keys[0]),
                url_without_any,
            )
        ]
    chips = []
    for key in keys:
        remaining = urlencode(
            {"exclude": join_keys(other_key for other_key in keys if other_key != key)}
        )
        chips.append(FilterChip(build_text(key), f"{url_without_any}{separator}{remaining}"))
    return chips


def format_filter_part(name: str, value: str) -> str:
    """Return one URL parameter of a filter (``name``, ``value``) in words."""
    formatters: dict[str, Callable[[], str]] = {
        "from": lambda: _("from %(day)s") % {"day": value},
        "to": lambda: _("to %(day)s") % {"day": value},
        "kind": lambda: _("only models") if value == Rater.Kind.MODEL else _("only people"),
        "exclude": lambda: _("without %(rater)s") % {"rater": value},
        "group": lambda: _("group: %(group)s") % {"group": value},
        "content_version": lambda: _format_content_version(value),
        "sample": lambda: str(_SAMPLE_LABELS[value]),
    }
    return (
        formatters[name]() if name in formatters else f"{name.removeprefix(ITEM_PREFIX)}: {value}"
    )


def _format_content_version(value: str) -> str:
    if value == CURRENT_VERSION:
        return _("of the current content")
    return _("of item version %(n)s") % {"n": value}


def _build_fields(selection: Selection, choices: FilterChoices) -> list[FilterField]:
    """Return the selects with more than one option, and those with a selected value."""
    active = selection.filter
    fields = []
    if choices["groups"] or active.group:
        fields.append(
            FilterField(
                "group", _("Group"), active.group, _build_options(choices["groups"], active.group)
            )
        )
    if choices["versions"] > 1 or active.content_version:
        numbers = [str(n) for n in range(1, min(choices["versions"], MAX_CONTENT_VERSIONS) + 1)]
        values = dict.fromkeys(
            [
                CURRENT_VERSION,
                *numbers,
                *([active.content_version] if active.content_version else []),
            ]
        )
        options = [(value, _format_content_version(value)) for value in values]
        fields.append(FilterField("content_version", _("Content"), active.content_version, options))
    if active.sample or selection.project.queue_order == QueueOrder.PLANNED_LABELS:
        samples = [(value, str(label)) for value, label in _SAMPLE_LABELS.items()]
        fields.append(FilterField("sample", _("Items"), active.sample, samples))
    attributes = dict(active.attributes)
    for name in dict.fromkeys((*attributes, *choices["attributes"])):
        counts = choices["attributes"].get(name, {})
        if len(counts) > 1 or name in attributes:
            fields.append(
                FilterField(
                    f"{ITEM_PREFIX}{name}",
                    name,
                    attributes.get(name, ""),
                    _build_options(counts, attributes.get(name, "")),
                )
            )
    return fields


def _build_options(counts: Mapping[str, int], selected: str) -> list[tuple[str, str]]:
    values = dict.fromkeys((*counts, *([selected] if selected else [])))
    return [(value, value if len(value) <= 40 else f"{value[:39]}…") for value in values]
