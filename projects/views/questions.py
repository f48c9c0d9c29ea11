"""A new question, and a question's page: text, scale and weights, each with its own form."""

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
from projects.forms.question_templates import STARTS
from projects.forms.settings import (
    BaseCategories,
    ScaleForm,
    TextForm,
    WeightsForm,
    categories_formset,
)
from projects.models import Member, Project, Question, Scale, ScaleVersion, Weights
from projects.permissions import get_project
from projects.services import questions, scales, weight_matrix
from projects.services.project_validation import Refused
from projects.services.question_validation import InvalidQuestions

from .form_handling import (
    PREFIX,
    all_valid,
    begin_question,
    is_sent,
    new_question,
    show,
    show_question,
    status_of,
    with_added_row,
)


def _question(request: HttpRequest, project_id: int, key: str) -> tuple[Project, Question]:
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    known = project.questions.prefetch_related("categories")
    return project, get_object_or_404(known, key=key)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def question_new(request: HttpRequest, project_id: int) -> HttpResponse:
    """One more question; ``?start=`` fills in one of STARTS."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    start, form, categories = begin_question(request)
    if is_sent(request) and all_valid(form, categories):
        try:
            made = questions.add_question(
                project=project, question=new_question(form, categories, project), by=request.user
            )
        except Refused as refused:
            show(form, refused.fields)
        except InvalidQuestions as refused:
            show_question(form, categories, refused)
        else:
            messages.success(request, _("The question is added."))
            return redirect("question", project.pk, made.key)
    context = {
        "project": project,
        "question_form": form,
        "categories": categories,
        "starts": STARTS.items(),
        "start": start,
    }
    return render(
        request, "projects/question_new.html", context, status=status_of(form, categories)
    )


@login_required
@require_safe
def question(request: HttpRequest, project_id: int, key: str) -> HttpResponse:
    project, found = _question(request, project_id, key)
    return _page(request, project, found)


@login_required
@require_POST
def question_text(request: HttpRequest, project_id: int, key: str) -> HttpResponse:
    project, found = _question(request, project_id, key)
    form = TextForm(request.POST)
    if form.is_valid():
        try:
            questions.change_question_text(question=found, by=request.user, **form.cleaned_data)
            return _saved(request, project, found)
        except Refused as refused:
            show(form, refused.fields)
    return _page(request, project, found, text_form=form)


@login_required
@require_POST
def question_categories(request: HttpRequest, project_id: int, key: str) -> HttpResponse:
    project, found = _question(request, project_id, key)
    data = with_added_row(request)
    form = ScaleForm(data)
    categories = categories_formset(extra=0)(data, prefix=PREFIX)
    if "add_row" not in request.POST and all_valid(form, categories):
        rows = categories.rows()
        try:
            scales.change_categories(
                question=found,
                by=request.user,
                categories=[(row.cleaned_data["code"], row.spec()) for row in rows],
                **form.cleaned_data,
            )
            return _saved(request, project, found)
        except Refused as refused:
            _show_categories(form, categories, rows, refused)
    return _page(request, project, found, scale_form=form, categories=categories)


def _show_categories(
    form: ScaleForm, categories: BaseCategories, rows: list, refused: Refused
) -> None:
    fields = dict(refused.fields)
    for message in categories.add_problems(rows, fields.pop("categories", {})):
        form.add_error(None, message)
    show(form, fields)


@login_required
@require_POST
def question_weights(request: HttpRequest, project_id: int, key: str) -> HttpResponse:
    project, found = _question(request, project_id, key)
    form = WeightsForm(request.POST, question=found)
    if form.is_valid():
        custom = form.cleaned_data["weights"] == Weights.CUSTOM
        # A matrix that is not chosen stays as it was, for another day.
        matrix = form.matrix() if custom else found.weight_matrix
        try:
            scales.change_weights(
                question=found, by=request.user, matrix=matrix, **form.cleaned_data
            )
            return _saved(request, project, found)
        except Refused as refused:
            show(form, refused.fields)
    return _page(request, project, found, weights_form=form)


@login_required
@require_POST
def matrix_check(request: HttpRequest, project_id: int, key: str) -> HttpResponse:
    """The matrix as typed so far: what is wrong with it, or how it looks. Changes nothing."""
    _project, found = _question(request, project_id, key)
    labels = [category.label for category in found.active_categories()]
    form = WeightsForm(request.POST, question=found)
    return render(
        request,
        "projects/_matrix_preview.html",
        matrix_context(form.data.get("weights", ""), form, labels, found),
    )


def matrix_context(
    weights: str, form: WeightsForm, labels: list[str], found: Question
) -> dict[str, Any]:
    """For the preview: ``problem``, or ``preview``: rows of (label, [(weight, tenths), ...]), what
    agreement would be (``agreement``), and a doubt about the order."""
    used = Scale(found.scale).weights_in_force(weights) if weights in Weights.values else None
    if used == Weights.CUSTOM:
        matrix: Any = form.matrix()
    else:
        matrix = weight_matrix.usual(used, len(labels)) if used else None
    if matrix is None:
        return {"problem": _("Fill in a weight for each pair of categories."), "labels": labels}
    if wrong := weight_matrix.problem(matrix, len(labels), labels):
        return {"problem": wrong, "labels": labels}
    preview = _tenths(labels, matrix)
    return {
        "preview": preview,
        "labels": labels,
        "stand_in": used.label if used and used != weights else "",
        "doubt": weight_matrix.rises(matrix, labels) if Scale(found.scale).ordered else None,
        "agreement": hooks.weights_preview(found.pk, matrix),
        "project": found.project,
    }


def _saved(request: HttpRequest, project: Project, found: Question) -> HttpResponse:
    messages.success(request, _("Saved. The numbers follow within seconds."))
    return redirect("question", project.pk, found.key)


def _page(request: HttpRequest, project: Project, found: Question, **bound: Any) -> HttpResponse:
    """The page with the forms of what stands, except for those that come back with what was
    typed."""
    declared = found.active_categories()
    labels = [category.label for category in declared]
    stands = {"scale": found.scale, "weights": found.weights, "seen_version": found.scale_version}
    rows = [
        {
            "code": c.code,
            "label": c.label,
            "value": _plain(c.value),
            "hotkey": c.hotkey,
            "ORDER": place,
        }
        for place, c in enumerate(declared, start=1)
    ]
    weights_form = bound.get("weights_form") or WeightsForm(initial=stands, question=found)
    context = {
        "project": project,
        "question": found,
        "text_form": TextForm(initial={"text": found.text}),
        "scale_form": ScaleForm(initial=stands),
        "categories": categories_formset(extra=0)(initial=rows, prefix=PREFIX),
        "weights_form": weights_form,
        "earlier_weights": earlier_weights(found),
        "retired": [category.label for category in found.categories.all() if category.retired],
        "cells": _cells(found, weights_form, labels),
        **bound,
    }
    chosen = weights_form["weights"].value() or Weights.NONE
    if weights_form.is_bound:
        context |= matrix_context(str(chosen), weights_form, labels, found)
    else:
        cells = {
            f"cell-{i}-{j}": cell
            for i, (_row_label, row) in enumerate(context["cells"])
            for j, (cell, _label) in enumerate(row)
        }
        filled = WeightsForm({"weights": chosen, **cells}, question=found)
        context |= matrix_context(str(chosen), filled, labels, found)
    return render(
        request, "projects/question.html", context, status=400 if _refused(request, bound) else 200
    )


@dataclass(frozen=True)
class WeightsVersion:
    """Weights that were in force until somebody changed them: who, when, and why."""

    weights: str
    preview: list[tuple[str, list[tuple[float, int]]]]
    version: ScaleVersion


def earlier_weights(found: Question) -> list[WeightsVersion]:
    """The newest first; other changes of the scale are left out."""
    versions = list(ScaleVersion.objects.filter(question=found).select_related("by"))
    after = [*(one.declared for one in versions[1:]), found.declared()]
    made = []
    for version, later in zip(versions, after, strict=False):
        stood = version.declared
        if (stood["weights"], stood["matrix"]) == (later["weights"], later["matrix"]):
            continue
        labels = [category["label"] for category in stood["categories"]]
        custom = stood["weights"] == Weights.CUSTOM
        matrix = stood["matrix"] if custom else weight_matrix.usual(stood["weights"], len(labels))
        name = Weights(stood["weights"]).label
        made.append(WeightsVersion(str(name), _tenths(labels, matrix), version))
    return made[::-1]


def _tenths(
    labels: list[str], matrix: list[list[float]]
) -> list[tuple[str, list[tuple[float, int]]]]:
    return [
        (label, [(cell, round(cell * 10)) for cell in row])
        for label, row in zip(labels, matrix, strict=True)
    ]


def _plain(value: float | None) -> float | None:
    """3 instead of 3.0, for a field that people read."""
    return int(value) if value is not None and value.is_integer() else value


def _refused(request: HttpRequest, bound: dict[str, Any]) -> bool:
    return bool(bound) and "add_row" not in request.POST


def _cells(
    found: Question, form: WeightsForm, labels: list[str]
) -> list[tuple[str, list[tuple[Any, str]]]]:
    """Rows of the editor: (label, [(what stands in the cell, column label), ...])."""
    if form.is_bound:
        matrix: list[list[Any]] = form.typed()
    else:
        numbers = found.weight_matrix or weight_matrix.usual(Weights.LINEAR, len(labels))
        matrix = [
            [f"{round(cell, 4):g}" if not found.weight_matrix else repr(cell) for cell in row]
            for row in numbers
        ]
    return [
        (label, list(zip(row, labels, strict=True)))
        for label, row in zip(labels, matrix, strict=True)
    ]
