"""API of exams: rules, attempts and decisions on raters. For leads only."""

from __future__ import annotations

from functools import partial
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.errors import BadRequest
from core.api.pagination import paginate_rows
from core.api.parameters import get_choice, parse_query_parameters
from core.api.schema import (
    PAGE_PARAMETERS,
    QUESTION_PARAMETER,
    build_page_serializer,
    build_parameter,
    describe_get,
    describe_write,
)
from projects.api.base import ApiView, get_question
from projects.models import Member, Question
from quality.exams import decisions, settings
from quality.validation import InvalidSettings
from ratings.annotation.assignments import exams
from ratings.models import Exam

from .serializers import ExamDecisionIn, ExamOut, ExamRulesIn, ExamRulesOut

LEAD = Member.Role.LEAD
FIELDS = ("id", "number", "state", "right", "error_probability", "started_at", "ended_at", "reason")


class ExamRulesView(ApiView):
    @describe_get(
        "getExamRules", "The exam before the first item", ExamRulesOut, [QUESTION_PARAMETER]
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id, role=LEAD)
        params = parse_query_parameters(request, ("question",))
        return Response(_serialize_rules(get_question(project, params.get("question"))))

    @describe_write("changeExamRules", "Change it", body=ExamRulesIn, response=ExamRulesOut)
    def patch(self, request: Request, project_id: int) -> Response:
        """Fields left out stay unchanged. Running exams continue unchanged."""
        project = self.get_project(request, project_id, role=LEAD)
        parse_query_parameters(request)
        serializer = ExamRulesIn(data=request.data)
        serializer.is_valid(raise_exception=True)
        data = serializer.validated_data
        question = get_question(project, data.pop("question", None))
        try:
            settings.set_exam_rules(question=question, by=request.user, **data)
        except InvalidSettings as error:
            raise BadRequest("The rules were not changed.", fields=error.fields) from None
        return Response(_serialize_rules(question))


class ExamListView(ApiView):
    @describe_get(
        "listExams",
        "Attempts of all raters, oldest first",
        build_page_serializer("Exam", ExamOut),
        [
            QUESTION_PARAMETER,
            build_parameter("state", "Only attempts in this state", enum=Exam.State.values),
            *PAGE_PARAMETERS,
        ],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id, role=LEAD)
        params = parse_query_parameters(
            request, ("question", "state", *pagination.PAGE_PARAMETER_NAMES)
        )
        question = get_question(project, params.get("question"))
        rows = Exam.objects.filter(question=question).select_related("rater", "question", "by")
        if "state" in params:
            rows = rows.filter(state=get_choice(params, "state", Exam.State.values, default=""))

        serialize = partial(map, _serialize_exam)
        return Response(paginate_rows(request, params, rows, serialize=serialize))

    @describe_write(
        "decideExam",
        "Allow another attempt, or waive the exam",
        body=ExamDecisionIn,
        response=ExamOut,
    )
    def post(self, request: Request, project_id: int) -> Response:
        """The reason is stored. Rejected for a rater who has passed or needs no exam."""
        project = self.get_project(request, project_id, role=LEAD)
        parse_query_parameters(request)
        serializer = ExamDecisionIn(data=request.data)
        serializer.is_valid(raise_exception=True)
        data = serializer.validated_data
        question = get_question(project, data.get("question"))
        question.exam_rules = settings.get_exam_rules(question)
        rater = project.raters.filter(key=data["rater"]).first()
        if rater is None:
            raise BadRequest("Nothing was decided.", fields={"rater": "no rater of the project"})
        apply_decision = decisions.waive_exam if data["do"] == "waive" else decisions.grant_attempt
        try:
            exam = apply_decision(
                question=question, rater=rater, by=request.user, reason=data["reason"]
            )
        except decisions.InvalidExamDecision as error:
            raise BadRequest(str(error)) from None
        return Response(_serialize_exam(exam))


def _serialize_rules(question: Question) -> dict[str, Any]:
    rules = question.exam_rules = settings.get_exam_rules(question)
    values = {name: getattr(rules, name) for name in settings.RULES}
    counts = {
        "items": len(exams.get_eligible_answers(question)),
        "min_items": exams.compute_min_correct_answers(question),
    }
    return {"question": question.key, **values, **counts}


def _serialize_exam(exam: Exam) -> dict[str, Any]:
    return {name: getattr(exam, name) for name in FIELDS} | {
        "question": exam.question.key,
        "rater": exam.rater.key,
        "answers": len(exam.scored_answers),
        "by": exam.by.get_username() if exam.by else None,
    }
