"""Rules for labels that are uncertain after the planned ratings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import Count
from django.utils.translation import gettext as _

from core.text import describe_range, describe_whole_range
from projects.models import Question
from quality.models import Escalation, LabelRules
from quality.settings_changes import InvalidSettings, record_rules_change


def summarize_escalations(question: Question, rules: LabelRules) -> dict[str, object] | None:
    """Return the rules, how many items were escalated by state, and why some are in review.

    Keys: rules, states and reasons, the last two as (label, number of items). None if ratings were
    never requested and are not requested now.
    """
    rows = Escalation.objects.filter(question=question)
    by_state = dict(rows.values_list("state").annotate(Count("pk")).order_by())
    if not by_state and not rules.request_ratings:
        return None
    in_review = rows.filter(state=Escalation.State.REVIEW).exclude(reason="").order_by("reason")
    reason_counts = in_review.values_list("reason").annotate(Count("pk"))
    return {
        "rules": rules,
        "states": [(state.label, by_state.get(state, 0)) for state in Escalation.State],
        "reasons": [(Escalation.Reason(name).label, n) for name, n in reason_counts],
    }


MAX_RATINGS = 1000
MAX_BUDGET = 10_000_000
MAX_DAYS = 1000
RULES = (
    "request_ratings",
    "certain_from",
    "max_ratings",
    "budget",
    "second_opinion_share",
    "show_to_raters",
    "show_after_days",
)


def get_label_rules(question: Question) -> LabelRules:
    """Return the stored rules of a question, or the defaults (not stored)."""
    return LabelRules.objects.filter(question=question).first() or LabelRules(question=question)


@transaction.atomic
def set_label_rules(*, question: Question, by: Any, **values: Any) -> LabelRules:
    """Set some of RULES (fields of LabelRules), record the change, and return the stored rules.

    Raises InvalidSettings, without changes, for invalid values.
    """
    current = get_label_rules(question)
    before = {name: getattr(current, name) for name in RULES}
    new = before | {name: values[name] for name in values if name in before}
    if errors := _find_rule_errors(new, overlap=question.project.overlap):
        raise InvalidSettings(errors)
    LabelRules.objects.get_or_create(question=question)
    row = LabelRules.objects.select_for_update().get(question=question)
    if before == new:
        return row
    for name, value in new.items():
        setattr(row, name, value)
    row.input_version = {}  # so that the next sweep applies the rules at once
    row.save(update_fields=[*new, "input_version"])
    record_rules_change("label_rules.changed", question, before, new, by=by)
    return row


def _find_rule_errors(values: Mapping[str, float], *, overlap: int) -> dict[str, str]:
    """Return {name of the rule: error message} of invalid values; empty if all are valid.

    ``overlap``: the planned ratings per item.
    """
    errors = {}
    if not 0.5 <= values["certain_from"] <= 0.999:
        errors["certain_from"] = describe_range(0.5, 0.999)
    if not 2 <= values["max_ratings"] <= MAX_RATINGS:
        errors["max_ratings"] = describe_whole_range(2, MAX_RATINGS)
    elif values["request_ratings"] and values["max_ratings"] <= overlap:
        message = _("Must exceed the %(overlap)s planned ratings per item.")
        errors["max_ratings"] = message % {"overlap": overlap}
    if not 0 <= values["second_opinion_share"] <= 1:
        errors["second_opinion_share"] = describe_range(0, 1)
    for name, maximum in (("budget", MAX_BUDGET), ("show_after_days", MAX_DAYS)):
        if not 0 <= values[name] <= maximum:
            errors[name] = describe_whole_range(0, maximum)
    return errors
