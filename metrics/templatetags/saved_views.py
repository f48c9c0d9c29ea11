"""Template tag of the menu of saved views, which every page has that can be saved as one."""

from __future__ import annotations

from django import template

from metrics import saved_views
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
