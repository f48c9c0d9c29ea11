"""Rendering of the annotation page: the whole page, one item's part ("sheet"), or a preview."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from projects.forms.settings import build_category_formset
from projects.models import Category, Item, Question, Rater
from projects.views.form_handling import CATEGORY_PREFIX
from ratings.items import content
from ratings.models import Assignment, Exam

from . import rater_progress, rater_selectors, remaining_items
from .assignments import exams
from .forms import (
    AnswerForm,
    SkipForm,
    build_answer_options,
    fits_in_one_row,
    get_field_name,
    get_questions,
)
from .rater_progress import get_next_project


def is_sheet_request(request: HttpRequest) -> bool:
    return request.headers.get("X-Annotation") == "sheet"


def render_page(
    request: HttpRequest, rater: Rater, item: Item | None, *, status: int = 200, **forms: Any
) -> HttpResponse:
    """Render the annotation page with the item, or only the item's sheet if rate.js requests it.

    ``item`` is None if the rater has none; ``forms`` are passed to ``_build_item_context``.
    """
    if is_sheet_request(request):
        return render_sheet(request, rater, item, status=status, **forms)
    project, context = rater.project, build_context(request, rater, item, **forms)
    context["begins"] = (
        bool(project.guidelines and project.guidelines_version)
        and not context["progress"].rated
        and not context.get("exam_status")
    )
    context["last_guidelines_version"] = rater_selectors.get_last_guidelines_version(rater)
    return render(request, "ratings/rate.html", context, status=status)


def render_sheet(
    request: HttpRequest,
    rater: Rater,
    item: Item | None,
    *,
    status: int = 200,
    undone_message: str = "",
    ended_exam: Exam | None = None,
    **forms: Any,
) -> HttpResponse:
    """Render only the part of the page for the item; after an exam, with its result.

    ``item`` is None if the rater has none, ``ended_exam`` is the exam that just ended, else None.
    ``undone_message`` says what was undone. ``forms`` are passed to ``_build_item_context``.
    """
    context = build_context(request, rater, item, **forms)
    context |= {"undone_message": undone_message, "ended_exam": ended_exam}
    return render(request, "ratings/_rate_sheet.html", context, status=status)


def render_progress(request: HttpRequest, rater: Rater) -> HttpResponse:
    """Render the rater's progress without a sheet, for an open page that gets no further item."""
    page_context = {
        "project": rater.project,
        "progress": rater_progress.compute_progress(rater),
    }
    return render(request, "ratings/_rate_progress_only.html", page_context)


def build_context(
    request: HttpRequest, rater: Rater, item: Item | None, **forms: Any
) -> dict[str, Any]:
    """Return the template context of the page; ``forms`` are passed to ``_build_item_context``.

    Without an item (None), the page says why: an exam is due, or everything is done.
    """
    context = {
        "project": rater.project,
        "rater": rater,
        "progress": rater_progress.compute_progress(rater),
    }
    if item is not None:
        return context | _build_item_context(rater, item, **forms)
    # An exam is due, or everything is done.
    remaining_items.clear_remaining_count(rater)
    return context | {
        "message": rater_selectors.get_unread_message(rater),
        "exam_status": exams.get_exam_status(rater),
        "next_project": get_next_project(request.user, exclude_project_id=rater.project_id),
    }


def _build_item_context(
    rater: Rater,
    item: Item,
    *,
    form: AnswerForm | None = None,
    skip_form: SkipForm | None = None,
    selected_codes: dict[int, int] | None = None,
    is_conflict: bool = False,
) -> dict[str, object]:
    """Return the template context of an item: content, forms, answers and assignment.

    ``form`` and ``skip_form`` are submitted forms with errors, or None. ``selected_codes``:
    question id -> code to preselect, None for no code. ``is_conflict``: the submission would
    overwrite an answer from another window.
    """
    assignment, answers, message = rater_selectors.get_item_work(rater, item)
    is_exam_item = assignment is not None and assignment.kind == Assignment.Kind.EXAM
    questions = list_asked_questions(rater, item, is_exam_item=is_exam_item)
    answers_by_question = {rating.question_id: rating for rating in answers}
    codes = {question_id: rating.code for question_id, rating in answers_by_question.items()}
    if form is None:
        initial = AnswerForm.build_initial(answers_by_question, questions)
        for question in questions:
            if selected_codes and question.pk in selected_codes:
                initial[get_field_name(question)] = selected_codes[question.pk]
        initial["flagged"] = assignment is not None and assignment.flagged
        form = AnswerForm(questions, initial=initial)
    return {
        "item": item,
        "message": message,
        "blocks": content.build_blocks(item.body),
        "form": form,
        "skip_form": skip_form or SkipForm(),
        "answer_version": rater_selectors.compute_answer_version(answers_by_question),
        "submitted_answers": [
            (question, rater_selectors.get_labels([question], codes)) for question in questions
        ],
        "conflicting_labels": rater_selectors.get_labels(questions, codes) if is_conflict else [],
        **_build_assignment_context(rater, item, assignment),
    }


def list_asked_questions(rater: Rater, item: Item, *, is_exam_item: bool) -> list[Question]:
    """Return the questions that the item's form asks; for an exam item, only that of the exam."""
    questions = get_questions(rater.project)
    exam = exams.get_open_exam(rater, item) if is_exam_item else None
    return [question for question in questions if exam is None or question.pk == exam.question_id]


def _build_assignment_context(
    rater: Rater, item: Item, assignment: Assignment | None
) -> dict[str, object]:
    """Return the template context of the rater's assignment of an item: its state, and the exam.

    An item without an assignment (None) counts as rated.
    """
    state = assignment.state if assignment else Assignment.State.DONE
    context: dict[str, object] = {
        "assignment": assignment,
        "is_new": state == Assignment.State.OPEN,
        "is_rated": state == Assignment.State.DONE,
        "may_change": rater.project.allows_corrections,
    }
    is_check = assignment is not None and assignment.kind  # it needs no slot
    if state == Assignment.State.SKIPPED and not is_check:
        full_items = Item.objects.filter(pk=item.pk, slots_taken__gte=rater.project.overlap)
        context["has_no_free_slot"] = full_items.exists()
    if assignment is not None and assignment.kind == Assignment.Kind.EXAM:
        context |= {"in_exam": exams.get_open_exam(rater, item), "may_change": False}
    return context


MAX_QUESTION_LENGTH = 500


@login_required
@require_POST
def preview_question(request: HttpRequest) -> HttpResponse:
    """Render the submitted question as raters will see it.

    Invalid rows of categories are left out; the question's form reports their errors.
    """
    formset = build_category_formset(extra=0, fixed="stored" not in request.POST)(
        request.POST, prefix=CATEGORY_PREFIX
    )
    formset.is_valid()
    rows = [form.cleaned_data for form in formset.forms if hasattr(form, "cleaned_data")]
    rows = [row for row in rows if not row.get("DELETE")]
    rows.sort(key=lambda row: row.get("ORDER") or len(rows))
    categories = [
        Category(code=code, label=row["label"], hotkey=row.get("hotkey", ""))
        for code, row in enumerate(rows)
        if row.get("label")
    ]
    context = build_preview_context(request.POST.get("text", ""), categories)
    return render(request, "ratings/_question_preview.html", context)


def build_preview_context(text: str, categories: Sequence[Category]) -> dict[str, object]:
    """Return the template context of the preview of a question with this text and categories."""
    options = build_answer_options(categories, "preview")
    return {
        "text": text[:MAX_QUESTION_LENGTH].strip(),
        "options": options,
        "in_a_row": fits_in_one_row(options),
    }
