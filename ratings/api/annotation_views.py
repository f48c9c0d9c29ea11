"""API of annotation, for custom forms: the next item of the caller's rater, and their answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.errors import INVALID_FIELDS, BadRequest, Conflict
from core.api.parameters import parse_query_parameters
from core.api.schema import describe_get, describe_write
from core.api.strict_fields import (
    StrictBooleanField,
    StrictCharField,
    StrictIntegerField,
    StrictSerializer,
)
from projects.api.base import ApiView
from projects.models import ApiToken, Item, Member, Project, Question, Rater
from ratings.annotation import rater_selectors, submission
from ratings.annotation.assignments import exams, queue
from ratings.models import Exam
from ratings.services import permissions
from ratings.services.judgement import UnknownCode

MAX_COMMENT_LENGTH = 4_000
MAX_REASON_LENGTH = 300
# A comment and 50 answers with all characters written as \uXXXX\uXXXX.
MAX_ANSWERS_BYTES = 256 << 10


class NextItemOut(serializers.Serializer):
    key = serializers.CharField()
    body = serializers.DictField(help_text="All that a rater may know of it")
    version = serializers.IntegerField(help_text="To be sent back as `item_version`")


class NextExamOut(serializers.Serializer):
    question = serializers.CharField()
    state = serializers.ChoiceField(
        choices=["open", "passed", "failed", "too_few_gold_items", "no_attempt_left"],
        help_text="open: `item` is one of the exam; the last two: none can start",
    )
    attempt = serializers.IntegerField(help_text="Its number, from 1; 0: none has started")
    answers = serializers.IntegerField(help_text="Given so far")
    right = serializers.IntegerField(allow_null=True, help_text="null while it is under way")
    max_answers = serializers.IntegerField(help_text="It ends after so many answers at the latest")


class NextOut(serializers.Serializer):
    item = NextItemOut(allow_null=True, help_text="null: nothing is left for this rater")
    exam = NextExamOut(
        allow_null=True,
        help_text="The exam that is to be passed first, or that ended by this answer",
    )
    notice = serializers.CharField(
        allow_null=True, help_text="Message for the rater, as on the annotation page"
    )
    guidelines_version = serializers.IntegerField(help_text="To be sent back as `guidelines`")


class AnswersIn(StrictSerializer):
    item = StrictCharField(max_length=255, help_text="Key of an item that was given to the rater")
    answers = serializers.DictField(
        required=False, help_text="A label by question, to each question of the project"
    )
    comment = StrictCharField(required=False, allow_blank=True, max_length=MAX_COMMENT_LENGTH)
    flagged = StrictBooleanField(required=False, help_text="Asks the lead to look at the item")
    skip = StrictCharField(
        required=False,
        max_length=MAX_REASON_LENGTH,
        help_text="Instead of answers: why the item is put aside",
    )
    guidelines = StrictIntegerField(
        required=False, min_value=0, help_text="The version that the rater saw"
    )
    item_version = StrictIntegerField(
        required=False, min_value=0, help_text="The version that the rater saw"
    )


PAUSED_MESSAGES: dict[type[permissions.RaterPaused], str] = {
    permissions.RaterPaused: "The lead has paused your rating. What you rated is kept.",
    permissions.RaterPausedForGold: (
        "Your rating is paused: on items whose right answer is known, your answers were wrong more"
        " often than this project allows. Your lead decides how you go on."
    ),
}
GOLD_WARNING = (
    "On items whose right answer is known, your answers are wrong more often than this project"
    " allows. Read the guidelines again, and ask your lead where something is unclear."
)
# (exception, response class, message); the first match is used.
ERROR_RESPONSES: list[
    tuple[type[permissions.RatingNotAllowed], Callable[[str], Exception], str]
] = [
    (permissions.ExamRequired, PermissionDenied, "Pass the exam first: GET gives its items."),
    (permissions.ExamAnswersFinal, PermissionDenied, "Answers of an exam stay as they were given."),
    (
        permissions.CorrectionsClosed,
        PermissionDenied,
        "Ratings cannot be changed in this project any more. What you said before stands.",
    ),
    (
        permissions.ProjectArchived,
        PermissionDenied,
        "This project is archived: nobody rates in it.",
    ),
    (
        submission.NoSlotLeft,
        Conflict,
        "The rater's time for this item was over and others have rated it meanwhile; "
        "nothing was stored.",
    ),
    (submission.AlreadyRated, Conflict, "The item is rated; it cannot be skipped any more."),
    (submission.ExamItemNotSkippable, Conflict, "In an exam every item is answered."),
]


class NextItemView(ApiView):
    max_body_bytes = MAX_ANSWERS_BYTES

    @describe_get("nextItem", "The item that the caller's own rater is asked next", NextOut)
    def get(self, request: Request, project_id: int) -> Response:
        """Return the next item of the caller's rater: the same one until it is answered or skipped.

        It takes one of the item's slots for a while, so a read-only token is rejected. A rater with
        an exam to pass gets only its items; requesting the next item starts the next attempt.
        """
        rater = self._get_rater(request, project_id)
        parse_query_parameters(request)
        token: Any = request.auth
        if token is not None and token.scope == ApiToken.Scope.READ:
            raise PermissionDenied("This token is for reading alone.")
        return Response(_start_due_exam_and_build_next(rater))

    @describe_write("submitAnswers", "Answer an item, or skip it", body=AnswersIn, response=NextOut)
    def post(self, request: Request, project_id: int) -> Response:
        """Submit answers as with the form of the annotation page; the response is the next item."""
        rater = self._get_rater(request, project_id)
        data = self.parse_body(request, AnswersIn)
        item = _get_item_or_404(rater, data["item"])
        ended_exam = None
        try:
            if "skip" in data:
                if "answers" in data:
                    message = "either 'answers' or 'skip'"
                    raise BadRequest(INVALID_FIELDS, fields={"skip": message})
                submission.skip_item(rater=rater, item=item, reason=data["skip"])
            else:
                ended_exam = _submit_answers(rater, item, data, request.user)
        except permissions.RatingNotAllowed as error:
            raise _convert_error(error) from None
        return Response(_start_due_exam_and_build_next(rater, ended_exam=ended_exam))

    def _get_rater(self, request: Request, project_id: int) -> Rater:
        """Return the caller's own rater; raise PermissionDenied without one or if it is paused."""
        project = self.get_project(request, project_id, role=Member.Role.ANNOTATOR)
        rater = rater_selectors.get_rater(project, request.user)
        if rater is None:
            raise PermissionDenied("Your account is no rater of this project.")
        try:
            permissions.validate_not_paused(rater.paused, rater.gold_notice)
        except permissions.RaterPaused as error:
            raise PermissionDenied(PAUSED_MESSAGES[type(error)]) from None
        return rater


