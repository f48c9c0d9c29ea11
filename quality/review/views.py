"""Pages of review: one item at a time, ratings without names, decisions by key."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from core import security_log
from core.text import parse_id
from metrics.filtered import filtered_jobs
from metrics.views.common.selection import Selection, get_by_key, get_permitted_selection
from projects.models import GoldAnswer, Item, Member, Project, Question
from projects.services import projects
from projects.services.gold import set_gold_answer
from projects.services.project_validation import InvalidProjectChange
from quality.models import Appeal, Decision, Escalation, ItemLabel, LabelSource, ReviewAssignment
from quality.review import decisions as review_decisions
from quality.review.label_rules import get_label_rules
from quality.review.queue_filter import CONFIDENCE_LIMITS, ReviewFilter
from ratings.annotation.forms import build_question_options
from ratings.items import content
from ratings.models import Rating

MAX_ITEM_LENGTH = 1_000  # characters of an item shown in an example


def add_guideline_example(*, question: Question, item: Item, by: Any) -> Project | None:
    """Append the item with its decision and reason to the guidelines, as a new version.

    Returns the project, or None if the item has no decision. Raises InvalidProjectChange if the
    guidelines become too long.
    """
    decision = Decision.objects.filter(question=question, item=item).order_by("number").last()
    if decision is None or decision.code is None:
        return None
    label = question.categories.get(code=decision.code).label
    project = Project.objects.get(pk=question.project_id)
    text = "\n\n".join(
        part for part in (project.guidelines.rstrip(), _format_example(item, label)) if part
    )
    if decision.reason:
        text += f"\n\n{decision.reason}"
    return projects.change_project(project=project, by=by, guidelines=f"{text}\n")


def _format_example(item: Item, label: str) -> str:
    texts = [block.value for block in content.build_blocks(item.body) if block.kind == "text"]
    lines = (texts[0] if texts else item.key)[:MAX_ITEM_LENGTH].splitlines()
    quoted = "\n".join(f"> {line}" for line in lines)
    return f"**{label}**\n\n{quoted}"


ADJUDICATOR = Member.Role.ADJUDICATOR


@login_required
@require_safe
def show_review(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the next item to review, or with ``?item=KEY`` this item, whatever its confidence."""
    selection = get_permitted_selection(request, project_id, role=ADJUDICATOR, filtered=True)
    if "item" in request.GET:
        item: Item | None = get_by_key(Item, selection.project, request.GET["item"])
    else:
        review_filter = ReviewFilter.from_query(request.GET, selection.filter)
        label = review_decisions.claim_next_label(
            question=selection.question,
            by=request.user,
            review_filter=review_filter,
        )
        item = label.item if label else None
    return _render_review(request, selection, item)


def _render_review(
    request: HttpRequest,
    selection: Selection,
    item: Item | None,
    *,
    error: str = "",
    status: int = 200,
) -> HttpResponse:
    review_filter = ReviewFilter.from_query(request.GET, selection.filter)
    rows = review_decisions.get_review_queue(selection.question, review_filter=review_filter)
    n_remaining = rows.order_by().count()
    choices = filtered_jobs.get_or_request_filter_choices(selection.question)
    context: dict[str, object] = {
        "review_filter": review_filter,
        "certain_from": get_label_rules(selection.question).certain_from,
        "confidence_limits": list(CONFIDENCE_LIMITS),
        "attributes": _list_attribute_choices(
            choices["attributes"] if choices else {}, review_filter
        ),
        "query": urlencode({"question": selection.question.key} | review_filter.parameters),
        "last_decision": _get_last_decision(request, selection),
        "project": selection.project,
        "selection": selection,
        "item": item,
        "n_remaining": n_remaining,
        "n_single": review_decisions.count_uncertain_items_with_one_rating(
            selection.question, review_filter=review_filter
        ),
        "error": error,
    }
    if item is not None:
        context |= _build_item_context(request, selection, item)
    return render(request, "quality/review/adjudicate.html", context, status=status)


def _list_attribute_choices(
    values_by_attribute: Mapping[str, Mapping[str, int]], review_filter: ReviewFilter
) -> list[dict[str, object]]:
    """Return each item attribute with its values and the selected one."""
    selected = dict(review_filter.items.attributes)
    return [
        {"name": f"item.{name}", "label": name, "values": list(values), "value": selected.get(name)}
        for name, values in values_by_attribute.items()
    ]


