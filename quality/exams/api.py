"""The API of exams before the first item: their rules, the tries, and what a lead decides about a
rater. For leads alone."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.errors import BadRequest
from core.api.pagination import Key, page
from core.api.parameters import choice, parameters
from core.api.schema import PAGING, QUESTION, page_of, parameter, reads, writes
from projects.api.base import ApiView, question_of
from projects.models import Member, Question
from quality.exams import decisions, settings
from quality.validation import Refused
from ratings.annotation.assignments import exams
from ratings.models import Exam

from .serializers import DecideIn, ExamOut, ExamRulesIn, ExamRulesOut

LEAD = Member.Role.LEAD
SHOWN = ("id", "number", "state", "right", "chance", "began_at", "ended_at", "reason")


class ExamRulesView(ApiView):
    @reads("getExamRules", "The exam before the first item", ExamRulesOut, [QUESTION])
    def get(self, request: Request, project_id: int) -> Response:
        project = self.project(request, project_id, role=LEAD)
        found = parameters(request, ("question",))
        return Response(_rules(question_of(project, found.get("question"))))

    @writes("changeExamRules", "Change it", body=ExamRulesIn, answer=ExamRulesOut)
    def patch(self, request: Request, project_id: int) -> Response:
        """What is left out stays. Exams under way go on as they were drawn."""
        project = self.project(request, project_id, role=LEAD)
        parameters(request)
        given = ExamRulesIn(data=request.data)
        given.is_valid(raise_exception=True)
        wanted = given.validated_data
        question = question_of(project, wanted.pop("question", None))
        try:
            settings.choose(question=question, by=request.user, **wanted)
        except Refused as error:
            raise BadRequest("The rules were not changed.", fields=error.fields) from None
        return Response(_rules(question))


class Exams(ApiView):
    @reads(
        "listExams",
        "The tries of all raters, oldest first",
        page_of("Exam", ExamOut),
        [
            QUESTION,
            parameter("state", "Only tries in this state", enum=Exam.State.values),
            *PAGING,
        ],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.project(request, project_id, role=LEAD)
        found = parameters(request, ("question", "state", *pagination.PAGING))
        question = question_of(project, found.get("question"))
        rows = Exam.objects.filter(question=question).select_related("rater", "question", "by")
        if "state" in found:
            rows = rows.filter(state=choice(found, "state", Exam.State.values, default=""))

        def read(after: Key | None, size: int) -> list[tuple[Key, Any]]:
            later = rows.filter(pk__gt=after[0]) if after else rows
            return [((row.pk,), _shown(row)) for row in later.order_by("pk")[:size]]

        return Response(page(request, found, key=1, read=read))

    @writes("decideExam", "Another try for a rater, or none needed", body=DecideIn, answer=ExamOut)
    def post(self, request: Request, project_id: int) -> Response:
        """Written down with its reason. A rater who passed, or needs no exam, is refused."""
        project = self.project(request, project_id, role=LEAD)
        parameters(request)
        given = DecideIn(data=request.data)
        given.is_valid(raise_exception=True)
        asked = given.validated_data
        question = question_of(project, asked.get("question"))
        question.exam_rules = settings.rules_of(question)
        rater = project.raters.filter(key=asked["rater"]).first()
        if rater is None:
            raise BadRequest("Nothing was decided.", fields={"rater": "no rater of the project"})
        act = decisions.waive if asked["do"] == "waive" else decisions.grant
        try:
            exam = act(question=question, rater=rater, by=request.user, reason=asked["reason"])
        except decisions.Refused as error:
            raise BadRequest(str(error)) from None
        return Response(_shown(exam))


def _rules(question: Question) -> dict[str, Any]:
    rules = question.exam_rules = settings.rules_of(question)
    chosen = {name: getattr(rules, name) for name in settings.RULES}
    counts = {"items": len(exams.fit(question)), "least": exams.least(question)}
    return {"question": question.key, **chosen, **counts}


def _shown(exam: Exam) -> dict[str, Any]:
    return {name: getattr(exam, name) for name in SHOWN} | {
        "question": exam.question.key,
        "rater": exam.rater.key,
        "answers": len(exam.answered),
        "by": exam.by.get_username() if exam.by else None,
    }
