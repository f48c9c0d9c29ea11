"""Views of questions: add one, and change its text, categories and weights in a form each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from projects import hooks
from projects.forms.question_templates import QUESTION_TEMPLATES
from projects.forms.settings import (
    BaseCategoryFormSet,
    QuestionTextForm,
    ScaleForm,
    WeightsForm,
    build_category_formset,
)
from projects.models import Member, Project, Question, Scale, ScaleVersion, Weights
from projects.permissions import get_project
from projects.services import questions, scales, weight_matrix
from projects.services.project_validation import InvalidProjectChange
from projects.services.question_validation import InvalidQuestions

from .form_handling import (
    CATEGORY_PREFIX,
    add_form_errors,
    add_question_errors,
    are_all_valid,
    build_question,
    build_question_forms,
    get_form_data,
    get_form_status,
    is_submitted,
)


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
            messages.success(request, _("Question added."))
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
def show_question(request: HttpRequest, project_id: int, key: str) -> HttpResponse:
    project, question_shown = _get_question(request, project_id, key)
    return _render_page(request, project, question_shown)


@login_required
@require_POST
def change_text(request: HttpRequest, project_id: int, key: str) -> HttpResponse:
    project, changed_question = _get_question(request, project_id, key)
    form = QuestionTextForm(request.POST)
    if form.is_valid():
        try:
            questions.change_question_text(
                question=changed_question, by=request.user, **form.cleaned_data
            )
            return _redirect_saved(request, project, changed_question)
        except InvalidProjectChange as error:
            add_form_errors(form, error.fields)
    return _render_page(request, project, changed_question, text_form=form)


@login_required
@require_POST
def change_categories(request: HttpRequest, project_id: int, key: str) -> HttpResponse:
    project, changed_question = _get_question(request, project_id, key)
    data = get_form_data(request)
    form = ScaleForm(data)
    categories = build_category_formset(extra=0)(data, prefix=CATEGORY_PREFIX)
    if "add_row" not in request.POST and are_all_valid(form, categories):
        rows = categories.get_rows()
        try:
            scales.change_categories(
                question=changed_question,
                by=request.user,
                categories=[(row.cleaned_data["code"], row.build_category()) for row in rows],
                **form.cleaned_data,
            )
            return _redirect_saved(request, project, changed_question)
        except InvalidProjectChange as error:
            _add_category_errors(form, categories, rows, error)
    return _render_page(request, project, changed_question, scale_form=form, categories=categories)


def _add_category_errors(
    form: ScaleForm, categories: BaseCategoryFormSet, rows: list, error: InvalidProjectChange
) -> None:
    fields = dict(error.fields)
    for message in categories.add_problems(rows, fields.pop("categories", {})):
        form.add_error(None, message)
    add_form_errors(form, fields)


@login_required
@require_POST
def change_weights(request: HttpRequest, project_id: int, key: str) -> HttpResponse:
    project, changed_question = _get_question(request, project_id, key)
    form = WeightsForm(request.POST, question=changed_question)
    if form.is_valid():
        custom = form.cleaned_data["weights"] == Weights.CUSTOM
        # Other weights keep the stored matrix for later use.
        matrix = form.get_matrix() if custom else changed_question.weight_matrix
        try:
            scales.change_weights(
                question=changed_question, by=request.user, matrix=matrix, **form.cleaned_data
            )
            return _redirect_saved(request, project, changed_question)
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


def build_matrix_context(
    weights: str, form: WeightsForm, labels: list[str], question_shown: Question
) -> dict[str, Any]:
    """Return the template context of the matrix preview.

    ``problem``, or ``preview`` with rows of (label, [(weight, tenths), ...]), the resulting
    ``agreement``, and a ``doubt`` about the order.
    """
    effective_weights = (
        Scale(question_shown.scale).get_effective_weights(weights)
        if weights in Weights.values
        else None
    )
    if effective_weights == Weights.CUSTOM:
        matrix: Any = form.get_matrix()
    else:
        matrix = (
            weight_matrix.build_rank_matrix(effective_weights, len(labels))
            if effective_weights
            else None
        )
    if matrix is None:
        return {"problem": _("Enter a weight for each pair of categories."), "labels": labels}
    if matrix_problem := weight_matrix.find_matrix_problem(matrix, len(labels), labels):
        return {"problem": matrix_problem, "labels": labels}
    preview = _build_preview(labels, matrix)
    return {
        "preview": preview,
        "labels": labels,
        "stand_in": effective_weights.label
        if effective_weights and effective_weights != weights
        else "",
        "doubt": weight_matrix.find_order_violation(matrix, labels)
        if Scale(question_shown.scale).ordered
        else None,
        "agreement": next(
            filter(None, hooks.WEIGHTS_PREVIEW.call(question_shown.pk, matrix)), None
        ),
        "project": question_shown.project,
    }


def _redirect_saved(
    request: HttpRequest, project: Project, changed_question: Question
) -> HttpResponse:
    messages.success(request, _("Saved. Statistics update within seconds."))
    return redirect("question", project.pk, changed_question.key)


def _render_page(
    request: HttpRequest, project: Project, question_shown: Question, **bound_forms: Any
) -> HttpResponse:
    """Render the page; ``bound_forms`` have errors, the others show current values."""
    categories = question_shown.active_categories()
    labels = [category.label for category in categories]
    current_values = {
        "scale": question_shown.scale,
        "weights": question_shown.weights,
        "seen_version": question_shown.scale_version,
    }
    rows = [
        {
            "code": c.code,
            "label": c.label,
            "value": _drop_trailing_zero(c.value),
            "hotkey": c.hotkey,
            "ORDER": position,
        }
        for position, c in enumerate(categories, start=1)
    ]
    weights_form = bound_forms.get("weights_form") or WeightsForm(
        initial=current_values, question=question_shown
    )
    context = {
        "project": project,
        "question": question_shown,
        "text_form": QuestionTextForm(initial={"text": question_shown.text}),
        "scale_form": ScaleForm(initial=current_values),
        "categories": build_category_formset(extra=0)(initial=rows, prefix=CATEGORY_PREFIX),
        "weights_form": weights_form,
        "earlier_weights": list_earlier_weights(question_shown),
        "retired": [
            category.label for category in question_shown.categories.all() if category.retired
        ],
        "cells": _build_editor_rows(question_shown, weights_form, labels),
        **bound_forms,
    }
    selected_weights = weights_form["weights"].value() or Weights.NONE
    if weights_form.is_bound:
        context |= build_matrix_context(str(selected_weights), weights_form, labels, question_shown)
    else:
        cells = {
            f"cell-{i}-{j}": cell
            for i, (_row_label, row) in enumerate(context["cells"])
            for j, (cell, _label) in enumerate(row)
        }
        preview_form = WeightsForm({"weights": selected_weights, **cells}, question=question_shown)
        context |= build_matrix_context(str(selected_weights), preview_form, labels, question_shown)
    return render(
        request,
        "projects/question.html",
        context,
        status=400 if _has_errors(request, bound_forms) else 200,
    )


@dataclass(frozen=True)
class WeightsVersion:
    """Earlier weights, with the user, time and reason of the change that replaced them."""

    weights: str
    preview: list[tuple[str, list[tuple[float, int]]]]
    version: ScaleVersion


def list_earlier_weights(question_shown: Question) -> list[WeightsVersion]:
    """List the earlier weights, newest first; other changes of the scale are left out."""
    versions = list(ScaleVersion.objects.filter(question=question_shown).select_related("by"))
    next_declarations = [
        *(scale_version.declaration for scale_version in versions[1:]),
        question_shown.get_declaration(),
    ]
    earlier = []
    for version, next_declaration in zip(versions, next_declarations, strict=False):
        declaration = version.declaration
        if (declaration["weights"], declaration["matrix"]) == (
            next_declaration["weights"],
            next_declaration["matrix"],
        ):
            continue
        labels = [category["label"] for category in declaration["categories"]]
        custom = declaration["weights"] == Weights.CUSTOM
        matrix = (
            declaration["matrix"]
            if custom
            else weight_matrix.build_rank_matrix(declaration["weights"], len(labels))
        )
        name = Weights(declaration["weights"]).label
        earlier.append(WeightsVersion(str(name), _build_preview(labels, matrix), version))
    return earlier[::-1]


def _build_preview(
    labels: list[str], matrix: list[list[float]]
) -> list[tuple[str, list[tuple[float, int]]]]:
    return [
        (label, [(cell, round(cell * 10)) for cell in row])
        for label, row in zip(labels, matrix, strict=True)
    ]


def _drop_trailing_zero(value: float | None) -> float | None:
    """Return a whole number as int (3 instead of 3.0), for a form field."""
    return int(value) if value is not None and value.is_integer() else value


def _has_errors(request: HttpRequest, bound_forms: dict[str, Any]) -> bool:
    return bool(bound_forms) and "add_row" not in request.POST


def _build_editor_rows(
    question_shown: Question, form: WeightsForm, labels: list[str]
) -> list[tuple[str, list[tuple[Any, str]]]]:
    """Return the rows of the matrix editor: (label, [(cell text, column label), ...])."""
    if form.is_bound:
        matrix: list[list[Any]] = form.get_typed_cells()
    else:
        numbers = question_shown.weight_matrix or weight_matrix.build_rank_matrix(
            Weights.LINEAR, len(labels)
        )
        matrix = [
            [
                f"{round(cell, 4):g}" if not question_shown.weight_matrix else repr(cell)
                for cell in row
            ]
            for row in numbers
        ]
    return [
        (label, list(zip(row, labels, strict=True)))
        for label, row in zip(labels, matrix, strict=True)
    ]
