"""The desk as pages of the set-up show it."""

from __future__ import annotations

from typing import Any

from django import template
from django.forms import BaseFormSet

from projects.models import Category
from ratings.desk.preview_views import shown

register = template.Library()


@register.inclusion_tag("ratings/_desk_preview.html")
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
