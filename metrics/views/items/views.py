"""Views of the list of items, its CSV file, and one item."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
from core.text import parse_id
from metrics.filtered import item_ranking
from metrics.views.common import live_updates
from metrics.views.common.selection import (
    Selection,
    get_after_id,
    get_by_key,
    get_choice,
    get_page_number,
    get_permitted_selection,
)
from projects.models import Item, Rater
from projects.selectors import get_item_counts
from projects.services import gold
from ratings.annotation import skipped_and_flagged
from ratings.items import content, item_search
from ratings.items.item_search import ItemFilters

from . import csv_export, item_rows

MAX_SEARCH_LENGTH = 255
MAX_OFFERED_RATERS = 300  # with more raters, the user types the key or the name
NO_RATER = 0  # not an id: no rater matches
SEVERAL_RATERS = -1  # not an id: several raters match
FOLDED_FILTERS = ("attribute", "ratings", "answer", "other_answer", "rater")  # folded unless in use
FILTERS = ("search", "state", "answers", *FOLDED_FILTERS)


@login_required
@require_safe
def show_items(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the items of a project with their ratings, filtered and sorted.

    ``?item=`` opens one beside the list; items.js requests only that (header ``HX-Target``).
    """
    selection = get_permitted_selection(request, project_id)
    context: dict[str, object] = {
        "project": selection.project,
        "selection": selection,
        "is_lead": selection.project.can_manage,
        "opened": _get_open_item(request, selection),
    }
    if request.headers.get("HX-Target") == "item-pane":
        return render(request, "metrics/items/_item_pane.html", context)
    context |= _build_list_context(request, selection)
    if live_updates.is_live_request(request):
        return live_updates.build_pending_response(pending=bool(context["pending"]))
    return render(request, "metrics/items/items.html", context)


def _build_list_context(request: HttpRequest, selection: Selection) -> dict[str, object]:
    item_filters = _parse_item_filters(request.GET, selection)
    order = get_choice(request.GET, "sort", item_ranking.ORDERS) or ""
    list_url = _build_list_url(request)
    sizes = get_item_counts(selection.project)
    context: dict[str, object] = {
        "sizes": sizes,
        "item_filters": item_filters,
        "entered": {name: request.GET.get(name, "") for name in FILTERS},
        "narrowed": item_filters != ItemFilters(question=selection.question.pk),
        "folded": not any(request.GET.get(name) for name in FOLDED_FILTERS),
        "unknown_rater": item_filters.rater == NO_RATER,
        "several_raters": item_filters.rater == SEVERAL_RATERS,
        "raters": _list_offered_raters(selection),
        "states": item_rows.list_states(with_gold=selection.project.can_manage),
        "answers": item_rows.list_answer_filters(),
        "sort": order,
        "orders": item_rows.list_sort_orders(),
        "numbers": range(10),
        "beside": f"{list_url}{'&' if '?' in list_url else '?'}item=",
    }
    page = (
        _get_sorted_page(request, selection, item_filters, order)
        if order
        else _get_page_in_id_order(request, selection, item_filters, n_items=sizes.items)
    )
    match_count = None
    if context["narrowed"] and not page.pending:
        counted_filters = (
            replace(item_filters, min_ratings=max(item_filters.min_ratings or 0, 1))
            if order
            else item_filters
        )
        match_count = item_search.count_matches(selection.project, counted_filters)
        context["fit"] = item_rows.describe_match_count(match_count, sizes.items)
    context["place"] = item_rows.describe_page_range(
        page.seen, len(page.rows), page.n_listed, match_count
    )
    context["last"] = None if page.seen is None else page.seen + len(page.rows)
    return context | vars(page) | _build_item_annotations(selection, page.rows)


@dataclass(frozen=True)
class ListedItems:
    """A page of the list of items.

    ``seen``: number of items on the pages before, None if unknown; ``n_listed``: number of listed
    items, None if the list is incomplete (``cut``). A sorted list has page numbers. A list by id
    has ``after``, the id after which the page begins, and ``looked_at``: the number of scanned
    items if the scan ended before the page was full.
    """

    rows: list[item_rows.ItemRow]
    seen: int | None
    n_listed: int | None
    pending: bool = False
    cut: item_rows.SortedItems | None = None
    page: int | None = None
    previous: int | None = None
    next: int | None = None
    after: int | None = None
    next_after: int | None = None
    looked_at: int | None = None


