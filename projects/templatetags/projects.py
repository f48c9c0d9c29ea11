"""Template tags of projects: approvals, guidelines, offered roles and time zones."""

from __future__ import annotations

import functools
from typing import Any

from django import template
from django.template import Context
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from projects.guidelines import render_markdown
from projects.models import MemberOffer, Project
from projects.services import approvals, joining
from projects.services.project_validation import list_time_zones

register = template.Library()


@register.inclusion_tag("projects/_approval_hint.html", takes_context=True)
def approval_hint(context: Context, project: Project, action: str) -> dict[str, object]:
    """Show the approval that the user has for the action, or where to request one."""
    if not approvals.is_needed():
        return {"is_needed": False}
    approval = approvals.list_usable_approvals(project, action, context["request"].user)
    return {
        "is_needed": True,
        "approval": approval.select_related("decided_by").first(),
        "project": project,
        "action": action,
    }


@register.filter
def markdown(text: str) -> SafeString:
    """Render Markdown as safe HTML: ``{{ project.guidelines|markdown }}``."""
    return render_markdown(text or "")


@register.simple_tag
def open_offers(user: Any) -> list[MemberOffer]:
    """List the user's open offers, newest first: ``{% open_offers user as offers %}``."""
    return joining.list_recent_offers(user)


@register.simple_tag
@functools.cache  # six hundred, the same on every page
def time_zone_options() -> SafeString:
    """Return an <option> for each time zone, for a <datalist>: ``{% time_zone_options %}``."""
    return format_html_join(
        "", '<option value="{}"></option>', ((zone,) for zone in list_time_zones())
    )
