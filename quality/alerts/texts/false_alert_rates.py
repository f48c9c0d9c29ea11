"""Error rates of the kinds of alerts, in sentences."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from metrics.views.common.number_formats import format_count
from quality.alerts.sensitivity import WORKING_DAYS_PER_YEAR
from quality.models import Alert

from .common import build_text_params, get_threshold_of_alert


def describe_rater_error_rate(alert: Alert) -> str:
    """Return a sentence on the rate of false alerts per year of one rater's work."""
    years = _count_years(alert)
    return ngettext(
        "False alerts per rater: at most one per year from sampling noise; from other"
        " changes in at most 5%% of years (simulated, not proven).",
        "False alerts per rater: at most one per %(years)s years from sampling noise;"
        " from other changes in at most 5%% of years (simulated, not proven).",
        years,
    ) % {"years": format_count(years)}


def describe_lifetime_error_rate(alert: Alert) -> str:
    """Return a sentence on the share of unaffected raters for whom it is ever raised."""
    text = _("By chance, at most one unaffected rater in %(chance)s is flagged.")
    return text % {"chance": build_text_params(alert)["level"]}


def describe_newcomer_error_rate(alert: Alert) -> str:
    """Return a sentence on the share of newcomers at the bound for whom it is ever raised."""
    text = _("By chance, at most one unaffected rater in %(chance)s is flagged.")
    return text % _build_chance_params(alert)


def describe_copies_error_rate(alert: Alert) -> str:
    """Return a sentence on the share of questions without copies in which it is ever raised."""
    text = _("By chance, at most one unaffected question in %(chance)s is flagged.")
    return text % _build_chance_params(alert)


def _build_chance_params(alert: Alert) -> dict[str, str]:
    return {"chance": format_count(round(alert.facts.get("chance", 0)))}


def describe_question_error_rate(alert: Alert) -> str:
    """Return a sentence on the rate of false alerts per year of one question."""
    years = _count_years(alert)
    return ngettext(
        "False alerts per question: at most one per year from sampling noise.",
        "False alerts per question: at most one per %(years)s years from sampling noise.",
        years,
    ) % {"years": format_count(years)}


def _count_years(alert: Alert) -> int:
    """Return the number of years between two false alerts, at least one."""
    return max(1, round(get_threshold_of_alert(alert) / WORKING_DAYS_PER_YEAR))


def describe_gold_error_rate(alert: Alert) -> str:
    return _(
        "Each is more likely wrong than right, judging by three or more raters who "
        "are right elsewhere."
    )


def describe_count_error_rate(alert: Alert) -> str:
    return _("A count: chance plays no part.")
