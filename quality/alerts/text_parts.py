"""Parameters, sentences and error rates that the texts of several kinds of alerts share."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.text import get_sentence_separator
from metrics.views.common.number_formats import (
    format_count,
    format_number,
    format_percent,
    format_signed,
)
from projects.models import GuidelineVersion
from quality.alerts.sensitivity import DEFAULT_LEVEL, WORKING_DAYS_PER_YEAR
from quality.models import Alert
from ratings.services.rating_timestamps import date_from_day, day_number


def format_day(date: datetime.date) -> str:
    return date_format(date, "DATE_FORMAT")


def build_text_params(alert: Alert) -> dict[str, str]:
    """Return the parameters of an alert's sentences by name: raters, days and numbers, as texts."""
    facts = alert.facts
    params = {
        "rater": str(alert.rater),
        "other": str(alert.other_rater),
        "since": format_day(alert.since),
        "noticed": format_day(alert.detected_on),
        "earliest": format_day(alert.since_earliest),
        "latest": format_day(alert.since_latest),
        "size": format_number(abs(alert.size)),
        "low": format_signed(alert.low),
        "high": format_signed(alert.high),
        "n": format_count(alert.n),
        "before": format_count(alert.n_before),
        "category": facts.get("category", ""),
        "level": format_count(round(get_threshold_of_alert(alert))),
    }
    shares = {
        name: format_percent(facts[name])
        for name in ("share", "others", "was", "is")
        if name in facts
    }
    return params | shares


def get_threshold_of_alert(alert: Alert) -> float:
    """Return the evidence threshold at which the alert was raised."""
    level: float = alert.facts.get("level", DEFAULT_LEVEL)
    return level


def list_timing_sentences(alert: Alert) -> list[str]:
    """Return sentences on the interval of the change and on when it began."""
    sentences = [_("Average change: %(low)s to %(high)s (95%% interval).")]
    if alert.since_earliest != alert.since_latest:
        sentences.append(_("It began between %(earliest)s and %(latest)s (95%% interval)."))
    return [sentence % build_text_params(alert) for sentence in sentences]


def list_guideline_changes(alert: Alert) -> list[str]:
    """Return a sentence for each change of the guidelines between onset and detection.

    If there was none, return one sentence that says so.
    """
    project = alert.question.project
    zone = ZoneInfo(project.time_zone)
    sentences = []
    for version in GuidelineVersion.objects.filter(project=project, number__gt=1):
        changed_on = date_from_day(day_number(version.created_at, zone))
        if alert.since_earliest <= changed_on <= alert.detected_on:
            params = {"number": version.number, "day": format_day(changed_on)}
            sentences.append(_("Guidelines version %(number)s began on %(day)s.") % params)
    return sentences or [_("The guidelines didn’t change then.")]


# --- how often alerts of a kind are false


def describe_rater_error_rate(alert: Alert) -> str:
    """Return sentences on the rate of false alerts per year of one rater's work."""
    sentences = (
        describe_chance_alerts(_count_years(alert)),
        _("Other changes cause one in at most 5%% of years (simulated).") % {},
    )
    return get_sentence_separator().join(sentences)


def describe_chance_alerts(years: int) -> str:
    """Return the sentence that chance causes at most one alert per rater in these years."""
    return ngettext(
        "Chance alone causes at most one false alert per rater and year.",
        "Chance alone causes at most one false alert per rater in %(years)s years.",
        years,
    ) % {"years": format_count(years)}


def describe_lifetime_error_rate(alert: Alert) -> str:
    """Return a sentence on the share of unaffected raters who ever get such an alert."""
    text = _("At most 1 in %(chance)s unaffected raters ever gets such an alert.")
    return text % {"chance": build_text_params(alert)["level"]}


def describe_newcomer_error_rate(alert: Alert) -> str:
    """Return a sentence on the share of unaffected newcomers who ever get such an alert."""
    text = _("At most 1 in %(chance)s unaffected raters ever gets such an alert.")
    return text % _build_chance_params(alert)


def describe_copies_error_rate(alert: Alert) -> str:
    """Return a sentence on the share of questions without copies that ever get such an alert."""
    text = _("At most 1 in %(chance)s unaffected questions ever gets such an alert.")
    return text % _build_chance_params(alert)


def _build_chance_params(alert: Alert) -> dict[str, str]:
    return {"chance": format_count(round(alert.facts.get("chance", 0)))}


def describe_question_error_rate(alert: Alert) -> str:
    """Return a sentence on the rate of false alerts per year of one question."""
    years = _count_years(alert)
    return ngettext(
        "Chance alone causes at most one false alert per question and year.",
        "Chance alone causes at most one false alert per question in %(years)s years.",
        years,
    ) % {"years": format_count(years)}


def _count_years(alert: Alert) -> int:
    """Return the years of work per false alert, of one rater or question; at least 1."""
    return max(1, round(get_threshold_of_alert(alert) / WORKING_DAYS_PER_YEAR))


def describe_gold_error_rate(alert: Alert) -> str:
    return _("Each is probably wrong, according to three or more raters who are right elsewhere.")


def describe_absent_error_rate(alert: Alert) -> str:
    return _("A count: no chance involved.")
