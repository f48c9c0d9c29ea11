"""The menu of views with a name, on each page that can be kept as one."""

from __future__ import annotations

from typing import Any

from django import template

from metrics.saved_views import services
from metrics.views.saved_views import views
from projects.models import Member

register = template.Library()


@register.inclusion_tag("metrics/saved_views/_menu.html", takes_context=True)
def views_menu(context: template.Context, page: str) -> dict[str, Any]:
    """Those of this page, and for a lead the field that keeps what is looked at."""
    project = context["project"]
    given, question = context["request"].GET, context["chosen"].question.key
    query = services.query_of(page, given, question=question)
    return {
        "project": project,
        "page": page,
        "query": query,
        "views": views.offered(project, page, query),
        "may_keep": project.role == Member.Role.LEAD,
        "csrf_token": context.get("csrf_token"),
    }
