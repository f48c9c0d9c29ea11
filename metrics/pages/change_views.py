"""What explains a change between two periods. The page asks for it; a worker computes it
(metrics.on_request.attributing)."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from core.web import tables
from metrics.on_request import attributing

from . import bar_chart, change_page, change_parts, change_words, live
from .freshness import Freshness
from .selection import chosen_question


@login_required
@require_safe
def change(request: HttpRequest, project_id: int) -> HttpResponse:
    """Two weeks or months, and how much of the move each rater, category and kind of item
    explains."""
    chosen = chosen_question(request, project_id)
    asked = change_page.Change.of(request, chosen)
    if live.asks(request):
        # Only looked at: to ask anew would begin anew where ratings come all the time.
        row = change_page.stored(asked, chosen)
        return live.awaited(waiting=row is None or row.waiting)
    row = None
    if asked.which:
        row = attributing.ask(chosen.question, weights=chosen.weights, **asked.which)
    found = change_parts.told(row) if row else None
    clear = found is not None and found.clear and asked.opened != change_page.LAST
    bars = min(len(found.bars), change_parts.BARS) if found else 0
    context = {
        "project": chosen.project,
        "chosen": chosen,
        "fresh": Freshness.of(chosen.question),
        "change": asked,
        "row": row,
        "found": found,
        "bars": bars,
        "bars_size": bar_chart.height(bars)[0],
        "sentences": change_words.sentences(asked, found) if found else [],
        "clear": clear,
        "pale": None if clear else 1,
        "folds": found is not None and bool(found.small) and not tables.is_made(),
        "ordered": chosen.ordered,
        "keep": {"weights": chosen.weights},
    }
    return render(request, "metrics/change.html", context, status=400 if asked.problem else 200)
