"""Pages of appeals: decisions on the user's own items, and the appeals to answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Exists, F, OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from projects.models import Category, GoldAnswer, Member, Project, Question
from projects.permissions import get_project
from quality.models import Appeal, Decision, ItemLabel, LabelRules, LabelSource
from quality.own_rater import get_own_rater_or_404
from quality.review import appeals
from quality.review.queue_filter import get_appeals_against_current_decision
from ratings.annotation import rater_selectors
from ratings.items import content
from ratings.models import CheckAnswer, Rating

ROWS_PER_PAGE = 25


def _get_labels(project: Project) -> dict[tuple[int, int], str]:
    """Return {(question id, code): label} of all categories of the project."""
    rows = Category.objects.filter(question__project=project)
    return {(row.question_id, row.code): row.label for row in rows}


@login_required
@never_cache
@require_safe
def show_own_decisions(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the decisions on items that the user rated, next to their own ratings."""
    rater = get_own_rater_or_404(request, project_id)
    page = Paginator(appeals.get_visible_decisions(rater), ROWS_PER_PAGE).get_page(
        request.GET.get("page")
    )
    labels = _get_labels(rater.project)
    rows = [
        {
            "entry": entry,
            "own_label": labels.get((entry.decision.question_id, entry.own_code), ""),
            "decided": labels.get((entry.decision.question_id, entry.decision.code or 0), ""),
            "blocks": content.build_blocks(entry.decision.item.body),
        }
        for entry in appeals.build_visible_decisions(rater, list(page))
    ]
    retired = [
        {
            "entry": entry,
            "own_label": labels.get((entry.gold.question_id, entry.own_code), ""),
            "gold": _format_gold(entry.gold, labels),
            "blocks": content.build_blocks(entry.gold.item.body),
        }
        for entry in appeals.list_retired_gold(rater)
    ]
    context = {"project": rater.project, "page": page, "rows": rows, "retired": retired}
    return render(request, "quality/review/own_decisions.html", context)


def _format_gold(gold: GoldAnswer, labels: dict[tuple[int, int], str]) -> str:
    return " / ".join(labels.get((gold.question_id, int(code)), "") for code in gold.answer)


@login_required
@require_POST
def submit_gold_appeal(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    """Create an appeal against an item's gold answer.

    Posted are ``question`` (its key) and ``text``. Raises Http404 for an item that the rater has
    not been given.
    """
    rater = get_own_rater_or_404(request, project_id)
    question_key = request.POST.get("question", "")
    question = get_object_or_404(Question, project=rater.project_id, key=question_key)
    item = rater_selectors.get_item(rater, item_id)
    if item is None:
        raise Http404
    try:
        appeals.create_gold_appeal(
            rater=rater, question=question, item=item, text=request.POST.get("text", "")
        )
    except appeals.InvalidAppeal as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("Appeal sent. The answer will appear here."))
    has_exams = rater.exams.exists()
    return redirect("own_exam" if has_exams else "own_decisions", project_id)


@login_required
@require_POST
def submit_appeal(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    """Create an appeal against the decision on an item.

    Posted are ``question`` (its key) and ``text``.
    """
    rater = get_own_rater_or_404(request, project_id)
    visible = appeals.get_visible_decisions(rater).filter(
        item=item_id, question__key=request.POST.get("question", "")
    )
    decision = get_object_or_404(visible)
    try:
        appeals.create_decision_appeal(
            rater=rater,
            question=decision.question,
            item=decision.item,
            text=request.POST.get("text", ""),
        )
    except appeals.InvalidAppeal as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("Appeal sent. The answer will appear here."))
    return redirect("own_decisions", project_id)


@login_required
@require_safe
def show_appeals(request: HttpRequest, project_id: int) -> HttpResponse:
    """List the appeals of a project, open ones first."""
    project = get_project(request.user, project_id, role=Member.Role.ADJUDICATOR)
    rows = Appeal.objects.filter(question__project=project).select_related("question", "item")
    sorted_rows = rows.order_by(F("answered_at").desc(nulls_first=True), "-pk")
    page = Paginator(sorted_rows, ROWS_PER_PAGE).get_page(request.GET.get("page"))
    labels = _get_labels(project)
    context = {
        "project": project,
        "page": page,
        "cards": _build_cards(list(page), labels),
        "is_possible": LabelRules.objects.filter(
            question__project=project, show_to_raters=True
        ).exists(),
        "contested": Question.objects.filter(
            project=project, pk__in=_get_contested_labels(project).values("question")
        ),
    }
    return render(request, "quality/review/appeals.html", context)


