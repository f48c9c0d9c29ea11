"""Template tags of parts of pages: the badge of the population and the menu of saved views."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from metrics import saved_views
from metrics.views.common import filter_bar
from metrics.views.common.selection import Selection
from metrics.views.saved_views import list_views_of_page

register = template.Library()


@register.inclusion_tag("metrics/saved_views/_menu.html", takes_context=True)
def saved_views_menu(context: template.Context, page: str) -> dict[str, object]:
    """Render the saved views of this page, and for leads the form that saves the current one."""
    project = context["project"]
    parameters, question = context["request"].GET, context["selection"].question.key
    query = saved_views.build_query(page, parameters, question=question)
    return {
        "project": project,
        "page": page,
        "query": query,
        "views": list_views_of_page(project, page, query),
        "may_keep": project.can_manage,
        "csrf_token": context.get("csrf_token"),
    }


@register.simple_tag
def population_badge(selection: Selection, people_only: bool = True) -> SafeString:
    """Return a badge that says whose ratings a part of a page shows.

    It is empty unless the page shows ratings of both people and models. ``people_only``: the part
    leaves models out, unless the lead pooled them.
    """
    if not filter_bar.is_of_people_and_models(selection):
        return SafeString("")
    only_people = people_only and selection.headline["population"] == filter_bar.PEOPLE
    name = filter_bar.PEOPLE if only_people else filter_bar.ALL
    return format_html(
        '<span class="badge" data-population="{}">{}</span>', name, filter_bar.LABELS[name]
    )
