"""Convert API rows of ratings to judgements, with errors per row.

Plain checks instead of serializers: one rating must cost a fraction of a millisecond, ten thousand
a fraction of a second.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied
from django.utils import timezone

from core.api.errors import RowProblem
from core.api.parameters import build_rows_error
from projects.models import Project, Question
from projects.services.row_validation import build_object_problem, describe_json_type
from ratings.models import NO_CODE
from ratings.services import permissions
from ratings.services.judgement import FIELDS, STORED_TEXTS, Judgement
from ratings.services.rating_timestamps import parse_rated_at
from ratings.services.record import JudgementBatch

from .row_lookup import RowLookup, look_up_keys

_INPUT_FIELDS = {field.name: field for field in FIELDS if field.max_length}
_REQUIRED_FIELDS = [field for field in FIELDS if field.required]

_RatingKey = tuple[str, str, str]  # keys of the question, item and rater of a row


@dataclass(frozen=True, slots=True)
class RatingRequest:
    """The content of one request: valid rows, and errors of the others, by position.

    ``project`` comes from the view's permission check, with the caller's role.
    """

    project: Project
    user: Any
    rows: dict[int, dict[str, Any]]
    errors: dict[int, list[RowProblem]]


def parse_rows(project: Project, user: Any, rows: Sequence[Any]) -> RatingRequest:
    """Return the request with the rows that have a valid form, and the errors of the others.

    Keys are not looked up yet: whether item, rater and question exist is checked later.
    """
    request = RatingRequest(project, user, {}, {})
    is_annotator = not project.can_manage
    for index, row in enumerate(rows):
        errors = _get_shape_errors(row)
        if is_annotator and not errors and row.get("rated_at") is not None:
            message = "'rated_at' is for leads to send; yours is the time of the request"
            errors = [RowProblem("not_allowed", "rated_at", message)]
        if errors:
            request.errors[index] = errors
        else:
            request.rows[index] = row
    return request


def _get_shape_errors(row: Any) -> list[RowProblem]:
    """Return the problems of a row's fields, types and lengths; empty if the row is well formed."""
    if not isinstance(row, dict):
        return [build_object_problem(row)]
    errors = []
    if not _INPUT_FIELDS.keys() >= row.keys():
        name = next(name for name in row if name not in _INPUT_FIELDS)
        message = f"unknown field '{name[:60]}'; one of {', '.join(_INPUT_FIELDS)}"
        errors.append(RowProblem("unknown_field", name[:60], message))
    for field in _REQUIRED_FIELDS:
        if field.name not in row:
            hint = "; null withdraws a rating" if field.nullable else ""
            errors.append(RowProblem("required", field.name, f"'{field.name}' is missing{hint}"))
    for name, value in row.items():
        if name not in _INPUT_FIELDS:
            continue
        field = _INPUT_FIELDS[name]
        if value is None and field.nullable:
            continue
        if not isinstance(value, str):
            requirement = "a text or null" if field.nullable else "a text"
            message = f"'{name}' must be {requirement}, not {describe_json_type(value)}"
            errors.append(RowProblem("invalid", name, message))
            continue
        min_length = 0 if field.nullable else 1
        if not min_length <= len(value) <= field.max_length:
            requirement = f"{min_length} to {field.max_length} characters"
            message = f"'{name}' must have {requirement}; it has {len(value)}"
            errors.append(RowProblem("invalid", name, message))
    return errors


