"""Measures of the rules of gates, and the limits that make sense for each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from metrics.agreement import registry
from metrics.agreement.headline import COHEN, ICCS
from metrics.question_scale import QuestionScale, get_weighted_name
from metrics.views.common.display_names import get_coefficient_name

HEADLINE = "headline"
GOLD_ACCURACY = "gold_accuracy"
LABEL_CONFIDENCE = "label_certainty"  # its name in the API
COVERAGE = "coverage"
OPEN_ALERTS = "open_alerts"
AT_LEAST, AT_MOST = "at_least", "at_most"
MAX_OPEN_ALERTS = 10_000


@dataclass(frozen=True)
class Measure:
    """A measure: the range of its values, the field of its limit, and whether it has filters."""

    name: str
    lowest: float = 0.0
    highest: float = 1.0
    limit_field: str = AT_LEAST
    is_count: bool = False
    takes_filter: bool = True

    @property
    def label(self) -> str | Promise:
        """The display name."""
        return _LABELS.get(self.name) or get_coefficient_name(self.name)


_LABELS = {
    HEADLINE: _("Headline coefficient"),
    GOLD_ACCURACY: _("Accuracy on gold answers"),
    LABEL_CONFIDENCE: _("Mean label confidence"),
    COVERAGE: _("Coverage"),
    OPEN_ALERTS: _("Open alerts"),
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
    """Return the measure of this name; KeyError for an unknown one."""
    if name in MEASURES:
        return MEASURES[name]
    coefficient = registry.find_coefficient(name)
    if coefficient is None:
        raise KeyError(name)
    low = -1.0 if coefficient.low is None else max(coefficient.low, -1.0)
    return Measure(name, lowest=low)


def list_measures(scale: QuestionScale) -> list[str]:
    """Return the names of the measures that suit a question: with an interval, on its scale."""
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
