"""What a lead does with the items that are ticked in the list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from projects.models import Item, Member, Project
from projects.permissions import LARGEST_ID, get_project
from projects.services.items import gold

from . import rating_requests, withdrawal
from .views import back

MOST_AT_ONCE = 1_000


@login_required
@require_POST
def items_chosen(request: HttpRequest, project_id: int) -> HttpResponse:
    """Withdraw, restore or delete the ticked items, ask for another rating of them, or set what is
    right."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    given = [int(one) for one in request.POST.getlist("item") if one.isascii() and one.isdigit()]
    ids = [one for one in given[:MOST_AT_ONCE] if one <= LARGEST_ID]
    do = request.POST.get("do", "")
    if not ids:
        messages.info(request, _("Tick the items first."))
    elif do == "delete":
        query = QueryDict(mutable=True)
        query.setlist("item", [str(one) for one in ids])
        return redirect(f"{reverse('items_delete', args=[project.pk])}?{query.urlencode()}")
    elif do in DONE:
        DONE[do](request, project, ids)
    else:
        raise BadRequest(_("Choose what is to be done with the items."))
    return back(request, project)


def _withdraw(request: HttpRequest, project: Project, ids: list[int]) -> None:
    number = withdrawal.withdraw_items(
        project=project, item_ids=ids, withdrawn=True, by=request.user
    )
    said = ngettext(
        "%(n)s item withdrawn. Its ratings stay; nobody is asked for it any more.",
        "%(n)s items withdrawn. Their ratings stay; nobody is asked for them any more.",
        number,
    )
    messages.success(request, said % {"n": number})


def _restore(request: HttpRequest, project: Project, ids: list[int]) -> None:
    number = withdrawal.withdraw_items(
        project=project, item_ids=ids, withdrawn=False, by=request.user
    )
    said = ngettext("%(n)s item restored.", "%(n)s items restored.", number)
    messages.success(request, said % {"n": number})


def _ask(request: HttpRequest, project: Project, ids: list[int]) -> None:
    number = rating_requests.ask_again(project=project, item_ids=ids, by=request.user)
    said = ngettext(
        "One rating more is asked of %(n)s item.",
        "One rating more is asked of each of %(n)s items.",
        number,
    )
    messages.success(request, said % {"n": number})


def _gold(request: HttpRequest, project: Project, ids: list[int]) -> None:
    """The same answer for all of them; the history keeps what stood."""
    question = get_object_or_404(project.questions, key=request.POST.get("question", ""))
    code = request.POST.get("code", "")
    known: Any = Item.objects.filter(project=project, pk__in=ids).values_list("pk", flat=True)
    try:
        answer = [int(code)] if code.isascii() and code.isdigit() else []
        states = gold.set_many(
            question=question, answers=[gold.New(pk, answer) for pk in known], by=request.user
        )
    except gold.InvalidGold:
        messages.error(request, _("Choose the answer that is right."))
        return
    number = sum(state != "unchanged" for state in states.values())
    said = ngettext(
        "%(n)s item has this gold answer now.", "%(n)s items have this gold answer now.", number
    )
    messages.success(request, said % {"n": number})


# What is done of the ticked items; a higher room adds its own when the site starts.
DONE: dict[str, Callable[[HttpRequest, Project, list[int]], None]] = {
    "withdraw": _withdraw,
    "restore": _restore,
    "ask": _ask,
    "gold": _gold,
}
