"""Views of the pages of a rater, the coefficients, the recommendation, and pairs."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from core.web.tables import get_page_size
from metrics.filters import join_keys
from metrics.results.disagreement import disputed_items
from metrics.results.pairs import pair_results as pair_list
from metrics.scale import get_weighted_name
from metrics.views import pairs
from metrics.views.coefficients import coefficient_context, recommendation
from metrics.views.common import live_updates
from metrics.views.common.filter_bar import FilterBar
from metrics.views.common.live_updates import LiveSettings
from metrics.views.common.selection import (
    Selection,
    UnknownSelectionError,
    get_by_key,
    get_choice,
    get_page_number,
    get_permitted_selection,
)
from metrics.views.common.sources import get_sources
from metrics.views.common.sources.filtered import CoefficientSource
from projects.models import Rater

from . import model_versions, rater_context

PAIRS_PER_PAGE = 100
DIFFERENCES_PER_PAGE = 25
PAIRS_LIVE = LiveSettings(seconds=2, fragments=("pair-list",))


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
        "table_size": _get_table_class(selection),
        "differences": differences,
    }
    return live_updates.render_live_page(request, "metrics/raters/rater.html", context)


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


@login_required
@require_safe
def show_pair(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show two raters (?a=KEY&b=KEY), or the table of all pairs without them."""
    selection = get_permitted_selection(request, project_id, filtered=True)
    if "a" not in request.GET and "b" not in request.GET:
        return _render_pair_list(request, selection)
    a = get_by_key(Rater, selection.project, request.GET.get("a", ""))
    b = get_by_key(Rater, selection.project, request.GET.get("b", ""))
    if a == b:
        raise UnknownSelectionError(_("Choose two different raters."), list_url_name="pair")
    source = get_sources(selection).for_pair(a, b)
    unchanged = live_updates.get_unchanged_response(
        request, selection.project, source.freshness, pairs.LIVE
    )
    if unchanged is not None:
        return unchanged
    number = get_page_number(request)
    n_shown = get_page_size(DIFFERENCES_PER_PAGE)
    start = (number - 1) * n_shown
    window = slice(start, start + n_shown + 1)
    differing = disputed_items.list_pair_differences(
        selection.question, a, b, selection.scale, page=window, rating_filter=selection.filter
    )
    context = pairs.build_context(selection, a, b, source) | {
        "project": selection.project,
        "selection": selection,
        "fresh": source.freshness,
        "live": pairs.LIVE,
        "filter_bar": FilterBar.from_request(request, selection),
        "a": a,
        "b": b,
        "differing": differing[:n_shown],
        "table_size": _get_table_class(selection),
        "keep": {"a": a.key, "b": b.key},
        "coefficient": get_weighted_name("cohen_kappa", selection.weights),
        "number": number,
        "previous": number - 1,
        "next": number + 1,
        "more": len(differing) > n_shown,
    }
    return live_updates.render_live_page(request, "metrics/pairs/pair.html", context)


def _get_table_class(selection: Selection) -> str:
    """Return the CSS class of a table with so many categories."""
    return f"k{min(selection.scale.k, 9)}"


def _render_pair_list(request: HttpRequest, selection: Selection) -> HttpResponse:
    sort = get_choice(request.GET, "sort", ["items", "-items", "kappa", "-kappa"]) or "-items"
    source = get_sources(selection).for_project()
    unchanged = live_updates.get_unchanged_response(
        request, selection.project, source.freshness, PAIRS_LIVE
    )
    if unchanged is not None:
        return unchanged
    paginator = Paginator(source.list_pair_refs(sort), get_page_size(PAIRS_PER_PAGE))
    number = get_page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("Page not found."))
    page = paginator.page(number)
    page_pairs = source.load_pairs(list(page.object_list))
    context = {
        "project": selection.project,
        "selection": selection,
        "fresh": source.freshness,
        "live": PAIRS_LIVE,
        "coefficient": get_weighted_name("cohen_kappa", selection.weights),
        "fragment_key": f"{source.pending}-{bool(page_pairs)}",
        "pending": source.pending,
        "filter_bar": FilterBar.from_request(request, selection),
        "page": page,
        "pairs": page_pairs,
        "sort": sort,
        # The list ends there; filtered lists are shorter.
        "listed": pair_list.MAX_LISTED_PAIRS
        if paginator.count == pair_list.MAX_LISTED_PAIRS
        else None,
        "busiest": pair_list.MAX_HEATMAP_RATERS,
    }
    return live_updates.render_live_page(request, "metrics/pairs/pairs.html", context)
