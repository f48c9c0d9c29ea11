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

from metrics.filtered import filter_choices
from metrics.views.common.selection import Selection, by_key, chosen_question
from projects.models import GoldAnswer, Item, Member
from projects.services.items.gold import set_gold
from projects.services.project_validation import Refused
from quality.escalation.settings import rules_of
from quality.models import Appeal, Decision, Escalation, ItemLabel, Source
from quality.review import decisions as review_decisions
from quality.review import examples, second_opinions
from quality.review.queue_filter import LESS_SURE, Narrowing
from ratings.items import content
from ratings.models import Rating

ADJUDICATOR = Member.Role.ADJUDICATOR


@login_required
@require_safe
def adjudicate(request: HttpRequest, project_id: int) -> HttpResponse:
    """The item most worth a decision; ``?item=KEY``: this one, whatever its doubt."""
    chosen = chosen_question(request, project_id, role=ADJUDICATOR, filtered=True)
    if "item" in request.GET:
        item: Item | None = by_key(Item, chosen.project, request.GET["item"])
    else:
        narrowing = Narrowing.of(request.GET, chosen.filter)
        label = review_decisions.claim_next(
            question=chosen.question,
            by=request.user,
            doubt=narrowing.doubt,
            narrowing=narrowing,
        )
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
    narrowing = Narrowing.of(request.GET, chosen.filter)
    rows = review_decisions.worth_deciding(
        chosen.question, doubt=narrowing.doubt, narrowing=narrowing
    )
    left = rows.order_by().count()
    known = filter_choices.choices(chosen.question)
    context: dict[str, Any] = {
        "narrowing": narrowing,
        "less_sure": [value for value in LESS_SURE if value],
        "attributes": _attributes(known["attributes"] if known else {}, narrowing),
        "query": urlencode({"question": chosen.question.key} | narrowing.parameters),
        "last": _last(request, chosen),
        "project": chosen.project,
        "chosen": chosen,
        "item": item,
        "left": left,
        "error": error,
    }
    if item is not None:
        context |= _of_item(request, chosen, item)
    return render(request, "quality/review/adjudicate.html", context, status=status)


def _attributes(known: dict[str, Any], narrowing: Narrowing) -> list[dict[str, Any]]:
    """Each attribute of items with its values, and the one that is chosen."""
    wanted = dict(narrowing.items.attributes)
    return [
        {"name": f"item.{name}", "label": name, "values": list(values), "value": wanted.get(name)}
        for name, values in known.items()
    ]


def _last(request: HttpRequest, chosen: Selection) -> dict[str, Any] | None:
    """What this user decided a moment ago: it can be made gold or an example by one click."""
    given = request.GET.get("last", "")
    project: Any = chosen.project
    if project.role != Member.Role.LEAD or not (given.isascii() and given.isdigit()):
        return None
    user: Any = request.user
    decisions = Decision.objects.filter(question=chosen.question, item=int(given[:18]), by=user)
    made = decisions.select_related("item").order_by("number").last()
    if made is None or made.code is None:
        return None
    label = chosen.question.categories.get(code=made.code).label
    gold = GoldAnswer.objects.in_force().filter(question=chosen.question, item=made.item)
    return {"item": made.item, "label": label, "is_gold": gold.exists()}


