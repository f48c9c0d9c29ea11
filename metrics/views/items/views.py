"""The pages of items: the list, its file, and one item."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    QueryDict,
    StreamingHttpResponse,
)
from django.shortcuts import get_object_or_404, render
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from core import security_log
from metrics.views.common import live_updates
from metrics.views.common.selection import (
    Selection,
    by_key,
    chosen_question,
    one_of,
    page_number,
    place_after,
)
from projects.models import Item, Member, Rater
from projects.selectors.item_counts import sizes
from projects.services.items import gold
from ratings.annotation import skips
from ratings.items import content, item_search
from ratings.items.item_search import Wanted

from . import csv_export, item_rows, sorting, texts

LONGEST_SEARCH = 255
RATERS_OFFERED = 300  # of more, the key or the name is typed
NOBODY = 0  # the id of no rater
SEVERAL = -1  # the id of no rater, too
FOLDED = ("attribute", "ratings", "said", "and_said", "rater")  # filters that open when asked for
FILTERS = ("search", "state", "answers", *FOLDED)


@login_required
@require_safe
def items(request: HttpRequest, project_id: int) -> HttpResponse:
    """The items of a project with their ratings: searched, narrowed, sorted. ``?item=`` opens one
    beside the list; items.js asks for it alone (header ``HX-Target``)."""
    chosen = chosen_question(request, project_id)
    context: dict[str, Any] = {
        "project": chosen.project,
        "chosen": chosen,
        "is_lead": _is_lead(chosen),
        "opened": _opened(request, chosen),
    }
    if request.headers.get("HX-Target") == "item-pane":
        return render(request, "metrics/items/_item_pane.html", context)
    context |= _list(request, chosen)
    if live_updates.asks(request):
        return live_updates.awaited(waiting=context.get("waiting", False))
    return render(request, "metrics/items/items.html", context)


def _list(request: HttpRequest, chosen: Selection) -> dict[str, Any]:
    wanted = _wanted(request.GET, chosen)
    order = one_of(request.GET, "sort", sorting.ORDERS) or ""
    address = _without_item(request)
    context: dict[str, Any] = {
        "sizes": sizes(chosen.project),
        "wanted": wanted,
        "given": {name: request.GET.get(name, "") for name in FILTERS},
        "narrowed": wanted != Wanted(question=chosen.question.pk),
        "folded": not any(request.GET.get(name) for name in FOLDED),
        "unknown_rater": wanted.rater == NOBODY,
        "several_raters": wanted.rater == SEVERAL,
        "raters": _offered(chosen),
        "states": item_rows.states(with_gold=_is_lead(chosen)),
        "answers": item_rows.answers(),
        "sort": order,
        "orders": item_rows.orders(),
        "numbers": range(10),
        "beside": f"{address}{'&' if '?' in address else '?'}item=",
    }
    context |= (
        _sorted(request, chosen, wanted, order) if order else _in_order(request, chosen, wanted)
    )
    number = None
    if context["narrowed"] and not context.get("waiting"):
        listed = replace(wanted, least=max(wanted.least or 0, 1)) if order else wanted
        number = item_search.number(chosen.project, listed)
        context["fit"] = texts.fitting(number, context["sizes"].items)
    rows, seen = context["rows"], context["seen"]
    n_listed = context.get("n_listed", context["sizes"].items)
    context["place"] = texts.place(seen, len(rows), n_listed, number)
    context["last"] = None if seen is None else seen + len(rows)
    return context | _marks(chosen, rows)


def _sorted(request: HttpRequest, chosen: Selection, wanted: Wanted, order: str) -> dict[str, Any]:
    """A page of the items with ratings, by one of ORDERS."""
    number = page_number(request)
    found = sorting.sorted_page(
        chosen.question,
        chosen.scale,
        wanted,
        weights=chosen.weights,
        order=order,
        number=number,
    )
    cut = None if found.whole or found.waiting else found
    return {
        "rows": found.rows,
        "waiting": found.waiting,
        "cut": cut,
        "seen": (number - 1) * item_rows.ITEMS_A_PAGE,
        "n_listed": None if cut else found.n_items,
        "page": number,
        "previous": number - 1,
        "next": number + 1 if found.more else None,
    }


def _in_order(request: HttpRequest, chosen: Selection, wanted: Wanted) -> dict[str, Any]:
    """A page of the items in the order of their ids, behind the one that the address names."""
    after = place_after(request.GET)
    page = item_search.find(chosen.project, wanted, after=after, size=item_rows.ITEMS_A_PAGE)
    return {
        "rows": item_rows.rows(chosen.question, page.items, chosen.scale, chosen.weights),
        "seen": _seen(request.GET, after),
        "after": after,
        "next_after": page.after,
        "looked_at": item_search.LOOKED_AT if page.cut else None,
    }


def _seen(given: QueryDict, after: int) -> int | None:
    """How many items stand on the pages before, as the link to this one has it; None: not known."""
    text = given.get("seen", "")
    if not after:
        return 0
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def _offered(chosen: Selection) -> list[Rater]:
    """The raters who can be chosen from; none where they are too many for a list."""
    found = list(Rater.objects.filter(project=chosen.project)[: RATERS_OFFERED + 1])
    return found if len(found) <= RATERS_OFFERED else []


def _marks(chosen: Selection, rows: list[item_rows.ItemRow]) -> dict[str, Any]:
    """What else is said of the items in the list; to leads alone, who set some aside, and which are
    gold."""
    items = [row.item for row in rows]
    if not _is_lead(chosen):
        return {"shown_items": items}
    ids = [item.pk for item in items]
    golden = gold.in_force(chosen.question, ids).values_list("item_id", flat=True)
    n_aside = skips.number(chosen.project)
    return {
        "shown_items": items,
        "golden": set(golden),
        "aside": skips.of_items(ids) if n_aside else {},
        "set_aside": texts.set_aside(n_aside, skips.COUNTED) if n_aside else "",
    }


def _opened(request: HttpRequest, chosen: Selection) -> dict[str, Any] | None:
    """The item that is open beside the list, as its own page shows it."""
    if not request.GET.get("item"):
        return None
    number = request.GET["item"]
    if not (number.isascii() and number.isdigit() and len(number) <= 18):
        raise Http404
    item = get_object_or_404(Item, project=chosen.project, pk=int(number))
    project: Any = chosen.project
    return {
        "item": item,
        "blocks": content.blocks(item.body),
        "attributes": item_rows.shown_attributes(item),
        "answers": item_rows.item_ratings(
            item, chosen.questions, with_gold=_is_lead(chosen), with_history=False
        ),
        "may_decide": project.role in (Member.Role.LEAD, Member.Role.ADJUDICATOR),
        "aside": skips.of_items([item.pk]).get(item.pk) if _is_lead(chosen) else None,
        "close": _without_item(request),
    }


def _without_item(request: HttpRequest) -> str:
    """The address of this page with no item open."""
    query = request.GET.copy()
    query.pop("item", None)
    return f"{request.path}?{query.urlencode()}" if query else request.path


@login_required
@require_safe
def items_csv(request: HttpRequest, project_id: int) -> HttpResponseBase:
    """All items that fit, one a line, whatever page of the list was asked from."""
    chosen = chosen_question(request, project_id)
    wanted = _wanted(request.GET, chosen)
    security_log.event("export", what_of="items", kind="csv", question=chosen.question.key)
    lines = csv_export.csv(
        chosen.question,
        chosen.scale,
        wanted,
        weights=chosen.weights,
        with_gold=_is_lead(chosen),
    )
    name = f"{slugify(chosen.project.name) or 'project'}-{chosen.project.pk}-items.csv"
    return StreamingHttpResponse(
        lines,
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@login_required
@require_safe
def item(request: HttpRequest, project_id: int, key: str) -> HttpResponse:
    """One item: every rating with its history and comment, and who differs from whom."""
    chosen = chosen_question(request, project_id)
    found = by_key(Item, chosen.project, key)
    is_lead = _is_lead(chosen)
    context = {
        "project": chosen.project,
        "chosen": chosen,
        "item": found,
        "is_lead": is_lead,
        "blocks": content.blocks(found.body),
        "attributes": item_rows.shown_attributes(found),
        "answers": item_rows.item_ratings(found, chosen.questions, with_gold=is_lead),
        "versions": [
            {
                "number": version.number,
                "until": version.until,
                "by": version.by,
                "blocks": content.blocks(version.body),
            }
            for version in item_rows.versions(found)
        ],
    }
    return render(request, "metrics/items/item.html", context)


def _is_lead(chosen: Selection) -> bool:
    project: Any = chosen.project
    return project.role == Member.Role.LEAD  # set by the door


def _wanted(given: QueryDict, chosen: Selection) -> Wanted:
    n_ratings = one_of(given, "ratings", [str(number) for number in range(11)])
    least = int(n_ratings) if n_ratings else None
    states = [value for value, _words in item_rows.states(with_gold=_is_lead(chosen))]
    return Wanted(
        search=_text(given, "search"),
        attributes=_attributes(given.get("attribute", "")),
        least=least,
        most=None if least in (None, 10) else least,
        question=chosen.question.pk,
        state=one_of(given, "state", states) or "",
        answers=one_of(given, "answers", item_search.ANSWERS) or "",
        said=_said(given, chosen),
        rater=_rater(_text(given, "rater"), chosen),
    )


def _said(given: QueryDict, chosen: Selection) -> tuple[int, ...]:
    """The codes of the categories that somebody said, each once."""
    codes = dict(zip(chosen.scale.labels, chosen.scale.codes.tolist(), strict=True))
    labels = [one_of(given, name, codes) for name in ("said", "and_said")]
    return tuple(dict.fromkeys(codes[label] for label in labels if label))


def _rater(said: str, chosen: Selection) -> int | None:
    """The rater of this key, else of this name."""
    if not said:
        return None
    raters = Rater.objects.filter(project=chosen.project).order_by()
    for asked in ({"key": said}, {"name": said}, {"key__iexact": said}, {"name__iexact": said}):
        found = list(raters.filter(**asked).values_list("pk", flat=True)[:2])
        if found:
            return found[0] if len(found) == 1 else SEVERAL
    return NOBODY


def _text(given: QueryDict, name: str) -> str:
    return given.get(name, "").replace("\0", "")[:LONGEST_SEARCH].strip()


def _attributes(text: str) -> tuple[tuple[str, str], ...]:
    """What "language=de" asks for."""
    if not text.strip():
        return ()
    name, sign, value = text.replace("\0", "")[:LONGEST_SEARCH].partition("=")
    if not sign or not item_search.is_name(name.strip()):
        raise BadRequest(_("An attribute is asked for by its name and value, like language=de."))
    return ((name.strip(), value.strip()),)