def _start_due_exam_and_build_next(
    rater: Rater, *, ended_exam: Exam | None = None
) -> dict[str, Any]:
    """Return the response data with the next item, starting the next exam attempt if one is due.

    If this request ended an exam (``ended_exam`` is not None), the next attempt starts only with
    the next request.
    """
    project = rater.project
    item = queue.get_next_item(rater) if project.questions.exists() else None
    exam_status = exams.get_exam_status(rater)
    if exam_status is not None and exam_status.availability == "not_started" and ended_exam is None:
        exams.get_or_start_exam(question=exam_status.question, rater=rater)
        item, exam_status = queue.get_next_item(rater), exams.get_exam_status(rater)
    return {
        "item": _format_item(item),
        "exam": _format_exam(ended_exam, exam_status),
        "notice": GOLD_WARNING if rater.gold_notice == Rater.GoldNotice.WARNED else None,
        "guidelines_version": project.guidelines_version,
    }


def _format_exam(
    ended_exam: Exam | None, exam_status: exams.ExamStatus | None
) -> dict[str, Any] | None:
    """Return the exam that the request ended, else the due one, for the response; None without."""
    exam = ended_exam
    if exam is None and exam_status is not None:
        exam = exam_status.exam or Exam(question=exam_status.question, number=0)
    if exam is None:
        return None
    is_blocked = exam_status is not None and exam_status.availability in (
        "too_few_gold_items",
        "no_attempt_left",
    )
    return {
        "question": exam.question.key,
        "state": exam_status.availability if exam_status is not None and is_blocked else exam.state,
        "attempt": exam.number or 0,
        "answers": exam.n_scored,
        "right": exam.n_right if exam.ended_at is not None else None,
        "max_answers": exam.max_answers,
    }


def _format_item(item: Item | None) -> dict[str, Any] | None:
    """Return the item for the response; None if nothing is left for the rater."""
    if item is None:
        return None
    return {"key": item.key, "body": item.body, "version": item.version}


def _get_item_or_404(rater: Rater, key: str) -> Item:
    """Return the project's item with this key; raise Http404 if it was never given to the rater."""
    item = Item.objects.filter(project=rater.project_id, key=key).first()
    if item is None or rater_selectors.get_item(rater, item.pk) is None:
        raise _build_not_found()
    return item


def _submit_answers(rater: Rater, item: Item, data: dict[str, Any], user: Any) -> Exam | None:
    """Submit the answers of a request; return the exam that they ended, or None.

    Raises BadRequest for invalid answers, and RatingNotAllowed if the rater may not give them.
    """
    try:
        return submission.submit_answers(
            rater=rater,
            item=item,
            codes=_parse_codes(rater.project, data.get("answers", {})),
            comment=data.get("comment", ""),
            flagged=data.get("flagged", False),
            by=user,
            page_versions=submission.PageVersions(data.get("guidelines"), data.get("item_version")),
        )
    except UnknownCode as error:
        raise BadRequest(
            f"A category was removed at this moment: {error}. Nothing was stored."
        ) from None


def _parse_codes(project: Project, answers: dict[str, Any]) -> dict[Question, int]:
    """Return question -> code of its answer; raise BadRequest naming missing and unknown ones."""
    codes: dict[Question, int] = {}
    errors = {}
    questions = list(project.questions.prefetch_related("categories"))
    for question in questions:
        labels = {category.label: category.code for category in question.active_categories()}
        label = answers.get(question.key)
        if isinstance(label, str) and label in labels:
            codes[question] = labels[label]
        else:
            errors[question.key] = f"one of {', '.join(labels)} is needed"
    for key in answers:
        if key not in {question.key for question in questions}:
            errors[key[:64]] = "the project has no such question"
    if errors:
        raise BadRequest("The answers are not acceptable.", fields={"answers": errors})
    return codes


def _convert_error(not_allowed: permissions.RatingNotAllowed) -> Exception:
    """Return the API error for an error of ratings.services.permissions."""
    for error_class, response_class, message in ERROR_RESPONSES:
        if isinstance(not_allowed, error_class):
            return response_class(message)
    return _build_not_found()


def _build_not_found() -> Http404:
    return Http404("This item was never given to you.")
