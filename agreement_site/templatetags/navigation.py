"""Template tags for the navigation around every page."""

from __future__ import annotations

from typing import Any, NamedTuple

from django import template
from django.http import HttpRequest

from agreement_site.navigation import sidebar

register = template.Library()


class InboxSummary(NamedTuple):
    """Number of entries in the inbox, and a text for each kind."""

    total: int
    descriptions: list[str]


@register.simple_tag
def project_links(project: Any, request: HttpRequest) -> list[sidebar.SidebarLink]:
    return sidebar.build_project_links(project, request.path)


@register.simple_tag
def inbox_summary(project: Any) -> InboxSummary:
    """Return the inbox of the project, which the bell in the header shows."""
    inbox = sidebar.list_inbox_entries(project)
    return InboxSummary(sum(entry.number for entry in inbox), [entry.words for entry in inbox])


@register.simple_tag
def other_projects(project: Any, request: HttpRequest) -> list[tuple[str, str]]:
    return sidebar.list_other_projects(request.user, project)


@register.simple_tag
def start_url(project: Any) -> str:
    """Return the URL where the user starts in the project."""
    return sidebar.get_start_url(project.pk, project.role)


@register.simple_tag
def site_links(request: HttpRequest) -> list[sidebar.SidebarLink]:
    return sidebar.build_site_links(request.user, request.path)


@register.filter
def initials(name: str) -> str:
    """Return at most two letters of a name: AL for Ada Lovelace, AD for ada."""
    words = name.split()
    letters = words[0][0] + words[-1][0] if len(words) > 1 else name.strip()[:2]
    return letters.upper()
