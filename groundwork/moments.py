"""One way to write a moment on a page."""

from __future__ import annotations

import datetime

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.filter(expects_localtime=True)
def moment(value: datetime.datetime | None, form: str = "passed") -> SafeString:
    """``2026-11-22 16:41 UTC``, as an element that site.js writes in the reader's zone: as the time
    that has passed, or ``"exact"``, as after "since". Nothing of None."""
    if value is None:
        return SafeString()
    exact = f"{value:%Y-%m-%d %H:%M %Z}"
    element = '<time datetime="{}" data-moment="{}">{}</time>'
    return format_html(element, value.isoformat(), form, exact)
