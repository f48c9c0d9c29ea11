"""The pages behind the dashboard: one rater, the pairs and one pair, the items and one item."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from core.web.tables import a_page
from metrics.filters import one_line
from metrics.results.disagreement import disputed_items
from metrics.results.pairs import pair_results as pair_list
from metrics.scale import weighted
from metrics.views.coefficients import coefficient_context, recommendation
from metrics.views.common import live_updates
from metrics.views.common.filter_bar import FilterBar
from metrics.views.common.live_updates import Live
from metrics.views.common.selection import (
    Selection,
    Unknown,
    by_key,
    chosen_question,
    one_of,
    page_number,
)
from metrics.views.common.sources import source_of
from metrics.views.common.sources.filtered import SlicedCoefficients
from metrics.views.pairs import pair_context
from projects.models import Rater

from . import model_versions, rater_context

PAIRS_A_PAGE = 100
DIFFERENCES_A_PAGE = 25
PAIRS_LIVE = Live(seconds=2, fragments=("pair-list",))


@login_required
@require_safe
def rater(request: HttpRequest, project_id: int, key: str) -> HttpResponse:
    """One rater against the others: trend, confusion, bias, pairs, recent disagreements."""
    chosen = chosen_question(request, project_id, filtered=True)
    found = by_key(Rater, chosen.project, key)
    numbers = source_of(chosen).rater(found)
    unchanged = live_updates.unchanged(request, chosen.project, numbers.fresh, rater_context.LIVE)
    if unchanged is not None:
        return unchanged
    differences = disputed_items.recent_differences(
        chosen.question, found, chosen.scale, chosen=chosen.filter
    )
    context = rater_context.context(chosen, numbers) | {
        "project": chosen.project,
        "chosen": chosen,
        "fresh": numbers.fresh,
        "live": rater_context.LIVE,
        "filter_bar": FilterBar.of(request, chosen),
        "rater": found,
        "without": one_line([found.key]),
        "versions": [] if chosen.filter else model_versions.versions(chosen.question, found),
        "table_size": _table_size(chosen),
        "differences": differences,
    }
    return live_updates.answer(request, "metrics/raters/rater.html", context)


@login_required
@require_safe
def coefficients(request: HttpRequest, project_id: int) -> HttpResponse:
    """Every coefficient of a question, and what rules about missing ratings make of it."""
    chosen = chosen_question(request, project_id, filtered=True)
    scores = coefficient_context.Scores.of(request.GET)
    numbers = SlicedCoefficients(chosen, scores=scores.asked)
    unchanged = live_updates.unchanged(
        request, chosen.project, numbers.fresh, coefficient_context.LIVE
    )
    if unchanged is not None:
        return unchanged
    context: dict[str, object] = {"places": "waiting"}
    if not numbers.waiting:
        context = coefficient_context.context(chosen, numbers)
    context |= {
        "project": chosen.project,
        "chosen": chosen,
        "fresh": numbers.fresh,
        "live": coefficient_context.LIVE,
        "scores": scores,
        "waiting": numbers.waiting,
        "filter_bar": FilterBar.of(request, chosen),
    }
    return live_updates.answer(request, "metrics/coefficients/coefficients.html", context)


@login_required
@require_safe
def which(request: HttpRequest, project_id: int) -> HttpResponse:
    """Which coefficient? By scale, raters, missing ratings and purpose."""
    chosen = chosen_question(request, project_id)
    reading = source_of(chosen).project().reading
    context = recommendation.context(chosen, reading)
    context |= {"project": chosen.project, "chosen": chosen}
    return render(request, "metrics/coefficients/recommendation.html", context)


@login_required
@require_safe
def pair(request: HttpRequest, project_id: int) -> HttpResponse:
    """Two raters (?a=KEY&b=KEY), or, without them, the table of all pairs."""
    chosen = chosen_question(request, project_id, filtered=True)
    if "a" not in request.GET and "b" not in request.GET:
        return _all_pairs(request, chosen)
    a = by_key(Rater, chosen.project, request.GET.get("a", ""))
    b = by_key(Rater, chosen.project, request.GET.get("b", ""))
    if a == b:
        raise Unknown(_("A pair is two different raters."), listed_at="pair")
    numbers = source_of(chosen).pair(a, b)
    unchanged = live_updates.unchanged(request, chosen.project, numbers.fresh, pair_context.LIVE)
    if unchanged is not None:
        return unchanged
    number = page_number(request)
    shown = a_page(DIFFERENCES_A_PAGE)
    start = (number - 1) * shown
    part = slice(start, start + shown + 1)
    differing = disputed_items.between(
        chosen.question, a, b, chosen.scale, part=part, chosen=chosen.filter
    )
    context = pair_context.context(chosen, a, b, numbers) | {
        "project": chosen.project,
        "chosen": chosen,
        "fresh": numbers.fresh,
        "live": pair_context.LIVE,
        "filter_bar": FilterBar.of(request, chosen),
        "a": a,
        "b": b,
        "differing": differing[:shown],
        "table_size": _table_size(chosen),
        "keep": {"a": a.key, "b": b.key},
        "coefficient": weighted("cohen_kappa", chosen.weights),
        "number": number,
        "previous": number - 1,
        "next": number + 1,
        "more": len(differing) > shown,
    }
    return live_updates.answer(request, "metrics/pairs/pair.html", context)


def _table_size(chosen: Selection) -> str:
    """The class of a chart with so many categories."""
    return f"k{min(chosen.scale.k, 9)}"


def _all_pairs(request: HttpRequest, chosen: Selection) -> HttpResponse:
    sort = one_of(request.GET, "sort", ["items", "-items", "kappa", "-kappa"]) or "-items"
    numbers = source_of(chosen).project()
    unchanged = live_updates.unchanged(request, chosen.project, numbers.fresh, PAIRS_LIVE)
    if unchanged is not None:
        return unchanged
    paginator = Paginator(numbers.listed_pairs(sort), a_page(PAIRS_A_PAGE))
    number = page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("No such page."))
    page = paginator.page(number)
    shown = numbers.pairs_of_page(list(page.object_list))
    context = {
        "project": chosen.project,
        "chosen": chosen,
        "fresh": numbers.fresh,
        "live": PAIRS_LIVE,
        "coefficient": weighted("cohen_kappa", chosen.weights),
        "places": f"{numbers.waiting}-{bool(shown)}",
        "waiting": numbers.waiting,
        "filter_bar": FilterBar.of(request, chosen),
        "page": page,
        "pairs": shown,
        "sort": sort,
        # the list is cut there: a slice has fewer
        "listed": pair_list.LISTED if paginator.count == pair_list.LISTED else None,
        "busiest": pair_list.SHOWN_RATERS,
    }
    return live_updates.answer(request, "metrics/pairs/pairs.html", context)
