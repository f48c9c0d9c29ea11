"""The page that explains a change between two periods; a worker computes the explanation."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from core.web import tables
from metrics.attribution import attribution_jobs
from metrics.views.common import live_updates
from metrics.views.common.freshness import Freshness
from metrics.views.common.selection import get_permitted_selection
from metrics.views.common.trends import period_comparison

from . import bar_chart, contributions, texts


@login_required
@require_safe
def change(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show two weeks or months, and how much each rater, category and kind of item explains."""
    selection = get_permitted_selection(request, project_id)
    comparison = period_comparison.PeriodComparison.from_request(request, selection)
    if live_updates.is_live_request(request):
        # Read only: a new request would restart the computation whenever ratings arrive.
        attribution = period_comparison.find_attribution(comparison, selection)
        return live_updates.build_pending_response(
            pending=attribution is None or attribution.pending
        )
    attribution = None
    if comparison.attribution_fields:
        attribution = attribution_jobs.get_or_request_attribution(
            selection.question, weights=selection.weights, **comparison.attribution_fields
        )
    explanation = contributions.build_explanation(attribution) if attribution else None
    is_clear = explanation is not None and explanation.is_clear
    n_bars = min(len(explanation.bars), contributions.MAX_BARS) if explanation else 0
    context = {
        "project": selection.project,
        "selection": selection,
        "fresh": Freshness.for_question(selection.question),
        "change": comparison,
        "row": attribution,
        "found": explanation,
        "bars": n_bars,
        "bars_size": bar_chart.get_height(n_bars)[0],
        "sentences": texts.build_sentences(comparison, explanation) if explanation else [],
        "clear": is_clear,
        "pale": None if is_clear else 1,
        "folds": explanation is not None
        and bool(explanation.negligible_raters)
        and not tables.is_exporting(),
        "ordered": selection.ordered,
        "keep": {"weights": selection.weights},
    }
    return render(
        request, "metrics/changes/change.html", context, status=400 if comparison.error else 200
    )
