"""The list of projects, and a project's dashboard."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from core.web.tables import a_page, is_made
from metrics.example import loader
from metrics.views.common import live_updates
from metrics.views.common.filter_bar import FilterBar, nothing_chosen
from metrics.views.common.selection import Selection, one_of, page_number, select
from metrics.views.common.sources import source_of
from metrics.views.common.sources.base import ProjectNumbers
from metrics.views.project_list import listing
from metrics.views.project_list.rows import Group
from metrics.views.questions import overview
from projects.models import Member, Project
from projects.permissions import get_project, may_create_projects
from ratings.annotation.progress import project_states

from . import dashboard_context as dashboard_page

MANY_PROJECTS = 12  # from so many on an annotator's list can be searched


@require_safe
def projects(request: HttpRequest) -> HttpResponse:
    """The projects of the caller, newest first; a stranger is asked to sign in."""
    if not request.user.is_authenticated:
        return redirect("sign_in")
    search = (request.GET.get("search") or "").strip()
    if "\0" in search or len(search) > listing.LONGEST_SEARCH:
        raise BadRequest(_("Search for a shorter text."))
    group = one_of(request.GET, "group", Group.values) or ""
    if request.GET.get("archive") == "1":  # the address of earlier releases
        group = Group.ARCHIVED.value
    sort = one_of(request.GET, "sort", list(listing.SORTS)) or "newest"
    listed = listing.listed(request.user, search=search, sort=sort, group=group)
    paginator = Paginator(listed.rows, a_page(listing.PROJECTS_A_PAGE))
    number = page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("No such page."))
    page = paginator.page(number)
    listing.draw(list(page.object_list))
    rated = [row.project for row in page.object_list if not row.sees_results and not row.going]
    own = project_states.of(request.user, rated)
    for row in page.object_list:
        row.own = own.get(row.project.pk)
    may_create = may_create_projects(request.user)
    context = {
        "page": page,
        "rows": page.object_list,
        "listed": listed,
        "sorts": [(name, words) for name, (words, _key) in listing.SORTS.items()],
        "loose": any(row.loose for row in page.object_list),
        "sees_results": any(row.sees_results for row in page.object_list),
        "may_create": may_create,
        "examples": _examples(listed) if may_create else (False, False),
        "archive": group == Group.ARCHIVED,
        "as_file": is_made(),
    }
    if (page.object_list or search or group) and not may_create and _only_rates(request.user):
        context["searched"] = bool(search) or paginator.count > MANY_PROJECTS
        return render(request, "metrics/project_list/annotator_projects.html", context)
    return render(request, "metrics/project_list/projects.html", context)


def _only_rates(user: Any) -> bool:
    """Whether the user is an annotator in each of their projects."""
    return not Member.objects.filter(user=user).exclude(role=Member.Role.ANNOTATOR).exists()


def _nothing(chosen: Selection, numbers: ProjectNumbers) -> dict[str, Any] | None:
    """What is said instead of cards without a number; None where the filter chose something."""
    if not chosen.filter or dashboard_page.has_ratings(numbers.reading):
        return None
    return {"places": "nothing", "nothing": nothing_chosen(chosen)}


def _examples(listed: listing.Listed) -> tuple[bool, bool]:
    """Which examples are offered: of the whole list those that are not in it."""
    if listed.search or listed.group:
        return False, False
    led = {row.project.name for row in listed.rows if row.role == Member.Role.LEAD}
    return loader.missing(led)


@login_required
@require_safe
def dashboard(request: HttpRequest, project_id: int) -> HttpResponse:
    """How far the raters of a project agree on a question; of several, where the address names
    none, all of them side by side."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    chosen = select(request, project, filtered=True)
    if chosen is not None and len(chosen.questions) > 1 and overview.is_asked(request):
        return overview.page(request, project, chosen.questions)
    return _dashboard(request, project, chosen)


def dashboard_of(request: HttpRequest, project: Project) -> HttpResponse:
    """Of the question that the address names, or of the first one."""
    return _dashboard(request, project, select(request, project, filtered=True))


def _dashboard(request: HttpRequest, project: Project, chosen: Selection | None) -> HttpResponse:
    if chosen is None:
        return render(request, "metrics/common/no_question.html", {"project": project})
    numbers = source_of(chosen).project()
    unchanged = live_updates.unchanged(request, project, numbers.fresh, dashboard_page.LIVE)
    if unchanged is not None:
        return unchanged
    context: dict[str, Any] = {"places": "waiting"}
    if not numbers.waiting:
        context = _nothing(chosen, numbers) or dashboard_page.context(request, chosen, numbers)
    context |= {
        "project": project,
        "chosen": chosen,
        "fresh": numbers.fresh,
        "live": dashboard_page.LIVE,
        "waiting": numbers.waiting,
        "filter_bar": FilterBar.of(request, chosen),
    }
    return live_updates.answer(request, "metrics/dashboard/dashboard.html", context)
