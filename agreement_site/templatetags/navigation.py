"""Template tags for the navigation around every page."""

from __future__ import annotations

from typing import Any, NamedTuple

from django import template
from django.http import HttpRequest

from agreement_site.navigation import sidebar
from quality.inbox.entry_counts import EntryCount

register = template.Library()


class InboxSummary(NamedTuple):
    """Number of entries in the inbox, and a text for each kind."""

    total: int
    descriptions: list[str]


@register.simple_tag
def project_navigation(project: Any, request: HttpRequest) -> sidebar.ProjectNavigation:
    question = request.GET.get("question", "")
    return sidebar.build_project_navigation(project, request.path, question)


@register.filter
def summarize_inbox(inbox: list[EntryCount]) -> InboxSummary:
    """Return the number of things in the inbox, and a text for each kind, for the header's bell."""
    return InboxSummary(sum(entry.number for entry in inbox), [entry.text for entry in inbox])


@register.simple_tag
def other_projects(project: Any, request: HttpRequest) -> list[tuple[str, str]]:
    return sidebar.list_other_projects(request.user, project)


@register.simple_tag
def start_url(project: Any) -> str:
    """Return the URL where the user starts in the project."""
    return sidebar.get_start_url(project.pk, project.role)


@register.simple_tag
def site_links(request: HttpRequest) -> list[sidebar.NavigationLink]:
    return sidebar.list_site_links(request.user, request.path)


@register.simple_tag
def user_menu(request: HttpRequest) -> list[sidebar.NavigationLink]:
    return sidebar.list_user_menu(request.user, request.path)


@register.filter
def initials(name: str) -> str:
    """Return at most two letters of a name: AL for Ada Lovelace, AD for ada."""
    words = name.split()
    letters = words[0][0] + words[-1][0] if len(words) > 1 else name.strip()[:2]
    return letters.upper()
