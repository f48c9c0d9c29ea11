"""The pages behind the dashboard: one rater, the pairs and one pair, the items and one item."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from projects.access import get_project
from projects.models import Item, Member, Rater

from . import disputes, item_list, trends, words
from . import pairs as pair_list
from .dashboard import Freshness
from .models import RaterReading, Span
from .pair_details import PairDetails
from .rater_page import category_use
from .selection import Selection, by_key, one_of, page_number, select

PAIRS_A_PAGE = 100
DIFFERENCES_A_PAGE = 25


def _chosen(request: HttpRequest, project_id: int) -> Selection:
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    chosen = select(request, project)
    if chosen is None:
        raise Http404(_("This project has no question yet."))
    return chosen


@login_required
@require_safe
def rater(request: HttpRequest, project_id: int, key: str) -> HttpResponse:
    """One rater against the others: trend, confusion, bias, pairs, recent disagreements."""
    chosen = _chosen(request, project_id)
    found = by_key(Rater, chosen.project, key)
    whole = RaterReading.objects.filter(question=chosen.question, rater=found, span=Span.ALL).first()
    period = chosen.period or trends.rater_period(chosen.question, found)
    pairwise = words.weighted("mean_pairwise_kappa", chosen.weights)
    context = {
        "project": chosen.project,
        "chosen": chosen,
        "fresh": Freshness.of(chosen.question),
        "rater": found,
        "whole": whole,
        "period": period,
        "points": trends.rater_points(chosen.question, found, period, chosen.vs_peers),
        "bias_points": trends.rater_points(chosen.question, found, period, "vs_peers_bias"),
        "peers": whole and whole.coefficients.get(chosen.vs_peers),
        "pairwise_name": pairwise,
        "pairwise": whole and whole.coefficients.get(pairwise),
        "table_size": f"k{min(chosen.scale.k, 9)}",
        "use": category_use(whole, chosen.scale),
        "confusion": list(zip(chosen.scale.labels, whole.details.get("table", []), strict=False)) if whole else [],
        "pairs": pair_list.with_rater(chosen.question, found, chosen.scale, chosen.weights),
        "differences": disputes.recent_differences(chosen.question, found, chosen.scale),
    }
    return render(request, "metrics/rater.html", context)


@login_required
@require_safe
def pair(request: HttpRequest, project_id: int) -> HttpResponse:
    """Two raters (?a=KEY&b=KEY), or, without them, the table of all pairs."""
    chosen = _chosen(request, project_id)
    if "a" not in request.GET and "b" not in request.GET:
        return _all_pairs(request, chosen)
    a, b = (by_key(Rater, chosen.project, request.GET.get(side, "")) for side in "ab")
    if a == b:
        raise Http404(_("A pair is two different raters."))
    details = PairDetails.of(chosen.question, a, b, chosen.scale)
    number = page_number(request)
    start = (number - 1) * DIFFERENCES_A_PAGE
    part = slice(start, start + DIFFERENCES_A_PAGE + 1)
    differing = disputes.between(chosen.question, a, b, chosen.scale, part=part)
    context = {
        "project": chosen.project,
        "chosen": chosen,
        "fresh": Freshness.of(chosen.question),
        "a": a,
        "b": b,
        "details": details,
        "confusion": list(zip(chosen.scale.labels, details.table.tolist(), strict=True)),
        "differing": differing[:DIFFERENCES_A_PAGE],
        "table_size": f"k{min(chosen.scale.k, 9)}",
        "keep": {"a": a.key, "b": b.key},
        "number": number,
        "previous": number - 1,
        "next": number + 1,
        "more": len(differing) > DIFFERENCES_A_PAGE,
    }
    return render(request, "metrics/pair.html", context)


def _all_pairs(request: HttpRequest, chosen: Selection) -> HttpResponse:
    sort = one_of(request.GET, "sort", ["items", "-items", "kappa", "-kappa"]) or "-items"
    paginator = Paginator(pair_list.listed(chosen.question, chosen.weights, sort), PAIRS_A_PAGE)
    number = page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("No such page."))
    page = paginator.page(number)
    context = {
        "project": chosen.project,
        "chosen": chosen,
        "page": page,
        "pairs": pair_list.read_listed(list(page.object_list), chosen.scale, chosen.weights),
        "sort": sort,
        "listed": pair_list.LISTED if paginator.count == pair_list.LISTED else None,
    }
    return render(request, "metrics/pairs.html", context | {"fresh": Freshness.of(chosen.question)})


@login_required
@require_safe
def items(request: HttpRequest, project_id: int) -> HttpResponse:
    """The items of a project with their ratings: search by key, filter by number of ratings."""
    chosen = _chosen(request, project_id)
    n_ratings = one_of(request.GET, "ratings", [str(number) for number in range(11)])
    after = request.GET.get("after") or "0"
    if not (after.isascii() and after.isdigit() and len(after) <= 18):
        raise Http404(_("No such page."))
    search = request.GET.get("search", "").replace("\0", "")[:255]
    found = item_list.find(
        chosen.question, search=search, n_ratings=int(n_ratings) if n_ratings else None, after=int(after)
    )
    context = {
        "project": chosen.project,
        "chosen": chosen,
        "rows": item_list.rows(chosen.question, found.items, chosen.scale),
        "next_after": found.next_after,
        "looked_at": item_list.LOOKED_AT if found.cut else None,
        "after": int(after),
        "search": search,
        "n_ratings": n_ratings or "",
        "numbers": range(10),
    }
    return render(request, "metrics/items.html", context)


@login_required
@require_safe
def item(request: HttpRequest, project_id: int, key: str) -> HttpResponse:
    """One item: every rating with its history and comment, and who differs from whom."""
    chosen = _chosen(request, project_id)
    found = by_key(Item, chosen.project, key)
    context = {
        "project": chosen.project,
        "chosen": chosen,
        "item": found,
        "body": item_list.shown_body(found),
        "answers": item_list.item_ratings(found, chosen.questions),
    }
    return render(request, "metrics/item.html", context)
