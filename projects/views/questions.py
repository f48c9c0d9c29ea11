"""Views of questions: list them, add one, and change its text, categories and weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.text import describe_saved
from core.web.forms import add_form_errors
from projects.forms.question_templates import QUESTION_TEMPLATES
from projects.forms.settings import (
    BaseCategoryFormSet,
    QuestionTextForm,
    ScaleForm,
    WeightsForm,
    build_category_formset,
)
from projects.models import Category, Member, Project, Question, Weights
from projects.permissions import get_project
from projects.services import questions
from projects.services.project_validation import InvalidProjectChange
from projects.services.question_validation import InvalidQuestions, NewCategory

from .form_handling import (
    CATEGORY_PREFIX,
    add_question_errors,
    are_all_valid,
    build_question,
    build_question_forms,
    get_form_data,
    get_form_status,
    is_submitted,
)
from .weights import build_editor_rows, build_matrix_context, list_earlier_weights


def _get_question(request: HttpRequest, project_id: int, key: str) -> tuple[Project, Question]:
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    questions_of_project = project.questions.prefetch_related("categories")
    return project, get_object_or_404(questions_of_project, key=key)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def add_question(request: HttpRequest, project_id: int) -> HttpResponse:
    """Add a question to a project; ``?template=`` names a question template."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    template, form, categories = build_question_forms(request)
    if is_submitted(request) and are_all_valid(form, categories):
        try:
            created = questions.add_question(
                project=project, question=build_question(form, categories, project), by=request.user
            )
        except InvalidProjectChange as error:
            add_form_errors(form, error.fields)
        except InvalidQuestions as error:
            add_question_errors(form, categories, error)
        else:
            messages.success(request, describe_saved(_("Question")))
            return redirect("question", project.pk, created.key)
    context = {
        "project": project,
        "question_form": form,
        "categories": categories,
        "question_templates": QUESTION_TEMPLATES.items(),
        "selected_template": template,
    }
    return render(
        request, "projects/question_new.html", context, status=get_form_status(form, categories)
    )


