"""The pages behind the dashboard: one rater, the pairs and one pair, the items and one item."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from metrics.models import Slice
from metrics.readings import disputes
from metrics.readings import pairs as pair_list
from metrics.scale import weighted
from projects.access import get_project
from projects.models import Item, Member, Project, Rater
from ratings.desk import content

from . import item_list, pair_page, rater_page, slice_views
from .dashboard import Freshness
from .filter_bar import FilterBar
from .selection import Selection, by_key, one_of, page_number, select

PAIRS_A_PAGE = 100
DIFFERENCES_A_PAGE = 25


def _chosen(request: HttpRequest, project_id: int, *, filtered: bool = False) -> Selection:
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    chosen = select(request, project, filtered=filtered)
    if chosen is None:
        raise Http404(_("This project has no question yet."))
    return chosen


def _live(request: HttpRequest, project: Project, fresh: Freshness) -> HttpResponse | None:
    """The answer to a page that asks whether it is still right (templates/metrics/_as_of.html);
    None when it is not.

    The page says which version it shows: nothing new is 204, a new number of uncounted ratings the
    freshness alone.
    """
    shown = request.headers.get("X-Shown")
    if shown is None:
        return None
    if shown == fresh.version:
        return HttpResponse(status=204)
    if shown.partition(".")[0] != fresh.version.partition(".")[0]:
        return None
    context = {
        "project": project,
        "fresh": fresh,
        "live": True,
        "places": request.headers.get("X-Places", ""),
    }
    return render(request, "metrics/_as_of.html", context)


def _answer(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    """The page; for a page that asked, its fragments, or to be loaded anew when it has no place for
    what there is."""
    shown = request.headers.get("X-Places")
    if shown is not None and shown != context["places"]:
        return HttpResponse(headers={"HX-Refresh": "true"})
    response = render(request, template, context)
    if shown is not None:
        response["HX-Trigger"] = "charts-changed"
    return response


@login_required
@require_safe
def rater(request: HttpRequest, project_id: int, key: str) -> HttpResponse:
    """One rater against the others: trend, confusion, bias, pairs, recent disagreements."""
    chosen = _chosen(request, project_id, filtered=True)
    found = by_key(Rater, chosen.project, key)
    fresh = Freshness.of(chosen.question)
    if chosen.filter:
        fresh = slice_views.asked(chosen, fresh, Slice.Kind.RATER, found)
    unchanged = _live(request, chosen.project, fresh)
    if unchanged is not None:
        return unchanged
    parts = rater_page.of(chosen, found, fresh)
    pairwise = weighted("mean_pairwise_kappa", chosen.weights)
    whole, use = parts.whole, rater_page.category_use(parts.whole, chosen.scale)
    table = whole.details.get("table", []) if whole else []
    context = {
        **vars(parts),
        "project": chosen.project,
        "chosen": chosen,
        "fresh": fresh,
        "live": True,
        "places": f"{parts.waiting}-{bool(whole)}-{bool(parts.points)}-{bool(parts.bias_points)}-{bool(use)}",
        "filter_bar": FilterBar.of(request, chosen),
        "rater": found,
        "peers": whole and whole.coefficients.get(chosen.vs_peers),
        "pairwise_name": pairwise,
        "pairwise": whole and whole.coefficients.get(pairwise),
        "table_size": f"k{min(chosen.scale.k, 9)}",
        "use": use,
        "confusion": list(zip(chosen.scale.labels, table, strict=False)),
        "differences": disputes.recent_differences(
            chosen.question, found, chosen.scale, chosen=chosen.filter
        ),
    }
    return _answer(request, "metrics/rater.html", context)


@login_required
@require_safe
def pair(request: HttpRequest, project_id: int) -> HttpResponse:
    """Two raters (?a=KEY&b=KEY), or, without them, the table of all pairs."""
    chosen = _chosen(request, project_id, filtered=True)
    if "a" not in request.GET and "b" not in request.GET:
        return _all_pairs(request, chosen)
    a, b = (by_key(Rater, chosen.project, request.GET.get(side, "")) for side in "ab")
    if a == b:
        raise Http404(_("A pair is two different raters."))
    fresh = slice_views.asked(chosen, Freshness.of(chosen.question), Slice.Kind.PAIR, a, b)
    unchanged = _live(request, chosen.project, fresh)
    if unchanged is not None:
        return unchanged
    found = pair_page.of(chosen, a, b, fresh.row.body)
    number = page_number(request)
    start = (number - 1) * DIFFERENCES_A_PAGE
    part = slice(start, start + DIFFERENCES_A_PAGE + 1)
    differing = disputes.between(
        chosen.question, a, b, chosen.scale, part=part, chosen=chosen.filter
    )
    context = {
        **vars(found),
        "project": chosen.project,
        "chosen": chosen,
        "fresh": fresh,
        "live": True,
        "places": f"{found.waiting}-{bool(found.details.n_items)}-{bool(found.points)}",
        "filter_bar": FilterBar.of(request, chosen),
        "a": a,
        "b": b,
        "confusion": list(zip(chosen.scale.labels, found.details.table.tolist(), strict=True)),
        "differing": differing[:DIFFERENCES_A_PAGE],
        "table_size": f"k{min(chosen.scale.k, 9)}",
        "keep": {"a": a.key, "b": b.key},
        "number": number,
        "previous": number - 1,
        "next": number + 1,
        "more": len(differing) > DIFFERENCES_A_PAGE,
    }
    return _answer(request, "metrics/pair.html", context)


def _all_pairs(request: HttpRequest, chosen: Selection) -> HttpResponse:
    sort = one_of(request.GET, "sort", ["items", "-items", "kappa", "-kappa"]) or "-items"
    fresh = Freshness.of(chosen.question)
    if chosen.filter:
        fresh = slice_views.asked(chosen, fresh, Slice.Kind.DASHBOARD)
        listed: list[Any] = slice_views.sorted_pairs(chosen, fresh.row.body or {}, sort)
    else:
        listed = pair_list.listed(chosen.question, chosen.weights, sort)
    paginator = Paginator(listed, PAIRS_A_PAGE)
    number = page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("No such page."))
    page = paginator.page(number)
    shown = list(page.object_list)
    waiting = isinstance(fresh, slice_views.SliceFreshness) and fresh.row.body is None
    unchanged = _live(request, chosen.project, fresh)
    if unchanged is not None:
        return unchanged
    context = {
        "project": chosen.project,
        "chosen": chosen,
        "fresh": fresh,
        "live": True,
        "places": f"{waiting}-{bool(shown)}",
        "waiting": waiting,
        "filter_bar": FilterBar.of(request, chosen),
        "page": page,
        "pairs": shown if chosen.filter else pair_list.read_listed(shown, chosen.weights),
        "sort": sort,
        "listed": pair_list.LISTED
        if paginator.count == pair_list.LISTED and not chosen.filter
        else None,
        "busiest": pair_list.SHOWN_RATERS,
    }
    return _answer(request, "metrics/pairs.html", context)


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
        chosen.question,
        search=search,
        n_ratings=int(n_ratings) if n_ratings else None,
        after=int(after),
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
        "blocks": content.blocks(found.body),
        "attributes": item_list.shown_attributes(found),
        "answers": item_list.item_ratings(found, chosen.questions),
    }
    return render(request, "metrics/item.html", context)