def _get_last_decision(request: HttpRequest, selection: Selection) -> dict[str, object] | None:
    """Return the user's decision on the item of ``?last=``, which can be made gold or an example.

    The keys are item, label and is_gold. None without such a decision, and for users who are no
    leads.
    """
    item_id = parse_id(request.GET.get("last"))
    if not selection.project.can_manage or item_id is None:
        return None
    user: Any = request.user
    decisions = Decision.objects.filter(question=selection.question, item=item_id, by=user)
    decision = decisions.select_related("item").order_by("number").last()
    if decision is None or decision.code is None:
        return None
    label = selection.question.categories.get(code=decision.code).label
    gold = GoldAnswer.objects.in_force().filter(question=selection.question, item=decision.item)
    return {"item": decision.item, "label": label, "is_gold": gold.exists()}


def _build_item_context(
    request: HttpRequest, selection: Selection, item: Item
) -> dict[str, object]:
    question = selection.question
    names_shown = review_decisions.has_seen_names(question=question, item=item, by=request.user)
    # For a second opinion the user must not learn that there is a decision.
    review = review_decisions.get_item_review(question=question, item=item, user=request.user)
    escalations = Escalation.objects.filter(question=question, item=item)
    labels = {category.code: category.label for category in question.categories.all()}
    label = review.label
    probabilities = {}
    is_sampled = get_label_rules(question).second_opinion_share > 0
    if label is not None and label.source == LabelSource.CONSENSUS and label.confidence is not None:
        probabilities = dict(zip(selection.scale.labels, label.distribution, strict=False))
    return {
        "blocks": content.build_blocks(item.body),
        "label": label,
        "expected": {} if is_sampled else probabilities,
        "escalation": escalations.exclude(state=Escalation.State.CERTAIN).first(),
        "appeals": [
            appeal
            for appeal in review.appeals
            if appeal.about == Appeal.About.DECISION and appeal.state == Appeal.State.OPEN
        ],
        "votes": _list_votes(selection, item, labels),
        "names_shown": names_shown,
        "options": build_question_options(question),
        "decisions": review.decisions,
    }


def _list_votes(
    selection: Selection, item: Item, labels: dict[int, str]
) -> list[tuple[str, Rating]]:
    """Return (label, rating) of the current ratings, in a fixed order that reveals no rater."""
    rows = Rating.objects.current().filter(question=selection.question, item=item)
    votes = [(labels[row.code], row) for row in rows.select_related("rater")]
    return sorted(votes, key=lambda vote: hashlib.sha256(f"{vote[1].pk}".encode()).digest())


