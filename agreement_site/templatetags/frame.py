"""What stands around every page."""

from __future__ import annotations

from typing import Any

from django import template
from django.http import HttpRequest

from agreement_site.frame import rail

register = template.Library()


@register.simple_tag
def rail_lines(project: Any, request: HttpRequest) -> list[rail.Line]:
    return rail.lines(project, request.path)


@register.simple_tag
def open_alarms(project: Any) -> int:
    """How many cases wait for whoever leads the project; nobody else is told."""
    return rail.open_cases(project) if project.role == rail.Role.LEAD else 0


@register.simple_tag
def other_projects(project: Any, request: HttpRequest) -> list[tuple[str, str]]:
    return rail.others(request.user, project)


@register.simple_tag
def site_lines(request: HttpRequest) -> list[rail.Line]:
    return rail.site_lines(request.user, request.path)


@register.filter
def initials(name: str) -> str:
    """At most two letters of a name: AL of Ada Lovelace, AD of ada."""
    words = name.split()
    found = words[0][0] + words[-1][0] if len(words) > 1 else name.strip()[:2]
    return found.upper()
