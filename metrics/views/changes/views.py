"""What explains a change between two periods. The page asks for it; a worker computes it
(metrics.attribution.attribution_jobs)."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from core.web import tables
from metrics.attribution import attribution_jobs
from metrics.views.common import live_updates
from metrics.views.common.freshness import Freshness
from metrics.views.common.selection import chosen_question
from metrics.views.common.trends import period_comparison

from . import bar_chart, contributions, texts


@login_required
@require_safe
def change(request: HttpRequest, project_id: int) -> HttpResponse:
    """Two weeks or months, and how much of the move each rater, category and kind of item
    explains."""
    chosen = chosen_question(request, project_id)
    asked = period_comparison.Change.of(request, chosen)
    if live_updates.asks(request):
        # Only looked at: to ask anew would begin anew where ratings come all the time.
        row = period_comparison.stored(asked, chosen)
        return live_updates.awaited(waiting=row is None or row.waiting)
    row = None
    if asked.which:
        row = attribution_jobs.ask(chosen.question, weights=chosen.weights, **asked.which)
    found = contributions.told(row) if row else None
    clear = found is not None and found.clear and asked.opened != period_comparison.LAST
    bars = min(len(found.bars), contributions.BARS) if found else 0
    context = {
        "project": chosen.project,
        "chosen": chosen,
        "fresh": Freshness.of(chosen.question),
        "change": asked,
        "row": row,
        "found": found,
        "bars": bars,
        "bars_size": bar_chart.height(bars)[0],
        "sentences": texts.sentences(asked, found) if found else [],
        "clear": clear,
        "pale": None if clear else 1,
        "folds": found is not None and bool(found.small) and not tables.is_made(),
        "ordered": chosen.ordered,
        "keep": {"weights": chosen.weights},
    }
    return render(
        request, "metrics/changes/change.html", context, status=400 if asked.problem else 200
    )
