"""The desk with an item on it: the whole page, or the sheet alone that rate.js asks for."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from projects.models import Item, Rater
from ratings.items import content
from ratings.models import Assignment

from . import rater_work
from .assignments import exams
from .forms import AnswerForm, SkipForm, field_name, questions_of
from .progress import rater_progress, remaining
from .progress.next_project import next_project


def wants_sheet(request: HttpRequest) -> bool:
    return request.headers.get("X-Desk") == "sheet"


def page(
    request: HttpRequest, rater: Rater, item: Item | None, *, status: int = 200, **forms: Any
) -> HttpResponse:
    """The whole desk with this item on it, or its sheet alone."""
    found = context(rater, item, **forms)
    if item is None:
        found |= without_item(request, rater)
    if wants_sheet(request):
        return render(request, "ratings/_rate_sheet.html", found, status=status)
    found["went_by"] = rater_work.went_by(rater)
    return render(request, "ratings/rate.html", found, status=status)


def sheet(
    request: HttpRequest, rater: Rater, item: Item | None, *, taken_back: str = "", **forms: Any
) -> HttpResponse:
    found = context(rater, item, **forms) | {"taken_back": taken_back}
    if item is None:
        found |= without_item(request, rater)
    return render(request, "ratings/_rate_sheet.html", found)


def without_item(request: HttpRequest, rater: Rater) -> dict[str, Any]:
    """Why there is none: an exam comes first, or all is done and another project may go on."""
    return {
        "examining": exams.standing(rater),
        "next_project": next_project(request.user, besides=rater.project_id),
        "others_rate": remaining.has_left(rater),
    }


def context(
    rater: Rater,
    item: Item | None,
    *,
    form: AnswerForm | None = None,
    skip_form: SkipForm | None = None,
    chosen: dict[int, int] | None = None,
    elsewhere: bool = False,
) -> dict[str, Any]:
    """``chosen`` are codes by question that were said before; ``elsewhere``: what was sent would
    overwrite what the rater said in another window."""
    questions = questions_of(rater.project)
    if item is None:
        remaining.found_none(rater)
    done = rater_progress.of_rater(rater)
    found: dict[str, Any] = {
        "project": rater.project,
        "rater": rater,
        "progress": done,
        "recent": [(one, rater_work.labels(questions, one.codes)) for one in done.recent],
    }
    if item is None:
        return found | {"message": rater_work.unread_message(rater)}
    mine, ratings, message = rater_work.said_of(rater, item)
    standing = {rating.question_id: rating for rating in ratings}
    codes = {question_id: rating.code for question_id, rating in standing.items()}
    if form is None:
        initial = AnswerForm.initial_of(standing, questions)
        for question in questions:
            if chosen and question.pk in chosen:
                initial[field_name(question)] = chosen[question.pk]
        initial["flagged"] = mine is not None and mine.flagged
        form = AnswerForm(questions, initial=initial)
    found |= {
        "item": item,
        "message": message,
        "blocks": content.blocks(item.body),
        "form": form,
        "skip_form": skip_form or SkipForm(),
        "mine": mine,
        "said": rater_work.stamp(standing),
        "told": [(question, rater_work.labels([question], codes)) for question in questions],
        "elsewhere": rater_work.labels(questions, codes) if elsewhere else [],
        "is_new": mine is not None and mine.state == Assignment.State.OPEN,
        "is_rated": mine is None or mine.state == Assignment.State.DONE,
        "may_change": rater.project.corrections,
    }
    if mine is not None and mine.state == Assignment.State.SKIPPED:
        found["full"] = Item.objects.filter(
            pk=item.pk, places_taken__gte=rater.project.overlap
        ).exists()
    if mine is not None and mine.why == Assignment.Why.EXAM:
        found |= {"in_exam": exams.under_way(rater, item), "may_change": False}
    return found
