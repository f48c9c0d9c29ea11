"""The desk as pages of the set-up show it, and what leads write to raters."""

from __future__ import annotations

import re
from typing import Any

from django import template
from django.forms import BaseFormSet
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from projects.models import Category
from ratings.annotation.preview_views import shown

register = template.Library()

# Addresses with a scheme alone: whoever writes "it.so" means no page. What ends a sentence is no
# part of one.
_ADDRESS = re.compile(r"""(https?://[^\s<>"']*[^\s<>"'.,;:!?)\]}、。，；：！？）】」])""")
_LINK = '<a href="{}" target="_blank" rel="noopener noreferrer nofollow">{}</a>'


@register.filter
def with_links(text: str) -> SafeString:
    """The text, its http(s) addresses as links; all else is escaped."""
    parts = _ADDRESS.split(text)
    return format_html_join(
        "",
        "{}",
        (
            (format_html(_LINK, part, part) if place % 2 else part,)
            for place, part in enumerate(parts)
        ),
    )


@register.inclusion_tag("ratings/_question_preview.html")
def desk_preview(text: str | None, categories: BaseFormSet) -> dict[str, Any]:
    """The question as the page's forms show it when it comes; from then on the page asks anew
    after each change."""
    rows = [(form["label"].value() or "", form["hotkey"].value() or "") for form in categories]
    return shown(
        text or "",
        [
            Category(code=code, label=label, hotkey=key)
            for code, (label, key) in enumerate(rows)
            if label
        ],
    )
