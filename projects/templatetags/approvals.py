"""Template tag that tells whether an action needs a second person."""

from __future__ import annotations

from django import template
from django.template import Context

from projects.models import Project
from projects.services import approvals

register = template.Library()


@register.inclusion_tag("projects/_approval_hint.html", takes_context=True)
def approval_hint(context: Context, project: Project, action: str) -> dict[str, object]:
    """Show the approval that the user has for the action, or where to request one."""
    if not approvals.is_needed():
        return {"is_needed": False}
    approval = approvals.find_usable(project, action, context["request"].user)
    return {
        "is_needed": True,
        "approval": approval.select_related("decided_by").first(),
        "project": project,
        "action": action,
    }
