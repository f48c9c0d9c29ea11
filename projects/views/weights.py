"""Context of the weights of a question: the matrix editor, its preview and earlier versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from projects import hooks
from projects.forms.settings import WeightsForm
from projects.models import Question, Scale, ScaleVersion, Weights
from projects.services import question_validation


def build_matrix_context(
    weights: str, form: WeightsForm, labels: list[str], question_shown: Question
) -> dict[str, object]:
    """Return the template context of the matrix preview.

    With an invalid matrix it has ``problem``. Otherwise it has ``preview``, with rows of (label,
    [(weight, tenths), ...]), the ``agreement`` under these weights (None while there is no result),
    and ``doubt``, a message if they contradict the order of the categories, else None.
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
            question_validation.build_weight_matrix(effective_weights, len(labels))
            if effective_weights
            else None
        )
    if matrix is None:
        return {"problem": _("Enter each pair’s weight."), "labels": labels}
    if matrix_problem := question_validation.find_matrix_problem(matrix, len(labels)):
        return {"problem": matrix_problem, "labels": labels}
    preview = _build_preview(labels, matrix)
    return {
        "preview": preview,
        "labels": labels,
        "doubt": question_validation.find_order_violation(matrix, labels)
        if Scale(question_shown.scale).ordered
        else None,
        "agreement": next(
            filter(None, hooks.WEIGHTS_PREVIEW.call(question_shown.pk, matrix)), None
        ),
        "project": question_shown.project,
    }


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
        scale = Scale(declaration["scale"])
        matrix = (
            declaration["matrix"]
            if custom
            else question_validation.build_weight_matrix(
                scale.get_effective_weights(declaration["weights"]), len(labels)
            )
        )
        name = scale.describe_weights(declaration["weights"])
        earlier.append(WeightsVersion(name, _build_preview(labels, matrix), version))
    return earlier[::-1]


def _build_preview(
    labels: list[str], matrix: list[list[float]]
) -> list[tuple[str, list[tuple[float, int]]]]:
    return [
        (label, [(cell, round(cell * 10)) for cell in row])
        for label, row in zip(labels, matrix, strict=True)
    ]


def build_editor_rows(
    question_shown: Question, form: WeightsForm, labels: list[str]
) -> list[tuple[str, list[tuple[Any, str]]]]:
    """Return the rows of the matrix editor: (label, [(cell text, column label), ...])."""
    if form.is_bound:
        matrix: list[list[Any]] = form.get_typed_cells()
    else:
        numbers = question_shown.weight_matrix or question_validation.build_weight_matrix(
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
