"""What raters learn of decisions on their items, and what they say against them."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Exists, F, OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from projects.models import Category, GoldAnswer, Member, Project, Question
from projects.permissions import get_project
from quality.access import own_rater
from quality.models import Appeal, Decision, ItemLabel, Source
from quality.review import appeals as appealing
from quality.review import gold_appeals
from quality.review.queue_filter import contested
from ratings.annotation import rater_work
from ratings.items import content

A_PAGE = 25


def _labels(project: Project) -> dict[tuple[int, int], str]:
    rows = Category.objects.filter(question__project=project)
    return {(row.question_id, row.code): row.label for row in rows}


@login_required
@never_cache
@require_safe
def decisions(request: HttpRequest, project_id: int) -> HttpResponse:
    """The decisions on items that the user rated, beside what they said."""
    rater = own_rater(request, project_id)
    page = Paginator(appealing.told(rater), A_PAGE).get_page(request.GET.get("page"))
    labels = _labels(rater.project)
    rows = [
        {
            "told": one,
            "said": labels.get((one.decision.question_id, one.own), ""),
            "decided": labels.get((one.decision.question_id, one.decision.code or 0), ""),
            "blocks": content.blocks(one.decision.item.body),
        }
        for one in appealing.with_own(rater, list(page))
    ]
    retired = [
        {
            "told": one,
            "said": labels.get((one.gold.question_id, one.own), ""),
            "gold": _gold_labels(one.gold, labels),
            "blocks": content.blocks(one.gold.item.body),
        }
        for one in gold_appeals.retired(rater)
    ]
    context = {"project": rater.project, "page": page, "rows": rows, "retired": retired}
    return render(request, "quality/review/own_decisions.html", context)


def _gold_labels(gold: GoldAnswer, labels: dict[tuple[int, int], str]) -> str:
    return " / ".join(labels.get((gold.question_id, int(code)), "") for code in gold.answer)


@login_required
@require_POST
def contest_gold(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    """The user contests the known answer of an item: ``question`` (its key) and ``text``."""
    rater = own_rater(request, project_id)
    key = request.POST.get("question", "")
    question = get_object_or_404(Question, project=rater.project_id, key=key)
    item = rater_work.item_of(rater, item_id)
    if item is None:
        raise Http404
    try:
        gold_appeals.contest(
            rater=rater, question=question, item=item, text=request.POST.get("text", "")
        )
    except appealing.Refused as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("The lead will see it and answer here."))
    in_exam = rater.exams.exists()
    return redirect("exam" if in_exam else "decisions", project_id)


@login_required
@require_POST
def contest(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    """The user contests the decision on an item: ``question`` (its key) and ``text``."""
    rater = own_rater(request, project_id)
    found = appealing.told(rater).filter(
        item=item_id, question__key=request.POST.get("question", "")
    )
    made = get_object_or_404(found)
    try:
        appealing.contest(
            rater=rater,
            question=made.question,
            item=made.item,
            text=request.POST.get("text", ""),
        )
    except appealing.Refused as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("The lead will see it and answer here."))
    return redirect("decisions", project_id)


@login_required
@require_safe
def appeals(request: HttpRequest, project_id: int) -> HttpResponse:
    """What raters contest, the open ones first."""
    project = get_project(request.user, project_id, role=Member.Role.ADJUDICATOR)
    rows = Appeal.objects.filter(question__project=project).select_related("question", "item")
    ordered = rows.order_by(F("answered_at").desc(nulls_first=True), "-pk")
    page = Paginator(ordered, A_PAGE).get_page(request.GET.get("page"))
    labels = _labels(project)
    context = {
        "project": project,
        "page": page,
        "rows": [(row, _decided(row, labels)) for row in page],
        "open": rows.filter(state=Appeal.State.OPEN).count(),
        "contested": Question.objects.filter(
            project=project, pk__in=_contested(project).values("question")
        ),
    }
    return render(request, "quality/review/appeals.html", context)


def _contested(project: Project) -> QuerySet[ItemLabel]:
    """The decided labels that wait to be decided anew."""
    labels = ItemLabel.objects.filter(question__project=project, source=Source.DECISION)
    return labels.filter(Exists(contested(question=OuterRef("question"))))


def _decided(row: Appeal, labels: dict[tuple[int, int], str]) -> str:
    if row.about == Appeal.About.GOLD:
        same = GoldAnswer.objects.filter(question=row.question, item=row.item)
        latest = same.order_by("version").last()
        return "" if latest is None else _gold_labels(latest, labels)
    made = Decision.objects.filter(question=row.question, item=row.item).order_by("number").last()
    if made is None or made.code is None:
        return ""
    return labels.get((row.question_id, made.code), "")


@login_required
@require_POST
def answer(request: HttpRequest, project_id: int, appeal_id: int) -> HttpResponse:
    project = get_project(request.user, project_id, role=Member.Role.ADJUDICATOR)
    row = get_object_or_404(Appeal, pk=appeal_id, question__project=project)
    user: Any = request.user
    try:
        appealing.answer(
            appeal=row,
            state=request.POST.get("state", ""),
            text=request.POST.get("answer", ""),
            by=user,
        )
    except appealing.Refused as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("Answered."))
    return redirect("appeals", project_id)