def _get_sorted_page(
    request: HttpRequest, selection: Selection, item_filters: ItemFilters, order: str
) -> ListedItems:
    """Return the page of the sorted list that the URL names, of items with ratings.

    ``order``: one of item_ranking.ORDERS.
    """
    number = get_page_number(request)
    sorted_items = item_rows.get_sorted_page(
        selection.question,
        selection.scale,
        item_filters,
        weights=selection.weights,
        order=order,
        number=number,
    )
    incomplete_list = None if sorted_items.is_complete or sorted_items.pending else sorted_items
    return ListedItems(
        rows=sorted_items.rows,
        pending=sorted_items.pending,
        cut=incomplete_list,
        seen=(number - 1) * item_rows.ITEMS_PER_PAGE,
        n_listed=None if incomplete_list else sorted_items.n_items,
        page=number,
        previous=number - 1,
        next=number + 1 if sorted_items.has_more else None,
    )


def _get_page_in_id_order(
    request: HttpRequest, selection: Selection, item_filters: ItemFilters, *, n_items: int
) -> ListedItems:
    """Return a page of the project's items by id, after the id that the URL names."""
    after = get_after_id(request.GET)
    page = item_search.search_item_page(
        selection.project, item_filters, after=after, size=item_rows.ITEMS_PER_PAGE
    )
    return ListedItems(
        rows=item_rows.build_rows(
            selection.question, page.items, selection.scale, selection.weights
        ),
        seen=_parse_n_before(request.GET, after),
        n_listed=n_items,
        after=after,
        next_after=page.after,
        looked_at=item_search.MAX_ITEMS_SCANNED if page.is_cut else None,
    )


def _parse_n_before(parameters: QueryDict, after: int) -> int | None:
    """Return how many items are on the pages before, as the URL says; None if it does not.

    0 on the first page, where ``after`` (an item's id) is 0.
    """
    return parse_id(parameters.get("seen")) if after else 0


def _list_offered_raters(selection: Selection) -> list[Rater]:
    """Return the raters to choose from; empty where there are too many for a list."""
    raters = list(Rater.objects.filter(project=selection.project)[: MAX_OFFERED_RATERS + 1])
    return raters if len(raters) <= MAX_OFFERED_RATERS else []


def _build_item_annotations(
    selection: Selection, rows: list[item_rows.ItemRow]
) -> dict[str, object]:
    """Return the template context on the items of the list.

    For leads, it also says who skipped or flagged items, and which have a gold answer.
    """
    items = [row.item for row in rows]
    if not selection.project.can_manage:
        return {"shown_items": items}
    item_ids = [item.pk for item in items]
    gold_ids = gold.get_gold_in_force(selection.question, item_ids).values_list(
        "item_id", flat=True
    )
    n_skips = skipped_and_flagged.count_skips_and_flags(selection.project)
    return {
        "shown_items": items,
        "golden": set(gold_ids),
        "aside": skipped_and_flagged.get_skips_and_flags_by_item(item_ids) if n_skips else {},
        "set_aside": item_rows.describe_skip_count(n_skips, skipped_and_flagged.MAX_COUNTED)
        if n_skips
        else "",
    }


def _get_open_item(request: HttpRequest, selection: Selection) -> dict[str, object] | None:
    """Return the template context of the item that is open beside the list; None if none is open.

    Raises Http404 if the project has no such item.
    """
    if not request.GET.get("item"):
        return None
    item_id = parse_id(request.GET["item"])
    if item_id is None:
        raise Http404
    item = get_object_or_404(Item, project=selection.project, pk=item_id)
    return {
        "item": item,
        "blocks": content.build_blocks(item.body),
        "attributes": item_rows.list_attributes(item),
        "answers": item_rows.list_item_ratings(
            item, selection.questions, with_gold=selection.project.can_manage, with_history=False
        ),
        "may_decide": selection.project.can_review,
        "aside": skipped_and_flagged.get_skips_and_flags_by_item([item.pk]).get(item.pk)
        if selection.project.can_manage
        else None,
        "close": _build_list_url(request),
    }


def _build_list_url(request: HttpRequest) -> str:
    """Return the URL of this page with no item open."""
    query = request.GET.copy()
    query.pop("item", None)
    return f"{request.path}?{query.urlencode()}" if query else request.path


