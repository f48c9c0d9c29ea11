"""The page of a rater."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from metrics.filters import join_keys
from metrics.results.disagreement import disputed_items
from metrics.views.common import live_updates
from metrics.views.common.filter_bar import FilterBar
from metrics.views.common.selection import get_by_key, get_permitted_selection
from metrics.views.common.sources import get_sources
from projects.models import Rater

from . import model_versions, rater_context


@login_required
@require_safe
def show_rater(request: HttpRequest, project_id: int, key: str) -> HttpResponse:
    """Show one rater against the others: trend, confusion, bias, pairs, recent differences."""
    selection = get_permitted_selection(request, project_id, filtered=True)
    selected_rater = get_by_key(Rater, selection.project, key)
    source = get_sources(selection).for_rater(selected_rater)
    unchanged = live_updates.get_unchanged_response(
        request, selection.project, source.freshness, rater_context.LIVE
    )
    if unchanged is not None:
        return unchanged
    differences = disputed_items.list_recent_differences(
        selection.question, selected_rater, selection.scale, rating_filter=selection.filter
    )
    context = rater_context.build_context(selection, source) | {
        "project": selection.project,
        "selection": selection,
        "fresh": source.freshness,
        "live": rater_context.LIVE,
        "filter_bar": FilterBar.from_request(request, selection),
        "rater": selected_rater,
        "without": join_keys([selected_rater.key]),
        "versions": []
        if selection.filter
        else model_versions.list_prompt_versions(selection.question, selected_rater),
        "differences": differences,
    }
    return live_updates.render_live_page(request, "metrics/raters/rater.html", context)