def _of_item(request: HttpRequest, chosen: Selection, item: Item) -> dict[str, Any]:
    question = chosen.question
    named = review_decisions.names_seen(question=question, item=item, by=request.user)
    # Who gives a second opinion must not know that there is a first one.
    blind = second_opinions.is_second(question=question, item=item, by=request.user)
    decisions = Decision.objects.filter(question=question, item=item).select_related("by")
    escalated = Escalation.objects.filter(question=question, item=item)
    labels = {category.code: category.label for category in question.categories.all()}
    label = ItemLabel.objects.filter(question=question, item=item).first()
    expected = {}
    sampled = rules_of(question).second_share > 0
    if label is not None and label.source == Source.CONSENSUS and label.confidence is not None:
        expected = dict(zip(chosen.scale.labels, label.shares, strict=False))
    return {
        "blocks": content.blocks(item.body),
        "label": None if blind else label,
        "expected": {} if sampled else expected,
        "escalated": escalated.exclude(state=Escalation.State.SURE).first(),
        "appeals": Appeal.objects.filter(
            question=question, item=item, about=Appeal.About.DECISION, state=Appeal.State.OPEN
        ),
        "votes": _votes(chosen, item, labels),
        "named": named,
        "categories": question.active_categories(),
        "decisions": [
            (one, labels.get(one.code) if one.code is not None else None)
            for one in ([] if blind else decisions)
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
    chosen = chosen_question(request, project_id, role=ADJUDICATOR, filtered=True)
    item = get_object_or_404(Item, project=chosen.project, pk=item_id)
    given = request.POST.get("code", "")
    code = int(given) if given.isascii() and given.isdigit() and len(given) < 6 else None
    if code is None and given != "back":
        return _page(request, chosen, item, error=_("Choose an answer first."), status=400)
    reason = request.POST.get("reason", "")
    try:
        made = review_decisions.say(
            question=chosen.question, item=item, code=code, reason=reason, by=request.user
        )
    except review_decisions.Refused as error:
        status = 409 if isinstance(error, review_decisions.Held) else 400
        return _page(request, chosen, item, error=error.said, status=status)
    said = _("Decided: item %(key)s.") if code is not None else _("Taken back: item %(key)s.")
    messages.success(request, said % {"key": item.key})
    return _next(request, chosen, last=item if isinstance(made, Decision) else None)


@login_required
@require_POST
def later(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    """Another item first; this one waits a quarter of an hour."""
    chosen = chosen_question(request, project_id, role=ADJUDICATOR, filtered=True)
    item = get_object_or_404(Item, project=chosen.project, pk=item_id)
    try:
        review_decisions.hold(question=chosen.question, item=item, by=request.user, passed=True)
    except review_decisions.Held as error:
        raise Http404(error.said) from None
    return _next(request, chosen)


@login_required
@require_POST
def names(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    """Show who gave which rating; that they were looked at is written down."""
    chosen = chosen_question(request, project_id, role=ADJUDICATOR)
    item = get_object_or_404(Item, project=chosen.project, pk=item_id)
    review_decisions.show_names(question=chosen.question, item=item, by=request.user)
    query = urlencode({"question": chosen.question.key, "item": item.key})
    return redirect(f"{reverse('adjudicate', args=[project_id])}?{query}")


@login_required
@require_POST
def make_gold(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    """The decision that stands becomes the item's gold answer."""
    chosen = chosen_question(request, project_id, role=Member.Role.LEAD, filtered=True)
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
    return _next(request, chosen)


@login_required
@require_POST
def make_example(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    """The decision that stands becomes an example at the end of the guidelines."""
    chosen = chosen_question(request, project_id, role=Member.Role.LEAD, filtered=True)
    item = get_object_or_404(Item, project=chosen.project, pk=item_id)
    try:
        changed = examples.add(question=chosen.question, item=item, by=request.user)
    except Refused as error:
        messages.error(request, str(error))
        return _next(request, chosen, last=item)
    if changed is None:
        raise Http404(_("This item has no decision."))
    said = _("An example in version %(n)s of the guidelines: item %(key)s.")
    messages.success(request, said % {"n": changed.guidelines_version, "key": item.key})
    return _next(request, chosen)


def _next(request: HttpRequest, chosen: Selection, *, last: Item | None = None) -> HttpResponse:
    """Go on with what is wanted; ``last``: and offer what may be made of this one."""
    narrowing = Narrowing.of(request.GET, chosen.filter)
    query = {"question": chosen.question.key} | narrowing.parameters
    if last is not None:
        query["last"] = str(last.pk)
    return redirect(f"{reverse('adjudicate', args=[chosen.project.pk])}?{urlencode(query)}")
