"""The desk by API, for a form of one's own: the next item of the caller's own rater, and what they
say of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.errors import BadRequest, Conflict
from core.api.parameters import parameters
from core.api.schema import reads, writes
from core.api.strict_fields import Flag, StrictSerializer, Text, Whole
from projects.api.base import ApiView
from projects.models import ApiToken, Item, Member, Project, Question, Rater
from ratings.annotation import rater_work, submission
from ratings.annotation.assignments import exams, queue
from ratings.models import Exam
from ratings.services import permissions
from ratings.services.judgement import UnknownCode

LONGEST_COMMENT = 4_000
LONGEST_REASON = 300


class AskedItem(serializers.Serializer):
    key = serializers.CharField()
    body = serializers.DictField(help_text="All that a rater may know of it")
    version = serializers.IntegerField(help_text="To be sent back as `item_version`")


class AskedExam(serializers.Serializer):
    question = serializers.CharField()
    state = serializers.ChoiceField(
        choices=["open", "passed", "failed", "too_few", "over"],
        help_text="open: `item` is one of the exam; too_few: gold items for one; over: no try left",
    )
    try_ = serializers.IntegerField(help_text="Its number, from 1; 0: none has begun")
    answers = serializers.IntegerField(help_text="Given so far")
    right = serializers.IntegerField(allow_null=True, help_text="null while it is under way")
    most = serializers.IntegerField(help_text="It ends after so many answers at the latest")

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        return {name.rstrip("_"): field for name, field in fields.items()}


class Asked(serializers.Serializer):
    item = AskedItem(allow_null=True, help_text="null: nothing is left for this rater")
    exam = AskedExam(
        allow_null=True,
        help_text="The exam that is to be passed first, or that ended by this answer",
    )
    notice = serializers.CharField(
        allow_null=True, help_text="What the rater is to be told, as the desk does"
    )
    guidelines_version = serializers.IntegerField(help_text="To be sent back as `guidelines`")


class Said(StrictSerializer):
    item = Text(max_length=255, help_text="Key of an item that was given to the rater")
    answers = serializers.DictField(
        required=False, help_text="A label by question, to each question of the project"
    )
    comment = Text(required=False, allow_blank=True, max_length=LONGEST_COMMENT)
    flagged = Flag(required=False, help_text="Asks the lead to look at the item")
    skip = Text(
        required=False,
        max_length=LONGEST_REASON,
        help_text="Instead of answers: why the item is put aside",
    )
    guidelines = Whole(required=False, min_value=0, help_text="The version that the rater saw")
    item_version = Whole(required=False, min_value=0, help_text="The version that the rater saw")


PAUSED: dict[type[permissions.Paused], str] = {
    permissions.Paused: "The lead has paused your rating. What you rated is kept.",
    permissions.PausedForGold: "Your rating is paused: on items whose right answer is known, your"
    " answers were wrong more often than this project allows. Your lead decides how you go on.",
}
WARNED = (
    "On items whose right answer is known, your answers are wrong more often than this project"
    " allows. Read the guidelines again, and ask your lead where something is unclear."
)
# The first that the refusal is one of.
REFUSALS: list[tuple[type[permissions.Refused], Callable[[str], Exception], str]] = [
    (permissions.NotExamined, PermissionDenied, "Pass the exam first: GET gives its items."),
    (permissions.ExamStands, PermissionDenied, "Answers of an exam stay as they were given."),
    (
        permissions.CorrectionsClosed,
        PermissionDenied,
        "Ratings cannot be changed in this project any more. What you said before stands.",
    ),
    (
        permissions.Archived,
        PermissionDenied,
        "This project is archived: nobody rates in it.",
    ),
    (
        submission.NoPlaceLeft,
        Conflict,
        "The rater's time for this item was over and others have rated it meanwhile; "
        "nothing was stored.",
    ),
    (submission.AlreadyRated, Conflict, "The item is rated; it cannot be skipped any more."),
    (submission.ExamSkipped, Conflict, "In an exam every item is answered."),
]


class Next(ApiView):
    @reads("nextItem", "The item that the caller's own rater is asked next", Asked)
    def get(self, request: Request, project_id: int) -> Response:
        """The same one until it is answered or skipped. It takes one of the item's places for a
        while, so a token for reading alone may not ask. Who has an exam to pass is asked its items
        alone; the next try begins by asking."""
        rater = self._rater(request, project_id)
        parameters(request)
        token: Any = request.auth
        if token is not None and token.scope == ApiToken.Scope.READ:
            raise PermissionDenied("This token is for reading alone.")
        return Response(_asked(rater))

    @writes("submitAnswers", "Answer an item, or skip it", body=Said, answer=Asked)
    def post(self, request: Request, project_id: int) -> Response:
        """What the desk does with its form. The answer is the next item."""
        rater = self._rater(request, project_id)
        parameters(request)
        given = Said(data=request.data)
        given.is_valid(raise_exception=True)
        said = given.validated_data
        item = _given(rater, said["item"])
        ended = None
        try:
            if "skip" in said:
                if "answers" in said:
                    raise _invalid("skip", "either 'answers' or 'skip'")
                submission.skip(rater=rater, item=item, reason=said["skip"])
            else:
                ended = _answer(rater, item, said, request.user)
        except permissions.Refused as refusal:
            raise _refused(refusal) from None
        return Response(_asked(rater, ended=ended))

    def _rater(self, request: Request, project_id: int) -> Rater:
        project = self.project(request, project_id, role=Member.Role.ANNOTATOR)
        rater = rater_work.rater_of(project, request.user)
        if rater is None:
            raise PermissionDenied("Your account is no rater of this project.")
        try:
            permissions.refuse_paused(rater.paused, rater.told)
        except permissions.Paused as refusal:
            raise PermissionDenied(PAUSED[type(refusal)]) from None
        return rater


def _asked(rater: Rater, *, ended: Exam | None = None) -> dict[str, Any]:
    """``ended``: the exam that ended just now; who failed asks again to begin the next try."""
    project = rater.project
    item = queue.next_item(rater) if project.questions.exists() else None
    standing = exams.standing(rater)
    if standing is not None and standing.state == "to_begin" and ended is None:
        exams.begin(question=standing.question, rater=rater)
        item, standing = queue.next_item(rater), exams.standing(rater)
    return {
        "item": _shown(item),
        "exam": _exam(ended, standing),
        "notice": WARNED if rater.told == Rater.Told.WARNED else None,
        "guidelines_version": project.guidelines_version,
    }


def _exam(ended: Exam | None, standing: exams.Standing | None) -> dict[str, Any] | None:
    exam = ended
    if exam is None and standing is not None:
        exam = standing.exam or Exam(question=standing.question, number=0)
    if exam is None:
        return None
    stuck = standing is not None and standing.state in ("too_few", "over")
    return {
        "question": exam.question.key,
        "state": standing.state if standing is not None and stuck else exam.state,
        "try": exam.number or 0,
        "answers": len(exam.answered),
        "right": exam.right if exam.ended_at is not None else None,
        "most": exam.most,
    }


def _shown(item: Item | None) -> dict[str, Any] | None:
    if item is None:
        return None
    return {"key": item.key, "body": item.body, "version": item.version}


def _given(rater: Rater, key: str) -> Item:
    item = Item.objects.filter(project=rater.project_id, key=key).first()
    if item is None or rater_work.item_of(rater, item.pk) is None:
        raise _no_item()
    return item


def _answer(rater: Rater, item: Item, said: dict[str, Any], user: Any) -> Exam | None:
    try:
        return submission.answer(
            rater=rater,
            item=item,
            codes=_codes(rater.project, said.get("answers", {})),
            comment=said.get("comment", ""),
            flagged=said.get("flagged", False),
            by=user,
            shown=submission.Shown(said.get("guidelines"), said.get("item_version")),
        )
    except UnknownCode as error:
        raise BadRequest(
            f"A category was removed at this moment: {error}. Nothing was stored."
        ) from None


def _codes(project: Project, answers: dict[str, Any]) -> dict[Question, int]:
    """The code of the answer to each question; 400 names those that are missing or unknown."""
    codes: dict[Question, int] = {}
    wrong = {}
    questions = list(project.questions.prefetch_related("categories"))
    for question in questions:
        labels = {category.label: category.code for category in question.active_categories()}
        label = answers.get(question.key)
        if isinstance(label, str) and label in labels:
            codes[question] = labels[label]
        else:
            wrong[question.key] = f"one of {', '.join(labels)} is needed"
    for key in answers:
        if key not in {question.key for question in questions}:
            wrong[key[:64]] = "the project has no such question"
    if wrong:
        raise BadRequest("The answers are not acceptable.", fields={"answers": wrong})
    return codes


def _refused(refusal: permissions.Refused) -> Exception:
    for kind, error, said in REFUSALS:
        if isinstance(refusal, kind):
            return error(said)
    return _no_item()


def _no_item() -> Http404:
    return Http404("This item was never given to you.")


def _invalid(name: str, message: str) -> BadRequest:
    return BadRequest("The request has invalid fields.", fields={name: message})