@login_required
@require_safe
def export_items(request: HttpRequest, project_id: int) -> HttpResponseBase:
    """Return all matching items as CSV, whatever page of the list is shown."""
    selection = get_permitted_selection(request, project_id)
    item_filters = _parse_item_filters(request.GET, selection)
    security_log.log_event("export", exported="items", kind="csv", question=selection.question.key)
    lines = csv_export.iter_csv(
        selection.question,
        selection.scale,
        item_filters,
        weights=selection.weights,
        with_gold=selection.project.can_manage,
    )
    name = f"{slugify(selection.project.name) or 'project'}-{selection.project.pk}-items.csv"
    return StreamingHttpResponse(
        lines,
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@login_required
@require_safe
def show_item(request: HttpRequest, project_id: int, key: str) -> HttpResponse:
    """Show one item: every rating with history and comment, and the raters that it differs from."""
    selection = get_permitted_selection(request, project_id)
    shown_item = get_by_key(Item, selection.project, key)
    is_lead = selection.project.can_manage
    context = {
        "project": selection.project,
        "selection": selection,
        "item": shown_item,
        "is_lead": is_lead,
        "skips": skipped_and_flagged.get_skips_and_flags_by_item([shown_item.pk]).get(
            shown_item.pk, []
        )
        if is_lead
        else [],
        "blocks": content.build_blocks(shown_item.body),
        "attributes": item_rows.list_attributes(shown_item),
        "answers": item_rows.list_item_ratings(shown_item, selection.questions, with_gold=is_lead),
        "versions": [
            {
                "number": version.number,
                "until": version.until,
                "by": version.by,
                "blocks": content.build_blocks(version.body),
            }
            for version in item_rows.list_previous_versions(shown_item)
        ],
    }
    return render(request, "metrics/items/item.html", context)


def _parse_item_filters(parameters: QueryDict, selection: Selection) -> ItemFilters:
    n_ratings = get_choice(parameters, "ratings", [str(number) for number in range(11)])
    min_ratings = int(n_ratings) if n_ratings else None
    states = [
        value for value, _label in item_rows.list_states(with_gold=selection.project.can_manage)
    ]
    return ItemFilters(
        search=_parse_text(parameters, "search"),
        attributes=_parse_attributes(parameters.get("attribute", "")),
        min_ratings=min_ratings,
        max_ratings=None if min_ratings in (None, 10) else min_ratings,
        question=selection.question.pk,
        state=get_choice(parameters, "state", states) or "",
        answers=get_choice(parameters, "answers", item_search.ANSWER_FILTERS) or "",
        given_codes=_parse_given_codes(parameters, selection),
        rater=_find_rater_id(_parse_text(parameters, "rater"), selection),
    )


def _parse_given_codes(parameters: QueryDict, selection: Selection) -> tuple[int, ...]:
    """Return the distinct codes of the answers by which the URL filters items."""
    codes = dict(zip(selection.scale.labels, selection.scale.codes.tolist(), strict=True))
    labels = [get_choice(parameters, name, codes) for name in ("answer", "other_answer")]
    return tuple(dict.fromkeys(codes[label] for label in labels if label))


def _find_rater_id(text: str, selection: Selection) -> int | None:
    """Return the id of the rater with this key, else name, else either in any letter case.

    None for an empty text; NO_RATER or SEVERAL_RATERS where no rater or several match.
    """
    if not text:
        return None
    raters = Rater.objects.filter(project=selection.project).order_by()
    for condition in ({"key": text}, {"name": text}, {"key__iexact": text}, {"name__iexact": text}):
        ids = list(raters.filter(**condition).values_list("pk", flat=True)[:2])
        if ids:
            return ids[0] if len(ids) == 1 else SEVERAL_RATERS
    return NO_RATER


def _parse_text(parameters: QueryDict, name: str) -> str:
    return parameters.get(name, "").replace("\0", "")[:MAX_SEARCH_LENGTH].strip()


def _parse_attributes(text: str) -> tuple[tuple[str, str], ...]:
    """Return ((name, value),) of an attribute filter like "language=de", () of an empty text.

    Raises BadRequest for another text.
    """
    if not text.strip():
        return ()
    name, separator, value = text.replace("\0", "")[:MAX_SEARCH_LENGTH].partition("=")
    if not separator or not item_search.is_attribute_name(name.strip()):
        raise BadRequest(_("Use attribute=value, such as language=de."))
    return ((name.strip(), value.strip()),)
