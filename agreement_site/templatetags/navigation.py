"""What stands around every page."""

from __future__ import annotations

from typing import Any, NamedTuple

from django import template
from django.http import HttpRequest

from agreement_site.navigation import sidebar

register = template.Library()


class Waiting(NamedTuple):
    """How many things wait, and each kind in words."""

    number: int
    words: list[str]


@register.simple_tag
def rail_lines(project: Any, request: HttpRequest) -> list[sidebar.Line]:
    return sidebar.lines(project, request.path)


@register.simple_tag
def waits_for(project: Any) -> Waiting:
    """What the bell of a project rings for."""
    found = sidebar.waiting_for(project)
    return Waiting(sum(one.number for one in found), [one.words for one in found])


@register.simple_tag
def other_projects(project: Any, request: HttpRequest) -> list[tuple[str, str]]:
    return sidebar.others(request.user, project)


@register.simple_tag
def first_page_of(project: Any) -> str:
    """Where the caller begins in the project."""
    return sidebar.first_page(project.pk, project.role)


@register.simple_tag
def site_lines(request: HttpRequest) -> list[sidebar.Line]:
    return sidebar.site_lines(request.user, request.path)


@register.filter
def initials(name: str) -> str:
    """At most two letters of a name: AL of Ada Lovelace, AD of ada."""
    words = name.split()
    found = words[0][0] + words[-1][0] if len(words) > 1 else name.strip()[:2]
    return found.upper()
