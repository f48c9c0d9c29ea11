"""The list of projects, and a project's dashboard with its live fragments."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from metrics.models import Slice
from projects.access import get_project
from projects.models import Member, Project

from . import dashboard as parts
from . import project_list, slice_views
from .filter_bar import FilterBar
from .selection import Selection, page_number, select


@require_safe
def projects(request: HttpRequest) -> HttpResponse:
    """The projects of the caller, newest first; a stranger is asked to sign in."""
    if not request.user.is_authenticated:
        return redirect("sign_in")
    visible = Project.objects.visible_to(request.user).order_by("-id")
    paginator = Paginator(visible, project_list.PROJECTS_A_PAGE)
    number = page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("No such page."))
    page = paginator.page(number)
    rows = project_list.rows(list(page.object_list), request.user)
    return render(request, "metrics/projects.html", {"page": page, "rows": rows})


@login_required
@require_safe
def dashboard(request: HttpRequest, project_id: int) -> HttpResponse:
    """How far the raters of a project agree."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    chosen = select(request, project, filtered=True)
    if chosen is None:
        return render(request, "metrics/no_question.html", {"project": project})
    fresh = _fresh(chosen)
    found = _parts(request, chosen, fresh)
    context = parts.context(request, chosen, fresh, found) if found else _waiting(chosen, fresh)
    return render(
        request, "metrics/dashboard.html", context | {"filter_bar": FilterBar.of(request, chosen)}
    )


def _fresh(chosen: Selection) -> parts.Freshness:
    fresh = parts.Freshness.of(chosen.question)
    return slice_views.asked(chosen, fresh, Slice.Kind.DASHBOARD) if chosen.filter else fresh


def _parts(request: HttpRequest, chosen: Selection, fresh: parts.Freshness) -> parts.Parts | None:
    """What the page shows; None while a worker is still to compute it."""
    if not isinstance(fresh, slice_views.SliceFreshness):
        return parts.whole(request, chosen)
    return (
        slice_views.parts(request, chosen, fresh.row.body) if fresh.row.body is not None else None
    )


def _waiting(chosen: Selection, fresh: parts.Freshness) -> dict[str, Any]:
    return {
        "project": chosen.project,
        "chosen": chosen,
        "fresh": fresh,
        "places": "waiting",
        "waiting": True,
    }


@login_required
@require_safe
def live(request: HttpRequest, project_id: int) -> HttpResponse:
    """What changed since the version that the page shows: nothing (204), the freshness alone, or
    every fragment."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    chosen = select(request, project, filtered=True)
    if chosen is None:
        raise Http404(_("No such question."))
    fresh = _fresh(chosen)
    shown = request.GET.get("version", "")
    if shown == fresh.version:
        return HttpResponse(status=204)
    if shown.partition(".")[0] == fresh.version.partition(".")[0]:
        context = {
            "project": project,
            "chosen": chosen,
            "fresh": fresh,
            "places": request.GET.get("places", ""),
        }
        return render(request, "metrics/_status.html", context | {"oob": True})
    found = _parts(request, chosen, fresh)
    context = parts.context(request, chosen, fresh, found) if found else _waiting(chosen, fresh)
    # the page has no place for what there is now
    if context["places"] != request.GET.get("places", ""):
        return HttpResponse(headers={"HX-Refresh": "true"})
    response = render(request, "metrics/live.html", context | {"oob": True})
    response["HX-Trigger"] = "charts-changed"
    return response
