"""Sentences on the verdict of a gate, in the reader's language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from core.text import get_list_separator
from metrics.views.common.display_names import get_undefined_reason
from metrics.views.common.filter_bar import format_filter_part
from metrics.views.common.number_formats import format_count, format_number
from quality.models import Gate, VerdictValue

from .rules import AT_LEAST, COVERAGE, OPEN_ALERTS, get_measure, parse_filter

DECIMALS = 3  # a value just below the limit must not look like the limit
BADGE_STYLES = {
    VerdictValue.PASS.value: "good",
    VerdictValue.FAIL.value: "bad",
    VerdictValue.NOT_ENOUGH.value: "warn",
}
_REASONS: dict[str, Promise] = {
    "no_items": gettext_lazy("there are no items"),
    "no_confidence": gettext_lazy("the label method gives no confidence"),
}


@dataclass(frozen=True)
class RuleRow:
    """A rule of a verdict as a page shows it."""

    label: str
    filter_text: str
    verdict: str
    verdict_label: str
    style: str
    sentence: str
    estimate: Mapping[str, Any]


def get_verdict_label(gate: Gate) -> str:
    """Return the last verdict of a gate as a short label."""
    return str(VerdictValue(gate.verdict).label) if gate.verdict else _("not decided yet")


def describe_verdict(document: Mapping[str, Any]) -> str:
    """Return a sentence on the verdict, with the further items that it needs if that is known."""
    parameters = {"gate": document["gate"]}
    if document["verdict"] == VerdictValue.PASS:
        return _("“%(gate)s” passes.") % parameters
    if document["verdict"] == VerdictValue.FAIL:
        return _("“%(gate)s” fails.") % parameters
    undecided = [rule for rule in document["rules"] if rule["verdict"] != VerdictValue.PASS]
    # Rules of an event have their value beside the measure.
    if any(rule.get("estimate", rule)["value"] is None for rule in undecided):
        return _("“%(gate)s” is undecided: a rule has no value.") % parameters
    sentence = _("“%(gate)s” is undecided: not enough data.") % parameters
    needed = [rule["needed_items"] for rule in undecided]
    if not needed or not all(needed):
        return sentence
    return f"{sentence} {_describe_needed_items(max(needed))}"


def _describe_needed_items(n: int) -> str:
    return ngettext("About %(n)s more item needed.", "About %(n)s more items needed.", n) % {
        "n": format_count(n)
    }


def list_rule_sentences(document: Mapping[str, Any]) -> list[str]:
    """Return a sentence on each rule of a verdict."""
    return [f"{row.label}: {row.sentence}" for row in build_rule_rows(document)]


def build_rule_rows(document: Mapping[str, Any]) -> list[RuleRow]:
    """Return the rules of a verdict for a page."""
    rows = []
    for rule in document["rules"]:
        filter_text = describe_filter(rule)
        label = _describe_measure(rule)
        rows.append(
            RuleRow(
                label=f"{label} ({filter_text})" if filter_text else label,
                filter_text=filter_text,
                verdict=rule["verdict"],
                verdict_label=str(VerdictValue(rule["verdict"]).label),
                style=BADGE_STYLES[rule["verdict"]],
                sentence=" ".join(_iter_sentences(rule)),
                estimate=rule["estimate"],
            )
        )
    return rows


def has_interval(rule: Mapping[str, Any]) -> bool:
    """Return whether a rule's measured value has an interval that is wider than a point."""
    estimate = rule["estimate"]
    return estimate["low"] is not None and estimate["low"] != estimate["high"]


def describe_rule(rule: Mapping[str, Any]) -> str:
    """Return a rule in words, such as "Coverage: at least 0.9"."""
    measure = get_measure(rule["measure"])
    limit = rule[measure.limit_field]
    template = _("%(measure)s: at least %(limit)s")
    if measure.limit_field != AT_LEAST:
        template = _("%(measure)s: at most %(limit)s")
    number = format_count(limit) if measure.is_count else format_limit(limit)
    text = template % {"measure": measure.label, "limit": number}
    filter_text = describe_filter(rule)
    return f"{text} ({filter_text})" if filter_text else text


def describe_filter(rule: Mapping[str, Any]) -> str:
    """Return the filter of a rule in words; "" if the rule has none."""
    parameters = parse_filter(rule.get("filter", {})).parameters
    return get_list_separator().join(
        format_filter_part(name, value) for name, value in parameters.items()
    )


def format_limit(limit: float) -> str:
    """Return a limit with two decimals, or three if it is not a multiple of 0.01."""
    return format_number(limit, 2 if round(limit, 2) == limit else DECIMALS)


def _describe_measure(rule: Mapping[str, Any]) -> str:
    measure = get_measure(rule["measure"])
    if rule["name"] == rule["measure"]:
        return str(measure.label)
    return f"{measure.label}, {get_measure(rule['name']).label}"


def _iter_sentences(rule: Mapping[str, Any]) -> Any:
    estimate, measure = rule["estimate"], get_measure(rule["measure"])
    if rule["measure"] == OPEN_ALERTS:
        parameters = {"n": format_count(estimate["value"]), "most": format_count(rule["at_most"])}
        yield _("%(n)s open (limit: %(most)s).") % parameters
        return
    if estimate["value"] is None:
        reason = estimate["reason"]
        text = _REASONS.get(reason) or get_undefined_reason(reason)
        yield _("No value: %(reason)s.") % {"reason": text}
    else:
        parameters = {
            "value": format_number(estimate["value"], DECIMALS),
            "low": format_number(estimate["low"], DECIMALS),
            "high": format_number(estimate["high"], DECIMALS),
            "limit": format_limit(rule[measure.limit_field]),
        }
        if estimate["low"] is None:
            yield _("%(value)s, without interval (limit: %(limit)s).") % parameters
        else:
            if has_interval(rule):
                parameters["value"] += f" [{parameters['low']}, {parameters['high']}]"
            yield _("%(value)s (limit: %(limit)s).") % parameters
    n = rule["needed_items"]
    if n and rule["measure"] == COVERAGE:  # counted, of the items that exist
        yield ngettext(
            "%(n)s more complete item needed.", "%(n)s more complete items needed.", n
        ) % {"n": format_count(n)}
    elif n:
        yield _describe_needed_items(n)