@login_required
@require_safe
def list_questions(request: HttpRequest, project_id: int) -> HttpResponse:
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    context = {
        "project": project,
        "questions": project.questions.prefetch_related("categories"),
    }
    return render(request, "projects/questions.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit_question(request: HttpRequest, project_id: int, key: str) -> HttpResponse:
    """Show a question, and save its text, scale, categories and weights together or not at all."""
    project, changed_question = _get_question(request, project_id, key)
    if request.method != "POST":
        return _render_page(request, project, changed_question)
    page = _bind_forms(request, changed_question)
    if "add_row" not in request.POST and page.are_valid():
        try:
            changed = _save_question(changed_question, page, by=request.user)
        except _InvalidPart as error:
            if error.form is page.scale:
                _add_category_errors(page, error.change)
            else:
                add_form_errors(error.form, error.change.fields)
        else:
            return _redirect_after_save(request, project, changed_question, changed=changed)
    return _render_page(
        request,
        project,
        changed_question,
        text_form=page.text,
        scale_form=page.scale,
        categories=page.categories,
        weights_form=page.weights,
    )


@dataclass(frozen=True)
class QuestionForms:
    """The forms of a question's page, bound to the submitted data."""

    text: QuestionTextForm
    scale: ScaleForm
    categories: BaseCategoryFormSet
    weights: WeightsForm

    def are_valid(self) -> bool:
        return are_all_valid(self.text, self.scale, self.categories, self.weights)


def _bind_forms(request: HttpRequest, question: Question) -> QuestionForms:
    data = get_form_data(request)
    return QuestionForms(
        QuestionTextForm(data, initial={"text": question.text}),
        ScaleForm(data),
        build_category_formset(extra=0)(data, prefix=CATEGORY_PREFIX),
        WeightsForm(data, question=question),
    )


class _InvalidPart(Exception):
    """The error of one of the page's forms; nothing of the page has been saved."""

    def __init__(self, form: forms.Form, change: InvalidProjectChange) -> None:
        super().__init__(change.fields)
        self.form, self.change = form, change


@transaction.atomic
def _save_question(question: Question, page: QuestionForms, *, by: Any) -> bool:
    """Save those of the valid forms that differ from the question; return whether any did.

    Raises _InvalidPart, with the form at fault, if a service rejects a change.
    """
    rows = [(row.cleaned_data["code"], row.build_category()) for row in page.categories.get_rows()]
    stored_rows = [
        (category.code, NewCategory(category.label, category.value, category.hotkey))
        for category in question.active_categories()
    ]
    changes_text = bool(page.text.get_changes())
    changes_scale = page.scale.cleaned_data["scale"] != question.scale or rows != stored_rows
    changes_weights = page.weights.changes_weights(question)
    part: forms.Form = page.text
    try:
        if changes_text:
            questions.change_question_text(question=question, by=by, **page.text.cleaned_data)
        if changes_scale:
            part = page.scale
            question = questions.change_categories(
                question=question, by=by, categories=rows, **page.scale.cleaned_data
            )
        if changes_weights:
            part = page.weights
            if changes_scale and page.weights.has_own_matrix:
                raise InvalidProjectChange(
                    {"weights": _("Save new categories first, then their weights.")}
                )
            _change_weights(question, page.weights, by=by, changes_scale=changes_scale)
    except InvalidProjectChange as error:
        raise _InvalidPart(part, error) from error
    return changes_text or changes_scale or changes_weights


def _add_category_errors(page: QuestionForms, error: InvalidProjectChange) -> None:
    fields = dict(error.fields)
    rows = page.categories.get_rows()
    for message in page.categories.add_problems(rows, fields.pop("categories", {})):
        page.scale.add_error(None, message)
    add_form_errors(page.scale, fields)


def _change_weights(
    question: Question, form: WeightsForm, *, by: Any, changes_scale: bool = False
) -> None:
    values = dict(form.cleaned_data)
    if changes_scale:  # saved just now, in the same transaction
        values["seen_version"] = question.scale_version
    # Other weights keep the stored matrix for later use.
    matrix = form.get_matrix() if form.has_own_matrix else question.weight_matrix
    questions.change_weights(question=question, by=by, matrix=matrix, **values)


@login_required
@require_POST
def change_weights(request: HttpRequest, project_id: int, key: str) -> HttpResponse:
    """Save the weights alone, from a button of another page."""
    project, changed_question = _get_question(request, project_id, key)
    form = WeightsForm(request.POST, question=changed_question)
    if form.is_valid():
        try:
            _change_weights(changed_question, form, by=request.user)
            return _redirect_after_save(request, project, changed_question)
        except InvalidProjectChange as error:
            add_form_errors(form, error.fields)
    return _render_page(request, project, changed_question, weights_form=form)


@login_required
@require_POST
def preview_matrix(request: HttpRequest, project_id: int, key: str) -> HttpResponse:
    """Render the preview of the matrix as typed so far, or its error. Changes nothing."""
    _project, question_shown = _get_question(request, project_id, key)
    labels = [category.label for category in question_shown.active_categories()]
    form = WeightsForm(request.POST, question=question_shown)
    return render(
        request,
        "projects/_matrix_preview.html",
        build_matrix_context(form.data.get("weights", ""), form, labels, question_shown),
    )


def _redirect_after_save(
    request: HttpRequest, project: Project, changed_question: Question, *, changed: bool = True
) -> HttpResponse:
    if changed:
        messages.success(request, describe_saved(_("Question")))
    else:
        messages.info(request, _("Nothing has changed."))
    return redirect("question", project.pk, changed_question.key)


def _render_page(
    request: HttpRequest, project: Project, question_shown: Question, **bound_forms: Any
) -> HttpResponse:
    """Render the question's page; ``bound_forms`` (by context name) replace its unbound forms."""
    categories = question_shown.active_categories()
    labels = [category.label for category in categories]
    current_values = {
        "text": question_shown.text,
        "scale": question_shown.scale,
        "weights": question_shown.weights,
        "seen_version": question_shown.scale_version,
    }
    weights_form = bound_forms.get("weights_form") or WeightsForm(
        initial=current_values, question=question_shown
    )
    context = {
        "project": project,
        "question": question_shown,
        "text_form": QuestionTextForm(initial=current_values),
        "scale_form": ScaleForm(initial=current_values),
        "categories": build_category_formset(extra=0)(
            initial=_build_category_rows(categories), prefix=CATEGORY_PREFIX
        ),
        "weights_form": weights_form,
        "earlier_weights": list_earlier_weights(question_shown),
        "retired": [
            category.label for category in question_shown.categories.all() if category.retired
        ],
        "cells": build_editor_rows(question_shown, weights_form, labels),
        **bound_forms,
    }
    context |= _build_weights_preview(weights_form, context["cells"], question_shown)
    return render(
        request,
        "projects/question.html",
        context,
        status=400 if _has_errors(request, bound_forms) else 200,
    )


def _build_weights_preview(
    weights_form: WeightsForm, editor_rows: Any, question_shown: Question
) -> dict[str, object]:
    """Return the template context of the matrix preview.

    An unbound form shows the stored weights, which are in ``editor_rows``.
    """
    selected_weights = weights_form["weights"].value() or Weights.NONE
    if not weights_form.is_bound:
        cells = {
            f"cell-{i}-{j}": cell
            for i, (_row_label, row) in enumerate(editor_rows)
            for j, (cell, _label) in enumerate(row)
        }
        weights_form = WeightsForm({"weights": selected_weights, **cells}, question=question_shown)
    labels = [category.label for category in question_shown.active_categories()]
    return build_matrix_context(str(selected_weights), weights_form, labels, question_shown)


def _build_category_rows(categories: list[Category]) -> list[dict[str, object]]:
    """Return the initial values of the categories' forms."""
    return [
        {
            "code": category.code,
            "label": category.label,
            "value": _drop_trailing_zero(category.value),
            "hotkey": category.hotkey,
            "ORDER": position,
        }
        for position, category in enumerate(categories, start=1)
    ]


def _drop_trailing_zero(value: float | None) -> float | None:
    """Return a whole number as int (3 instead of 3.0), for a form field; None stays None."""
    return int(value) if value is not None and value.is_integer() else value


def _has_errors(request: HttpRequest, bound_forms: dict[str, object]) -> bool:
    return bool(bound_forms) and "add_row" not in request.POST
