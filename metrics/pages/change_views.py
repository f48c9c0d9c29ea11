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

from . import change_page, charts, live
from .freshness import Freshness
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
    if live.asks(request):
        # Only looked at: to ask anew would begin anew where ratings come all the time.
        row = change_page.stored(asked, chosen)
        return live.awaited(waiting=row is None or row.waiting)
    row = None
    if asked.which:
        row = attributing.ask(chosen.question, weights=chosen.weights, **asked.which)
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
        "ordered": chosen.ordered,
        "keep": {"weights": chosen.weights},
    }
    return render(request, "metrics/change.html", context, status=400 if asked.problem else 200)
