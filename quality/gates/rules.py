"""Rules of a gate: a measure of the selected ratings must be at least, or at most, a limit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import BadRequest
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.web.forms import InvalidFields
from metrics.agreement import registry
from metrics.agreement.headline import COHEN, ICCS
from metrics.filtered import filtered_jobs
from metrics.filters import (
    FILTER_NAMES,
    ITEM_PREFIX,
    RatingFilter,
    build_invalid_value_error,
    join_keys,
)
from metrics.question_scale import QuestionScale, get_weighted_name
from metrics.views.common.display_names import get_coefficient_name
from projects.models import Question

HEADLINE = "headline"
GOLD_ACCURACY = "gold_accuracy"
LABEL_CONFIDENCE = "label_certainty"  # its name in the API
COVERAGE = "coverage"
OPEN_ALERTS = "open_alerts"
AT_LEAST, AT_MOST = "at_least", "at_most"
MAX_OPEN_ALERTS = 10_000


@dataclass(frozen=True)
class Measure:
    """A quantity that a rule can limit, such as coverage.

    ``limit_field``: AT_LEAST or AT_MOST, whichever makes sense for it; ``takes_filter``:
    whether it can be measured on selected ratings.
    """

    name: str
    lowest: float = 0.0
    highest: float = 1.0
    limit_field: str = AT_LEAST
    is_count: bool = False
    takes_filter: bool = True

    @property
    def label(self) -> str | Promise:
        """Return the name of the measure on pages."""
        return _LABELS.get(self.name) or get_coefficient_name(self.name)


_LABELS = {
    HEADLINE: gettext_lazy("Headline coefficient"),
    GOLD_ACCURACY: gettext_lazy("Accuracy on gold answers"),
    LABEL_CONFIDENCE: gettext_lazy("Mean label confidence"),
    COVERAGE: gettext_lazy("Coverage"),
    OPEN_ALERTS: gettext_lazy("Open alerts"),
}
MEASURES = {
    measure.name: measure
    for measure in (
        Measure(HEADLINE, lowest=-1.0),
        Measure(GOLD_ACCURACY),
        Measure(LABEL_CONFIDENCE),
        Measure(COVERAGE),
        Measure(
            OPEN_ALERTS,
            highest=MAX_OPEN_ALERTS,
            limit_field=AT_MOST,
            is_count=True,
            takes_filter=False,
        ),
    )
}


def get_measure(name: str) -> Measure:
    """Return the measure with this name. Raises KeyError if there is none."""
    if name in MEASURES:
        return MEASURES[name]
    coefficient = registry.find_coefficient(name)
    if coefficient is None:
        raise KeyError(name)
    low = -1.0 if coefficient.low is None else max(coefficient.low, -1.0)
    return Measure(name, lowest=low)


def list_measures(scale: QuestionScale) -> list[str]:
    """Return the names of MEASURES and of the coefficients with an interval on this scale."""
    return [*MEASURES, *_list_coefficients(scale)]


def _list_coefficients(scale: QuestionScale) -> Iterable[str]:
    for name in scale.list_pattern_coefficients():
        coefficient = registry.find_coefficient(name)
        if coefficient is not None and coefficient.is_meaningful_on(scale.type):
            yield name
    for weighting in scale.list_weightings() if scale.type.ordered else ("none",):
        yield get_weighted_name(COHEN, weighting)
    if scale.type.numeric and scale.values is not None:
        yield from ICCS


MAX_RULES = 20
RULE_FIELDS = ("measure", AT_LEAST, AT_MOST, "filter")
ATTRIBUTES = "attributes"  # an object of the items' attributes, instead of item.NAME
MAX_PARAMETER_LENGTH = 2_000

RuleErrors = dict[str, str]
StoredRule = dict[str, Any]  # as the API takes and returns it


class InvalidRules(ValueError):
    """Rules are not valid. ``errors``: a message, or {index of the rule: {field: message}}."""

    def __init__(self, errors: str | dict[str, RuleErrors]) -> None:
        super().__init__(str(errors))
        self.errors = errors


@dataclass(frozen=True)
class Rule:
    """A rule: the measure of the filtered ratings must be at least, or at most, the limit."""

    measure: Measure
    limit: float
    filter: RatingFilter
    stored: StoredRule

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> Rule:
        """Build a rule from its stored form. Raises KeyError for an unknown measure."""
        measure = get_measure(stored["measure"])
        rating_filter = parse_filter(stored.get("filter", {}))
        return cls(measure, stored[measure.limit_field], rating_filter, dict(stored))


def validate_rules(rules: Any, question: Question) -> list[StoredRule]:
    """Check the rules and return them as they are stored.

    Raises InvalidRules, which names every error.
    """
    if not isinstance(rules, list) or not rules:
        raise InvalidRules(_("A gate needs at least one rule."))
    if len(rules) > MAX_RULES:
        raise InvalidRules(_("At most %(n)s rules.") % {"n": MAX_RULES})
    scale = QuestionScale.for_question(question)
    stored, errors = [], {}
    for index, rule in enumerate(rules):
        try:
            stored.append(_validate_rule(rule, question, scale))
        except _InvalidRule as error:
            errors[str(index)] = error.fields
    if errors:
        raise InvalidRules(errors)
    return stored


class _InvalidRule(InvalidFields):
    """A rule of a gate is not acceptable."""


def _validate_rule(rule: Any, question: Question, scale: QuestionScale) -> StoredRule:
    if not isinstance(rule, dict):
        raise _InvalidRule(rule="An object with “measure” and “at_least” is needed.")
    unknown = [str(name)[:60] for name in rule if name not in RULE_FIELDS]
    if unknown:
        message = f"unknown field; one of {', '.join(RULE_FIELDS)}"
        raise _InvalidRule(**dict.fromkeys(unknown, message))
    measure = _validate_measure(rule.get("measure"), scale)
    limit = _validate_limit(rule, measure)
    stored = {"measure": measure.name, measure.limit_field: limit}
    if rule.get("filter") not in (None, {}):
        stored["filter"] = _validate_filter(rule["filter"], measure, question)
    return stored


def _validate_measure(name: Any, scale: QuestionScale) -> Measure:
    available = list_measures(scale)
    allowed = ", ".join(available)
    if name is None:
        raise _InvalidRule(measure=_("missing; one of %(known)s") % {"known": allowed})
    if not isinstance(name, str) or name not in available:
        problem = f"unknown measure “{str(name)[:60]}”"
        if isinstance(name, str) and _is_known(name):
            problem = f"“{name}” has no interval on the scale {scale.kind}"
        raise _InvalidRule(measure=f"{problem}; one of {allowed}")
    return get_measure(name)


def _is_known(name: str) -> bool:
    try:
        get_measure(name)
    except KeyError:
        return False
    return True


def _validate_limit(rule: Mapping[str, Any], measure: Measure) -> float:
    """Return the limit of a rule. Raises _InvalidRule if it is missing or not within its bounds."""
    other = AT_MOST if measure.limit_field == AT_LEAST else AT_LEAST
    if other in rule:
        message = f"“{measure.name}” takes “{measure.limit_field}”, not “{other}”."
        raise _InvalidRule(**{other: message})
    limit: Any = rule.get(measure.limit_field)
    is_number = type(limit) in (int, float) and math.isfinite(limit)
    if is_number and measure.is_count:
        is_number = limit == int(limit)
    if not is_number or not measure.lowest <= limit <= measure.highest:
        message = (
            _("Enter a whole number from %(lowest)s to %(highest)s.")
            if measure.is_count
            else _("Enter a number from %(lowest)s to %(highest)s.")
        )
        limits = {"lowest": f"{measure.lowest:g}", "highest": f"{measure.highest:g}"}
        raise _InvalidRule(**{measure.limit_field: message % limits})
    return int(limit) if measure.is_count else float(limit)


def _validate_filter(values: Any, measure: Measure, question: Question) -> StoredRule:
    if not measure.takes_filter:
        raise _InvalidRule(filter=_("“%(name)s” has no filter.") % {"name": measure.name})
    try:
        rating_filter = parse_filter(values)
        _validate_filter_values(rating_filter, question)
    except BadRequest as error:
        raise _InvalidRule(filter=str(error)) from None
    return dict(values)


def _validate_filter_values(rating_filter: RatingFilter, question: Question) -> None:
    """Raise BadRequest for a parameter that selects nothing, such as an unknown group.

    The values are looked up in the database rather than in the list of choices, because a worker
    may not have computed that list yet.
    """
    filtered_jobs.validate_filter(question, rating_filter)
    project = question.project
    groups = project.raters.exclude(group="").order_by("group").values_list("group", flat=True)
    if rating_filter.group and rating_filter.group not in set(groups):
        raise build_invalid_value_error("group", rating_filter.group, groups.distinct())
    for name, value in rating_filter.attributes:
        of_value = RatingFilter(attributes=((name, value),)).filter_items(project.items.all())
        if not of_value.exists():
            message = _("No item has “%(name)s” = “%(value)s”.")
            raise BadRequest(message % {"name": name, "value": value})


def parse_filter(values: Any) -> RatingFilter:
    """Return the filter of a rule, given as an object with the parameters of filtered results.

    ``attributes`` is an object of the items' attributes, ``exclude`` may be a list of keys. Raises
    BadRequest for an unknown parameter or a value that is not a text.
    """
    field_names = (*FILTER_NAMES, ATTRIBUTES, f"{ITEM_PREFIX}NAME")
    if not isinstance(values, dict):
        raise BadRequest(f"An object is needed; its fields are {', '.join(field_names)}.")
    query = QueryDict(mutable=True)
    for name, value in values.items():
        if name == ATTRIBUTES and isinstance(value, dict):
            for attribute, text in value.items():
                query[f"{ITEM_PREFIX}{attribute}"] = _parse_text(attribute, text)
        elif name == "exclude" and isinstance(value, list):
            query[name] = join_keys([_parse_text(name, key) for key in value])
        elif name in FILTER_NAMES or (isinstance(name, str) and name.startswith(ITEM_PREFIX)):
            query[name] = _parse_text(name, value)
        else:
            allowed = ", ".join(field_names)
            raise BadRequest(f"unknown field “{str(name)[:60]}”; one of {allowed}")
    return RatingFilter.from_query(query)


def _parse_text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_PARAMETER_LENGTH:
        raise BadRequest(f"“{str(name)[:60]}” needs a text.")
    return value
