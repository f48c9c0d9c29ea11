"""Format dates and times for pages, and the space between sentences."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.text import get_sentence_separator

from .tables import is_exporting

register = template.Library()

MINUTE, HOUR, DAY = 60, 3_600, 86_400
MAX_RELATIVE_DAYS = 7  # older (or later) times are shown as a date


@register.simple_tag
def word_space() -> str:
    """Return the space after a translated text that ends in punctuation; empty in Chinese."""
    return get_sentence_separator()


@register.filter(expects_localtime=True)
def relative_time(value: datetime.datetime | None, form: str = "relative") -> SafeString:
    """Render a <time> element: ``3 minutes ago``, or the date when it is more than a week away.

    With ``form`` "exact" (after "since") it is ``2026-11-22 16:41 UTC``. site.js rewrites both in
    the reader's time zone, in the same format and width, so that nothing on the page moves. None
    gives an empty text; a file gets the time in ISO 8601.
    """
    if value is None:
        return SafeString()
    if is_exporting():
        return SafeString(value.isoformat())
    exact, zone = f"{value:%Y-%m-%d %H:%M}", f"{value:%Z}"
    if form == "exact":
        element = '<time datetime="{}" data-moment="exact">{}<span class="no-js"> {}</span></time>'
        return format_html(element, value.isoformat(), exact, zone)
    return format_html(
        '<time datetime="{}" data-moment="relative" title="{} {}">{}</time>',
        value.isoformat(),
        exact,
        zone,
        format_relative(value),
    )


@register.filter
def last_day(end: datetime.datetime, zone: str) -> SafeString:
    """Render the last day of a period that ends at ``end``, usually a midnight in ``zone``.

    A period that ends at midnight includes the day before as its last one. The tooltip shows
    ``end``.
    """
    local_end = end.astimezone(ZoneInfo(zone))
    day = (local_end - datetime.timedelta(microseconds=1)).date()
    element = '<time datetime="{}" title="{}">{}</time>'
    return format_html(
        element, end.isoformat(), f"{local_end:%Y-%m-%d %H:%M} {zone}", day.isoformat()
    )


def format_relative(value: datetime.datetime) -> str:
    """Return how long ago a moment was, or how far ahead; the date from MAX_RELATIVE_DAYS on.

    The words are those of browsers (Intl.RelativeTimeFormat).
    """
    ahead = (value - timezone.now()).total_seconds()
    if abs(ahead) >= MAX_RELATIVE_DAYS * DAY:
        return f"{value:%Y-%m-%d}"
    if abs(ahead) >= DAY:
        return _format_relative_days(int(ahead / DAY))
    if abs(ahead) >= HOUR:
        return _format_relative_hours(int(ahead / HOUR))
    return _format_relative_minutes(int(ahead / MINUTE))


def _format_relative_days(n: int) -> str:
    special_cases = {-2: _("2 days ago"), -1: _("yesterday"), 1: _("tomorrow"), 2: _("in 2 days")}
    if n in special_cases:
        return special_cases[n]
    return (_("%(n)s days ago") if n < 0 else _("in %(n)s days")) % {"n": abs(n)}


def _format_relative_hours(n: int) -> str:
    if n < 0:
        return ngettext("%(n)s hour ago", "%(n)s hours ago", -n) % {"n": -n}
    return ngettext("in %(n)s hour", "in %(n)s hours", n) % {"n": n}


def _format_relative_minutes(n: int) -> str:
    if n == 0:
        return _("just now")
    if n < 0:
        return ngettext("%(n)s minute ago", "%(n)s minutes ago", -n) % {"n": -n}
    return ngettext("in %(n)s minute", "in %(n)s minutes", n) % {"n": n}