@login_required
@require_POST
def submit_decision(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    """Store the user's answer and continue with the next item."""
    selection = get_permitted_selection(request, project_id, role=ADJUDICATOR, filtered=True)
    item = get_object_or_404(Item, project=selection.project, pk=item_id)
    code_text = request.POST.get("code", "")
    code = (
        int(code_text)
        if code_text.isascii() and code_text.isdigit() and len(code_text) < 6
        else None
    )
    if code is None and code_text != "back":
        return _render_review(request, selection, item, error=_("Choose an answer."), status=400)
    reason = request.POST.get("reason", "")
    try:
        answer = review_decisions.submit_answer(
            question=selection.question, item=item, code=code, reason=reason, by=request.user
        )
    except review_decisions.InvalidDecision as error:
        status = 409 if isinstance(error, review_decisions.ItemClaimed) else 400
        return _render_review(request, selection, item, error=error.message, status=status)
    message = (
        _("Decision saved for item %(key)s.")
        if code is not None
        else _("Decision undone for item %(key)s.")
    )
    messages.success(request, message % {"key": item.key})
    return _redirect_to_next(
        request, selection, last=item if isinstance(answer, Decision) else None
    )


@login_required
@require_POST
def postpone_item(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    """Postpone this item for the duration of a claim, and continue with another one.

    Raises Http404 if another adjudicator has claimed it.
    """
    selection = get_permitted_selection(request, project_id, role=ADJUDICATOR, filtered=True)
    item = get_object_or_404(Item, project=selection.project, pk=item_id)
    try:
        review_decisions.claim_item(
            question=selection.question, item=item, by=request.user, postponed=True
        )
    except review_decisions.ItemClaimed as error:
        raise Http404(error.message) from None
    return _redirect_to_next(request, selection)


@login_required
@require_POST
def reveal_rater_names(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    """Record that the user asked for the raters' names, and show the item again with them."""
    selection = get_permitted_selection(request, project_id, role=ADJUDICATOR)
    item = get_object_or_404(Item, project=selection.project, pk=item_id)
    review_decisions.record_names_seen(question=selection.question, item=item, by=request.user)
    query = urlencode({"question": selection.question.key, "item": item.key})
    return redirect(f"{reverse('review', args=[project_id])}?{query}")


@login_required
@require_POST
def create_gold(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    """Make the current decision the item's gold answer. Raises Http404 without a decision."""
    selection = get_permitted_selection(request, project_id, role=Member.Role.LEAD, filtered=True)
    item = get_object_or_404(Item, project=selection.project, pk=item_id)
    decisions = Decision.objects.filter(question=selection.question, item=item)
    decision = decisions.order_by("number").last()
    if decision is None or decision.code is None:
        raise Http404(_("This item has no decision."))
    set_gold_answer(
        item=item,
        question=selection.question,
        answer=[decision.code],
        by=request.user,
        explanation=decision.reason,
    )
    messages.success(request, _("Gold answer set."))
    return _redirect_to_next(request, selection)


@login_required
@require_POST
def create_example(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    """Append the current decision to the guidelines as an example.

    Raises Http404 if the item has no decision.
    """
    selection = get_permitted_selection(request, project_id, role=Member.Role.LEAD, filtered=True)
    item = get_object_or_404(Item, project=selection.project, pk=item_id)
    try:
        project = add_guideline_example(question=selection.question, item=item, by=request.user)
    except InvalidProjectChange as error:
        messages.error(request, str(error))
        return _redirect_to_next(request, selection, last=item)
    if project is None:
        raise Http404(_("This item has no decision."))
    message = _("Item %(key)s added to guidelines version %(n)s.")
    messages.success(request, message % {"n": project.guidelines_version, "key": item.key})
    return _redirect_to_next(request, selection)


def _redirect_to_next(
    request: HttpRequest, selection: Selection, *, last: Item | None = None
) -> HttpResponse:
    """Redirect to the next item to review.

    ``last``: the item just decided, on which the next page offers actions; None for none.
    """
    review_filter = ReviewFilter.from_query(request.GET, selection.filter)
    query = {"question": selection.question.key} | review_filter.parameters
    if last is not None:
        query["last"] = str(last.pk)
    return redirect(f"{reverse('review', args=[selection.project.pk])}?{urlencode(query)}")


@transaction.atomic
def assign_for_review(*, question: Question, item_ids: Sequence[int], by: Any) -> int:
    """Put these items first in the review queue until they are decided; return how many.

    Items without a rating and items that are decided already are skipped. Records a security
    event.
    """
    rated = Rating.objects.current().filter(question=question, item=OuterRef("pk"))
    decided = ItemLabel.objects.filter(
        question=question, item=OuterRef("pk"), source=LabelSource.DECISION
    )
    items = Item.objects.filter(project=question.project_id, pk__in=item_ids)
    accepted = items.filter(Exists(rated), ~Exists(decided)).order_by("pk")
    rows = [
        ReviewAssignment(question=question, item_id=item_id, by=by)
        for item_id in accepted.values_list("pk", flat=True)
    ]
    ReviewAssignment.objects.bulk_create(rows, ignore_conflicts=True)
    if rows:
        security_log.log_event(
            "items_sent_to_review", project_id=question.project_id, by=by.pk, items=len(rows)
        )
    return len(rows)


def assign_selected_items(request: HttpRequest, project: Project, ids: list[int]) -> None:
    """Put the selected items first in the review queue, and show how many were accepted.

    ``ids`` are the items' ids. The posted form has the key of the question. Raises Http404 for an
    unknown question.
    """
    question = get_object_or_404(project.questions, key=request.POST.get("question", ""))
    n_assigned = assign_for_review(question=question, item_ids=ids, by=request.user)
    message = ngettext(
        "%(n)s item sent to review.",
        "%(n)s items sent to review.",
        n_assigned,
    )
    messages.success(request, message % {"n": n_assigned})
    if n_assigned < len(set(ids)):
        messages.info(request, _("Left out: items without ratings or with a decision."))
