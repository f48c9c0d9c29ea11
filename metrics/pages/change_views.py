"""What explains a change between two periods. The page asks for it; a worker computes it
(metrics.on_request.attributing)."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from metrics.on_request import attributing
from projects.access import get_project
from projects.models import Member

from . import change_page, charts
from .dashboard import Freshness
from .selection import Selection, select


def _chosen(request: HttpRequest, project_id: int) -> Selection:
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    chosen = select(request, project)
    if chosen is None:
        raise Http404(_("This project has no question yet."))
    return chosen


@login_required
@require_safe
def change(request: HttpRequest, project_id: int) -> HttpResponse:
    """Two weeks or months, and how much of the move each rater, category and kind of item
    explains."""
    chosen = _chosen(request, project_id)
    asked = change_page.Change.of(request, chosen)
    row = (
        attributing.ask(chosen.question, weights=chosen.weights, **asked.which)
        if asked.which
        else None
    )
    found = change_page.told(row) if row else None
    bars = min(len(found.bars), change_page.BARS) if found else 0
    context = {
        "project": chosen.project,
        "chosen": chosen,
        "fresh": Freshness.of(chosen.question),
        "change": asked,
        "row": row,
        "found": found,
        "bars": bars,
        "bars_size": charts.bars_height(bars)[0],
        "sentences": change_page.sentences(asked, found) if found else [],
        "ordered": chosen.scale.kind != "nominal",
        "keep": {"weights": chosen.weights},
    }
    return render(request, "metrics/change.html", context, status=400 if asked.problem else 200)


@login_required
@require_safe
def change_state(request: HttpRequest, project_id: int) -> HttpResponse:
    """Asked by the page while it waits: nothing (204), or to be loaded anew when the result is
    there."""
    chosen = _chosen(request, project_id)
    row = change_page.stored(change_page.Change.of(request, chosen), chosen)
    if row is None or row.waiting:
        return HttpResponse(status=204)
    return HttpResponse(headers={"HX-Refresh": "true"})
