"""One way to write a moment on a page."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

register = template.Library()

MINUTE, HOUR, DAY = 60, 3_600, 86_400
TOLD_IN_DAYS = 7  # from then on the day is named


@register.filter(expects_localtime=True)
def moment(value: datetime.datetime | None, form: str = "passed") -> SafeString:
    """``3 minutes ago`` or, longer ago than a week, the day; ``"exact"``, as after "since":
    ``2026-11-22 16:41 UTC``. site.js writes both in the reader's zone, in the same words and in
    the same room, so that nothing on the page moves. Nothing of None."""
    if value is None:
        return SafeString()
    exact, zone = f"{value:%Y-%m-%d %H:%M}", f"{value:%Z}"
    if form == "exact":
        element = '<time datetime="{}" data-moment="exact">{}<span class="no-js"> {}</span></time>'
        return format_html(element, value.isoformat(), exact, zone)
    return format_html(
        '<time datetime="{}" data-moment="passed" title="{} {}">{}</time>',
        value.isoformat(),
        exact,
        zone,
        passed(value),
    )


@register.filter
def last_day(end: datetime.datetime, zone: str) -> SafeString:
    """The day after which something ends, of a moment that is the midnight behind it in ``zone``:
    the next day's name is not what was chosen. The moment itself is told on top."""
    here = end.astimezone(ZoneInfo(zone))
    day = (here - datetime.timedelta(microseconds=1)).date()
    element = '<time datetime="{}" title="{}">{}</time>'
    return format_html(element, end.isoformat(), f"{here:%Y-%m-%d %H:%M} {zone}", day.isoformat())


def passed(value: datetime.datetime) -> str:
    """How long ago it was, or how far ahead it is: in the words of browsers
    (Intl.RelativeTimeFormat)."""
    ahead = (value - timezone.now()).total_seconds()
    if abs(ahead) >= TOLD_IN_DAYS * DAY:
        return f"{value:%Y-%m-%d}"
    if abs(ahead) >= DAY:
        return _days(int(ahead / DAY))
    if abs(ahead) >= HOUR:
        return _hours(int(ahead / HOUR))
    return _minutes(int(ahead / MINUTE))


def _days(n: int) -> str:
    near = {-2: _("2 days ago"), -1: _("yesterday"), 1: _("tomorrow"), 2: _("in 2 days")}
    if n in near:
        return near[n]
    return (_("%(n)s days ago") if n < 0 else _("in %(n)s days")) % {"n": abs(n)}


def _hours(n: int) -> str:
    if n < 0:
        return ngettext("%(n)s hour ago", "%(n)s hours ago", -n) % {"n": -n}
    return ngettext("in %(n)s hour", "in %(n)s hours", n) % {"n": n}


def _minutes(n: int) -> str:
    if n == 0:
        return _("this minute")
    if n < 0:
        return ngettext("%(n)s minute ago", "%(n)s minutes ago", -n) % {"n": -n}
    return ngettext("in %(n)s minute", "in %(n)s minutes", n) % {"n": n}
