"""Bulk actions on the selected items of the item list, for leads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from core import security_log
from core.hooks import Hook
from core.text import parse_id
from projects.models import Item, Member, Project
from projects.permissions import get_project
from projects.services import gold
from ratings.items import removal
from ratings.services import slots

from .views import redirect_back


@transaction.atomic
def request_ratings(*, project: Project, item_ids: Sequence[int], by: Any) -> int:
    """Request one more rating of each item than are requested or taken so far.

    Returns the number of items. Withdrawn items and items without content are left out.
    """
    items = Item.objects.filter(project=project, pk__in=item_ids)
    n_requested = 0
    for item_id in sorted(items.values_list("pk", flat=True)):  # locks are taken in one order
        demand = slots.lock_and_get_demand(item_id, overlap=project.overlap)
        if demand is None:
            continue
        n_slots = max(demand.requested, demand.taken) + 1
        slots.set_requested_slots(item_id, n_slots, overlap=project.overlap)
        n_requested += 1
    if n_requested:
        security_log.log_event(
            "ratings_requested", project_id=project.pk, by=by.pk, items=n_requested
        )
    return n_requested


MAX_ITEMS_PER_REQUEST = 1_000


@login_required
@require_POST
def run_bulk_action(request: HttpRequest, project_id: int) -> HttpResponse:
    """Withdraw, restore or delete the selected items, request ratings, or set a gold answer.

    Raises BadRequest for another action.
    """
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    item_ids = [
        item_id for text in request.POST.getlist("item") if (item_id := parse_id(text)) is not None
    ]
    ids = item_ids[:MAX_ITEMS_PER_REQUEST]
    action = request.POST.get("action", "")
    if not ids:
        messages.info(request, _("Select at least one row."))
    elif action == "delete":
        query = QueryDict(mutable=True)
        query.setlist("item", [str(value) for value in ids])
        return redirect(f"{reverse('items_delete', args=[project.pk])}?{query.urlencode()}")
    elif action in ACTIONS:
        ACTIONS[action](request, project, ids)
    else:
        raise BadRequest(_("Choose an action."))
    return redirect_back(request, project)


def _withdraw_items(request: HttpRequest, project: Project, ids: list[int]) -> None:
    number = removal.withdraw_items(project=project, item_ids=ids, withdrawn=True, by=request.user)
    message = ngettext(
        "%(n)s item withdrawn. Its ratings are kept.",
        "%(n)s items withdrawn. Their ratings are kept.",
        number,
    )
    messages.success(request, message % {"n": number})


def _restore_items(request: HttpRequest, project: Project, ids: list[int]) -> None:
    number = removal.withdraw_items(project=project, item_ids=ids, withdrawn=False, by=request.user)
    message = ngettext("%(n)s item restored.", "%(n)s items restored.", number)
    messages.success(request, message % {"n": number})


def _request_ratings(request: HttpRequest, project: Project, ids: list[int]) -> None:
    number = request_ratings(project=project, item_ids=ids, by=request.user)
    message = ngettext(
        "Requested one more rating for %(n)s item.",
        "Requested one more rating for each of %(n)s items.",
        number,
    )
    messages.success(request, message % {"n": number})


def _set_gold(request: HttpRequest, project: Project, ids: list[int]) -> None:
    """Set the same gold answer for all items; their history keeps the previous ones."""
    question = get_object_or_404(project.questions, key=request.POST.get("question", ""))
    code = request.POST.get("code", "")
    item_ids: Any = Item.objects.filter(project=project, pk__in=ids).values_list("pk", flat=True)
    try:
        answer = [int(code)] if code.isascii() and code.isdigit() else []
        states = gold.set_gold_answers(
            question=question,
            answers=[gold.NewGoldAnswer(pk, answer) for pk in item_ids],
            by=request.user,
        )
    except gold.InvalidGoldAnswer:
        messages.error(request, _("Choose an answer."))
        return
    number = sum(state != "unchanged" for state in states.values())
    message = ngettext(
        "Gold answer set for %(n)s item.", "Gold answer set for %(n)s items.", number
    )
    messages.success(request, message % {"n": number})


# Actions on selected items; higher packages add theirs when the site starts.
ACTIONS: Hook[Callable[[HttpRequest, Project, list[int]], None]] = Hook("actions_on_items")
ACTIONS.register(_withdraw_items, "withdraw")
ACTIONS.register(_restore_items, "restore")
ACTIONS.register(_request_ratings, "request_ratings")
ACTIONS.register(_set_gold, "gold")