@dataclass(frozen=True)
class AppealCard:
    """An appeal with what it is about.

    ``decided``: label of the decision or gold answer; ``own``: label of the rater's answer, "" if
    it is gone; ``others``: (label, number of other raters who gave it), most frequent first.
    """

    appeal: Appeal
    decided: str
    own: str
    others: list[tuple[str, int]]
    blocks: list[content.ContentBlock]


def _build_cards(appeals: Sequence[Appeal], labels: dict[tuple[int, int], str]) -> list[AppealCard]:
    """Return a card for each appeal, with the raters' current ratings and check answers.

    ``labels``: {(question id, code): label}.
    """
    items = [appeal.item_id for appeal in appeals]
    answers: dict[tuple[int, int], dict[int, str]] = {}
    for query in (CheckAnswer.objects.current(), Rating.objects.current()):
        rows = query.filter(item__in=items).order_by("pk")
        for question, item, rater, code in rows.values_list("question", "item", "rater", "code"):
            answers.setdefault((question, item), {})[rater] = labels.get((question, code), "")
    cards = []
    for appeal in appeals:
        labels_of_raters = dict(answers.get((appeal.question_id, appeal.item_id), {}))
        own = labels_of_raters.pop(appeal.rater_id, "")
        decided = _format_contested_answer(appeal, labels)
        others = Counter(labels_of_raters.values()).most_common()
        blocks = content.build_blocks(appeal.item.body)
        cards.append(AppealCard(appeal, decided, own, others, blocks))
    return cards


def _get_contested_labels(project: Project) -> QuerySet[ItemLabel]:
    """Return the labels from decisions with an unsettled appeal and no newer decision."""
    labels = ItemLabel.objects.filter(question__project=project, source=LabelSource.DECISION)
    return labels.filter(
        Exists(get_appeals_against_current_decision(question=OuterRef("question")))
    )


def _format_contested_answer(appeal: Appeal, labels: dict[tuple[int, int], str]) -> str:
    """Return the label of the decision or gold answer that an appeal is about; "" if it is gone."""
    if appeal.about == Appeal.About.GOLD:
        gold_answers = GoldAnswer.objects.filter(question=appeal.question, item=appeal.item)
        latest = gold_answers.order_by("version").last()
        return "" if latest is None else _format_gold(latest, labels)
    decision = (
        Decision.objects.filter(question=appeal.question, item=appeal.item)
        .order_by("number")
        .last()
    )
    if decision is None or decision.code is None:
        return ""
    return labels.get((appeal.question_id, decision.code), "")


@login_required
@require_POST
def submit_appeal_answer(request: HttpRequest, project_id: int, appeal_id: int) -> HttpResponse:
    """Answer an appeal.

    If it was right about a decision, the user is sent to the item to decide again.
    """
    project = get_project(request.user, project_id, role=Member.Role.ADJUDICATOR)
    appeal = get_object_or_404(Appeal, pk=appeal_id, question__project=project)
    user: Any = request.user
    try:
        answered = appeals.answer_appeal(
            appeal=appeal,
            state=request.POST.get("state", ""),
            text=request.POST.get("answer", ""),
            by=user,
        )
    except appeals.InvalidAppeal as error:
        messages.error(request, str(error))
    else:
        if (answered.state, answered.about) == (Appeal.State.UPHELD, Appeal.About.DECISION):
            messages.success(request, _("Answer sent. The label is unchanged: decide again."))
            query = urlencode({"question": appeal.question.key, "item": appeal.item.key})
            return redirect(f"{reverse('review', args=[project_id])}?{query}")
        messages.success(request, _("Answer sent."))
    return redirect("appeals", project_id)
