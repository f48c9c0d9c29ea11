"""The list of projects, and a project's dashboard."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from projects.access import get_project, may_create_projects
from projects.models import Member, Project

from . import dashboard as dashboard_page
from . import live, project_list
from .filter_bar import FilterBar
from .selection import page_number, select
from .sources import source_of


@require_safe
def projects(request: HttpRequest) -> HttpResponse:
    """The projects of the caller, newest first; a stranger is asked to sign in."""
    if not request.user.is_authenticated:
        return redirect("sign_in")
    every = Project.objects.visible_to(request.user).order_by("-id")
    archive = request.GET.get("archive") == "1"
    visible = every.filter(archived_at__isnull=not archive)
    paginator = Paginator(visible, project_list.PROJECTS_A_PAGE)
    number = page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("No such page."))
    page = paginator.page(number)
    rows = project_list.rows(list(page.object_list), request.user)
    context = {
        "page": page,
        "rows": rows,
        "loose": any(row.loose for row in rows),
        "may_create": may_create_projects(request.user),
        "archive": archive,
        "others": every.filter(archived_at__isnull=archive).count(),
    }
    return render(request, "metrics/projects.html", context)


@login_required
@require_safe
def dashboard(request: HttpRequest, project_id: int) -> HttpResponse:
    """How far the raters of a project agree."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    chosen = select(request, project, filtered=True)
    if chosen is None:
        return render(request, "metrics/no_question.html", {"project": project})
    numbers = source_of(chosen).project()
    unchanged = live.unchanged(request, project, numbers.fresh, dashboard_page.LIVE)
    if unchanged is not None:
        return unchanged
    context: dict[str, Any] = {"places": "waiting"}
    if not numbers.waiting:
        context = dashboard_page.context(request, chosen, numbers)
    context |= {
        "project": project,
        "chosen": chosen,
        "fresh": numbers.fresh,
        "live": dashboard_page.LIVE,
        "waiting": numbers.waiting,
        "filter_bar": FilterBar.of(request, chosen),
    }
    return live.answer(request, "metrics/dashboard.html", context)
