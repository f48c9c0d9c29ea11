"""Template tag for the population of a part of a page."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from metrics.views.common import filter_bar
from metrics.views.common.selection import Selection

register = template.Library()


@register.simple_tag
def population_badge(selection: Selection, people_only: bool = True) -> SafeString:
    """Return a badge that says whose ratings a part of a page shows.

    It is empty unless the page shows ratings of both people and models. ``people_only``: the part
    leaves models out, unless the lead pooled them.
    """
    if not filter_bar.is_mixed(selection):
        return SafeString("")
    only_people = people_only and selection.headline["population"] == filter_bar.PEOPLE
    name = filter_bar.PEOPLE if only_people else filter_bar.ALL
    return format_html(
        '<span class="badge" data-population="{}">{}</span>', name, filter_bar.LABELS[name]
    )
