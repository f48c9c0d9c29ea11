"""The adjudicator's page: one item at a time, votes without names, a decision by key."""

from __future__ import annotations

import hashlib
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from metrics.pages.selection import Selection, by_key, chosen_question
from projects.catalogue.gold import set_gold
from projects.models import Item, Member
from quality.adjudication import deciding
from quality.models import Decision, Escalation, ItemLabel, Source
from ratings.desk import content
from ratings.models import Rating

from .label_views import DOUBT

ADJUDICATOR = Member.Role.ADJUDICATOR


@login_required
@require_safe
def adjudicate(request: HttpRequest, project_id: int) -> HttpResponse:
    """The item most worth a decision; ``?item=KEY``: this one, whatever its doubt."""
    chosen = chosen_question(request, project_id, role=ADJUDICATOR)
    if "item" in request.GET:
        item: Item | None = by_key(Item, chosen.project, request.GET["item"])
    else:
        label = deciding.claim_next(question=chosen.question, by=request.user, doubt=DOUBT)
        item = label.item if label else None
    return _page(request, chosen, item)


def _page(
    request: HttpRequest,
    chosen: Selection,
    item: Item | None,
    *,
    error: str = "",
    status: int = 200,
) -> HttpResponse:
    left = deciding.worth_deciding(chosen.question, doubt=DOUBT).order_by().count()
    context: dict[str, Any] = {
        "project": chosen.project,
        "chosen": chosen,
        "item": item,
        "left": left,
        "error": error,
    }
    if item is not None:
        context |= _of_item(request, chosen, item)
    return render(request, "quality/adjudicate.html", context, status=status)


def _of_item(request: HttpRequest, chosen: Selection, item: Item) -> dict[str, Any]:
    question = chosen.question
    named = deciding.names_seen(question=question, item=item, by=request.user)
    decisions = Decision.objects.filter(question=question, item=item).select_related("by")
    labels = {category.code: category.label for category in question.categories.all()}
    label = ItemLabel.objects.filter(question=question, item=item).first()
    expected = {}
    if label is not None and label.source == Source.CONSENSUS and label.confidence is not None:
        expected = dict(zip(chosen.scale.labels, label.shares, strict=False))
    return {
        "blocks": content.blocks(item.body),
        "label": label,
        "expected": expected,
        "escalated": Escalation.objects.filter(question=question, item=item).first(),
        "votes": _votes(chosen, item, labels),
        "named": named,
        "categories": question.active_categories(),
        "decisions": [
            (one, labels.get(one.code) if one.code is not None else None) for one in decisions
        ],
    }


def _votes(chosen: Selection, item: Item, labels: dict[int, str]) -> list[tuple[str, Rating]]:
    """(label, rating) in an order that tells nothing of who they are, the same at every look."""
    rows = Rating.objects.standing().filter(question=chosen.question, item=item)
    votes = [(labels[row.code], row) for row in rows.select_related("rater")]
    return sorted(votes, key=lambda vote: hashlib.sha256(f"{vote[1].pk}".encode()).digest())


@login_required
@require_POST
def decide(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    """Store the decision, then go on with the next item."""
    chosen = chosen_question(request, project_id, role=ADJUDICATOR)
    item = get_object_or_404(Item, project=chosen.project, pk=item_id)
    given = request.POST.get("code", "")
    code = int(given) if given.isascii() and given.isdigit() and len(given) < 6 else None
    if code is None and given != "back":
        return _page(request, chosen, item, error=_("Choose an answer first."), status=400)
    reason = request.POST.get("reason", "")
    try:
        deciding.decide(
            question=chosen.question, item=item, code=code, reason=reason, by=request.user
        )
    except deciding.Refused as error:
        status = 409 if isinstance(error, deciding.Held) else 400
        return _page(request, chosen, item, error=error.said, status=status)
    said = _("Decided: item %(key)s.") if code is not None else _("Taken back: item %(key)s.")
    messages.success(request, said % {"key": item.key})
    return _next(chosen)


@login_required
@require_POST
def later(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    """Another item first; this one waits a quarter of an hour."""
    chosen = chosen_question(request, project_id, role=ADJUDICATOR)
    item = get_object_or_404(Item, project=chosen.project, pk=item_id)
    try:
        deciding.hold(question=chosen.question, item=item, by=request.user, passed=True)
    except deciding.Held as error:
        raise Http404(error.said) from None
    return _next(chosen)


@login_required
@require_POST
def names(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    """Show who gave which rating; that they were looked at is written down."""
    chosen = chosen_question(request, project_id, role=ADJUDICATOR)
    item = get_object_or_404(Item, project=chosen.project, pk=item_id)
    deciding.show_names(question=chosen.question, item=item, by=request.user)
    query = urlencode({"question": chosen.question.key, "item": item.key})
    return redirect(f"{reverse('adjudicate', args=[project_id])}?{query}")


@login_required
@require_POST
def make_gold(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    """The decision that stands becomes the item's gold answer."""
    chosen = chosen_question(request, project_id, role=Member.Role.LEAD)
    item = get_object_or_404(Item, project=chosen.project, pk=item_id)
    decisions = Decision.objects.filter(question=chosen.question, item=item)
    standing = decisions.order_by("number").last()
    if standing is None or standing.code is None:
        raise Http404(_("This item has no decision."))
    set_gold(
        item=item,
        question=chosen.question,
        answer=[standing.code],
        by=request.user,
        explanation=standing.reason,
    )
    messages.success(request, _("Gold answer set: item %(key)s.") % {"key": item.key})
    return _next(chosen)


def _next(chosen: Selection) -> HttpResponse:
    query = urlencode({"question": chosen.question.key})
    return redirect(f"{reverse('adjudicate', args=[chosen.project.pk])}?{query}")
