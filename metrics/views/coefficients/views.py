"""Pages of the coefficients of a question, and of the recommended one."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from metrics.views.common import live_updates
from metrics.views.common.filter_bar import FilterBar
from metrics.views.common.selection import get_permitted_selection
from metrics.views.common.sources import get_sources
from metrics.views.common.sources.filtered import CoefficientSource

from . import coefficient_context, recommendation


@login_required
@require_safe
def show_coefficients(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show every coefficient of a question, also under each policy for missing ratings."""
    selection = get_permitted_selection(request, project_id, filtered=True)
    scores = coefficient_context.ScoreSource.from_query(request.GET)
    source = CoefficientSource(selection, scores=scores.name)
    unchanged = live_updates.get_unchanged_response(
        request, selection.project, source.freshness, coefficient_context.LIVE
    )
    if unchanged is not None:
        return unchanged
    context: dict[str, object] = {"fragment_key": "pending"}
    if not source.pending:
        context = coefficient_context.build_context(selection, source)
    context |= {
        "project": selection.project,
        "selection": selection,
        "fresh": source.freshness,
        "live": coefficient_context.LIVE,
        "scores": scores,
        "pending": source.pending,
        "filter_bar": FilterBar.from_request(request, selection),
    }
    return live_updates.render_live_page(request, "metrics/coefficients/coefficients.html", context)


@login_required
@require_safe
def show_recommendation(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show which coefficient suits the question: by scale, raters, missing ratings and purpose."""
    selection = get_permitted_selection(request, project_id)
    result = get_sources(selection).for_project().agreement
    context = recommendation.build_context(selection, result)
    context |= {"project": selection.project, "selection": selection}
    return render(request, "metrics/coefficients/recommendation.html", context)
