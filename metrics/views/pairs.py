"""Pages of two raters, and of all pairs of raters."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from core.web.tables import get_page_size
from metrics.question_scale import get_weighted_name
from metrics.results import disputed_items, pair_results
from metrics.results.intervals import QuestionClusters
from metrics.results.pair_results import PairDetails
from metrics.views.common import live_updates
from metrics.views.common.filter_bar import FilterBar
from metrics.views.common.live_updates import LiveSettings
from metrics.views.common.number_formats import format_number
from metrics.views.common.selection import (
    Selection,
    UnknownSelectionError,
    get_by_key,
    get_choice,
    get_page_number,
    get_permitted_selection,
)
from metrics.views.common.sources import get_sources
from metrics.views.common.sources.base import PairSource
from metrics.views.common.trends.period_comparison import find_level_shift
from metrics.views.common.trends.trend_points import TrendPoint, is_drawable, limit_to_table
from projects.models import Rater

LIVE = LiveSettings(
    seconds=2,
    fragments=(
        "pair-title",
        "pair-table-table",
        "kappas",
        "tests",
        "others",
        "drift",
        "pair-trend-table",
        "pair-difference-table",
        "differing",
    ),
)

PAIRS_PER_PAGE = 100
DIFFERENCES_PER_PAGE = 25
PAIRS_LIVE = LiveSettings(seconds=2, fragments=("pair-list",))


@login_required
@require_safe
def show_pair(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show two different raters (?a=KEY&b=KEY), or the table of all pairs without them."""
    selection = get_permitted_selection(request, project_id, filtered=True)
    if "a" not in request.GET and "b" not in request.GET:
        return _render_pair_list(request, selection)
    a = get_by_key(Rater, selection.project, request.GET.get("a", ""))
    b = get_by_key(Rater, selection.project, request.GET.get("b", ""))
    if a == b:
        raise UnknownSelectionError(_("Choose two different raters."), list_url_name="pair")
    source = get_sources(selection).for_pair(a, b)
    unchanged = live_updates.get_unchanged_response(
        request, selection.project, source.freshness, LIVE
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
    context = build_context(selection, a, b, source) | {
        "project": selection.project,
        "selection": selection,
        "fresh": source.freshness,
        "live": LIVE,
        "filter_bar": FilterBar.from_request(request, selection),
        "a": a,
        "b": b,
        "differing": differing[:n_shown],
        "keep": {"a": a.key, "b": b.key},
        "coefficient": get_weighted_name("cohen_kappa", selection.weights),
        "number": number,
        "previous": number - 1,
        "next": number + 1,
        "more": len(differing) > n_shown,
    }
    return live_updates.render_live_page(request, "metrics/pairs/pair.html", context)


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
        "listed": pair_results.MAX_LISTED_PAIRS
        if paginator.count == pair_results.MAX_LISTED_PAIRS
        else None,
        "busiest": pair_results.MAX_HEATMAP_RATERS,
    }
    return live_updates.render_live_page(request, "metrics/pairs/pairs.html", context)


def build_context(
    selection: Selection, a: Rater, b: Rater, source: PairSource
) -> dict[str, object]:
    """Return the template context of a pair of raters, from their source.

    Its trend may still be computed by a worker when the table is there.
    """
    clusters = QuestionClusters.load(selection.question.pk, selection.project)
    details = PairDetails.from_table(source.get_table(), selection.scale, clusters)
    names = [get_weighted_name("cohen_kappa", selection.weights)]
    if selection.ordered:
        names.append("mean_difference")
    trend = source.get_trend(*names)
    points, n_older = limit_to_table(trend.lines[0])
    all_differences = trend.lines[1] if selection.ordered else []
    differences, _n_older = limit_to_table(all_differences)
    can_draw = is_drawable(points)
    return {
        "details": details,
        "pending": source.pending,
        "period": trend.period,
        "points": points,
        "is_drawn": can_draw,
        "differences_are_drawn": is_drawable(differences),
        "difference_points": differences,
        "older": n_older,
        "drift": describe_level_shift(a, b, all_differences),
        "fragment_key": f"{source.pending}-{bool(details.n_items)}-{bool(points)}-{can_draw}",
        "confusion": list(zip(selection.scale.labels, details.table.tolist(), strict=True)),
        "column_sums": [sum(column) for column in zip(*details.table.tolist(), strict=True)],
    }


def describe_level_shift(a: Rater, b: Rater, points: list[TrendPoint]) -> str:
    """Return a sentence on a clear level shift between the two raters; empty if there is none."""
    shift = find_level_shift(points)
    if shift is None:
        return ""
    higher, lower = (b, a) if shift.change < 0 else (a, b)
    text = _("Since %(day)s, %(a)s has answered %(size)s higher relative to %(b)s than before.")
    return text % {
        "a": higher.key,
        "b": lower.key,
        "size": format_number(abs(shift.change)),
        "day": shift.start.isoformat(),
    }