def resolve_rows(request: RatingRequest) -> JudgementBatch:
    """Return the request's judgements, with the items that the rater may not correct.

    Raises BadRequest naming every invalid row, PermissionDenied if an annotator names a rater that
    is not theirs, RaterPaused, and ExamRequired (of ratings.services.permissions).
    """
    lookup = look_up_keys(request.project, request.user, list(request.rows.values()))
    if not request.project.can_manage:
        _validate_annotator(lookup, request.rows.values())
    only_question = lookup.only_question
    now = timezone.now()
    errors = dict(request.errors)
    first_index: dict[_RatingKey, int] = {}
    judgements: dict[Question, list[Judgement]] = {}
    for index, row in request.rows.items():
        question = row.get("question") or only_question
        rater = row.get("rater", lookup.own_rater) or ""
        key = (question, row["item"], lookup.pseudonyms.get(rater, rater))
        judgement = _resolve_row(row, key, lookup, now)
        if isinstance(judgement, Judgement):
            judgements.setdefault(lookup.questions[question].question, []).append(judgement)
        else:
            errors[index] = judgement
        if first_index.setdefault(key, index) != index:
            message = f"the same item and rater stand in row {first_index[key]} already"
            errors.setdefault(index, []).append(RowProblem("duplicate", "item", message))
    if errors:
        raise build_rows_error("rating", errors)
    closed_item_ids = set(lookup.items.values()) - lookup.open_items
    return JudgementBatch(
        judgements,
        request.user,
        None if lookup.may_correct else closed_item_ids,
        lookup.check_items,
    )


def _validate_annotator(lookup: RowLookup, rows: Collection[dict[str, Any]]) -> None:
    """Raise an error if the annotator has no rater, names that of another person or may not rate.

    Raises PermissionDenied, RaterPaused or ExamRequired.
    """
    own_rater = lookup.own_rater
    if own_rater is None:
        raise PermissionDenied("Your account isn't a rater here. Ask a project lead.")
    named_raters = {row["rater"] for row in rows if "rater" in row}
    if any(lookup.pseudonyms.get(rater, rater) != own_rater for rater in named_raters):
        raise PermissionDenied(f"You can only rate as “{own_rater}”.")
    permissions.validate_not_paused(lookup.is_paused, lookup.gold_notice)
    permissions.validate_exam_passed(lookup.due_exam_question_id)


def _resolve_row(
    row: dict[str, Any], key: _RatingKey, lookup: RowLookup, now: datetime.datetime
) -> Judgement | list[RowProblem]:
    """Return the judgement of a row, or all its problems if it is invalid.

    ``key``: the row's question, item and rater, with the defaults of what it leaves out.
    """
    question, item, rater = key
    label, rated_at = row["label"], row.get("rated_at")
    problems = []
    code: int | None = NO_CODE
    question_lookup = lookup.questions.get(question)
    if question_lookup is None:
        problems.append(_build_question_problem(question, lookup))
    elif label is not None and (code := question_lookup.find_code(label)) is None:
        message = f"unknown label '{label[:60]}'; one of {', '.join(question_lookup.codes)}"
        problems.append(RowProblem("unknown_label", "label", message))
    if (item_id := lookup.items.get(item)) is None:
        message = f"unknown item '{item[:60]}'{lookup.unknown_item_suffix}"
        problems.append(RowProblem("unknown_item", "item", message))
    if (rater_id := lookup.raters.get(rater)) is None:
        kind = "unknown_rater" if rater else "required"
        message = f"unknown rater '{rater[:60]}'" if rater else "'rater' is missing"
        problems.append(RowProblem(kind, "rater", message))
    if rated_at is not None:
        try:
            rated_at = parse_rated_at(rated_at, now=now)
        except ValueError as error:
            problems.append(RowProblem("invalid_time", "rated_at", f"rated_at: {error}"))
    if problems or code is None or item_id is None or rater_id is None:
        return problems
    texts: dict[str, Any] = {name: row.get(name) for name in STORED_TEXTS}
    return Judgement(item_id, rater_id, code, rated_at, **texts)


def _build_question_problem(question: str, lookup: RowLookup) -> RowProblem:
    """Return the problem of a row whose question (empty if it names none) is not the project's."""
    kind = "unknown_question" if question else "required"
    message = f"unknown question '{question}'" if question else "'question' is missing"
    return RowProblem(kind, "question", f"{message}; one of {', '.join(lookup.questions)}")
