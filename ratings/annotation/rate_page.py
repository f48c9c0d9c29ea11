"""Rendering of the annotation page: the whole page, or only the sheet of an item for rate.js.

A sheet is the fragment with one item and its form, which rate.js inserts into the page.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from projects.models import Item, Rater
from ratings.items import content
from ratings.models import Assignment

from . import rater_work
from .assignments import exams
from .forms import AnswerForm, SkipForm, get_field_name, get_questions
from .progress import rater_progress, remaining
from .progress.rater_progress import get_next_project


def is_sheet_request(request: HttpRequest) -> bool:
    return request.headers.get("X-Annotation") == "sheet"


def render_page(
    request: HttpRequest, rater: Rater, item: Item | None, *, status: int = 200, **forms: Any
) -> HttpResponse:
    """Render the whole annotation page with this item, or only its sheet."""
    page_context = build_context(rater, item, **forms)
    if item is None:
        page_context |= build_empty_context(request, rater)
    if is_sheet_request(request):
        return render(request, "ratings/_rate_sheet.html", page_context, status=status)
    page_context["begins"] = (
        bool(rater.project.guidelines and rater.project.guidelines_version)
        and not page_context["progress"].rated
        and not page_context.get("exam_status")
    )
    page_context["last_guidelines_version"] = rater_work.get_last_guidelines_version(rater)
    return render(request, "ratings/rate.html", page_context, status=status)


def render_sheet(
    request: HttpRequest, rater: Rater, item: Item | None, *, undone_message: str = "", **forms: Any
) -> HttpResponse:
    """Render only the sheet with this item."""
    page_context = build_context(rater, item, **forms) | {"undone_message": undone_message}
    if item is None:
        page_context |= build_empty_context(request, rater)
    return render(request, "ratings/_rate_sheet.html", page_context)


def render_progress(request: HttpRequest, rater: Rater) -> HttpResponse:
    """Render the progress alone, for a page that has sheets and gets no further one."""
    page_context = {
        "project": rater.project,
        "progress": rater_progress.compute_progress(rater),
    }
    return render(request, "ratings/_rate_progress_only.html", page_context)


def build_empty_context(request: HttpRequest, rater: Rater) -> dict[str, Any]:
    """Return the context for a page without an item: an exam is due, or everything is done."""
    return {
        "exam_status": exams.get_exam_status(rater),
        "next_project": get_next_project(request.user, exclude_project_id=rater.project_id),
        "has_items_left": remaining.has_items_left(rater),
    }


def build_context(
    rater: Rater,
    item: Item | None,
    *,
    form: AnswerForm | None = None,
    skip_form: SkipForm | None = None,
    selected_codes: dict[int, int] | None = None,
    is_conflict: bool = False,
) -> dict[str, Any]:
    """Return the context of the page's templates.

    ``selected_codes``: codes by question id to preselect. ``is_conflict``: the submission would
    overwrite an answer from another window.
    """
    questions = get_questions(rater.project)
    if item is None:
        remaining.clear_cached_count(rater)
    page_context: dict[str, Any] = {
        "project": rater.project,
        "rater": rater,
        "progress": rater_progress.compute_progress(rater),
    }
    if item is None:
        return page_context | {"message": rater_work.get_unread_message(rater)}
    assignment, answers, message = rater_work.get_item_work(rater, item)
    answers_by_question = {rating.question_id: rating for rating in answers}
    codes = {question_id: rating.code for question_id, rating in answers_by_question.items()}
    if form is None:
        initial = AnswerForm.build_initial(answers_by_question, questions)
        for question in questions:
            if selected_codes and question.pk in selected_codes:
                initial[get_field_name(question)] = selected_codes[question.pk]
        initial["flagged"] = assignment is not None and assignment.flagged
        form = AnswerForm(questions, initial=initial)
    page_context |= {
        "item": item,
        "message": message,
        "blocks": content.build_blocks(item.body),
        "form": form,
        "skip_form": skip_form or SkipForm(),
        "assignment": assignment,
        "answer_version": rater_work.compute_answer_version(answers_by_question),
        "submitted_answers": [
            (question, rater_work.get_labels([question], codes)) for question in questions
        ],
        "conflicting_labels": rater_work.get_labels(questions, codes) if is_conflict else [],
        "is_new": assignment is not None and assignment.state == Assignment.State.OPEN,
        "is_rated": assignment is None or assignment.state == Assignment.State.DONE,
        "may_change": rater.project.allows_corrections,
    }
    is_check = assignment is not None and assignment.kind  # it needs no slot
    if assignment is not None and assignment.state == Assignment.State.SKIPPED and not is_check:
        page_context["has_no_free_slot"] = Item.objects.filter(
            pk=item.pk, slots_taken__gte=rater.project.overlap
        ).exists()
    if assignment is not None and assignment.kind == Assignment.Kind.EXAM:
        page_context |= {"in_exam": exams.get_open_exam(rater, item), "may_change": False}
    return page_context
