"""API of exams: rules, attempts and waivers. For leads only."""

from __future__ import annotations

from rest_framework import serializers
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
from core.api.strict_fields import (
    FiniteFloatField,
    StrictBooleanField,
    StrictCharField,
    StrictChoiceField,
    StrictIntegerField,
    StrictSerializer,
)
from projects.api.base import ApiView, get_question
from projects.models import Member, Question
from quality.exams import exam_rules
from quality.exams.exam_rules import MAX_REASON_LENGTH
from quality.settings_changes import InvalidSettings
from ratings.annotation.assignments import exams
from ratings.models import Exam


class ExamRulesIn(StrictSerializer):
    """Rules to change; bounds are checked in quality.exams.exam_rules."""

    question = StrictCharField(required=False)
    # The metaclass removes fields from the class: the serializer's own "required" stays.
    required = StrictBooleanField(  # type: ignore[assignment]
        required=False, help_text="Raters pass an exam before their first item"
    )
    everybody = StrictBooleanField(
        required=False, help_text="Include raters who have rated the question before"
    )
    p_fail = FiniteFloatField(required=False, help_text="Accuracy that is too low, 0.05 to 0.95")
    p_pass = FiniteFloatField(required=False, help_text="Accuracy that is good enough, 0.1 to 0.99")
    alpha = FiniteFloatField(
        required=False, help_text="Probability to pass when too low, 0.001 to 0.3"
    )
    beta = FiniteFloatField(
        required=False, help_text="Probability to fail when good enough, 0.001 to 0.3"
    )
    max_answers = StrictIntegerField(required=False, help_text="Maximum number of items")
    max_attempts = StrictIntegerField(required=False)


class ExamRulesOut(serializers.Serializer):
    question = serializers.CharField()
    required = serializers.BooleanField()  # type: ignore[assignment]
    p_fail = serializers.FloatField()
    p_pass = serializers.FloatField()
    alpha = serializers.FloatField()
    beta = serializers.FloatField()
    max_answers = serializers.IntegerField()
    max_attempts = serializers.IntegerField()
    items = serializers.IntegerField(help_text="Gold items available for an exam")
    min_items = serializers.IntegerField(help_text="Minimum number of gold items")


class ExamOut(serializers.Serializer):
    id = serializers.IntegerField()
    question = serializers.CharField(source="question.key")
    rater = serializers.CharField(source="rater.key")
    number = serializers.IntegerField(help_text="Number of the attempt")
    state = serializers.ChoiceField(Exam.State.values)
    answers = serializers.IntegerField(source="n_scored")
    right = serializers.IntegerField(source="n_right", help_text="Right answers")
    error_probability = serializers.FloatField(
        allow_null=True, help_text="Error probability of the outcome"
    )
    started_at = serializers.DateTimeField(format=None)
    ended_at = serializers.DateTimeField(format=None, allow_null=True)
    by = serializers.CharField(
        source="by.username",
        allow_null=True,
        help_text="User who granted or waived the attempt",
    )
    reason = serializers.CharField(allow_blank=True)


class ExamActionIn(StrictSerializer):
    question = StrictCharField(required=False)
    rater = StrictCharField(help_text="Key of the rater")
    do = StrictChoiceField(["grant", "waive"], help_text="Grant another attempt, or waive the exam")
    reason = StrictCharField(max_length=MAX_REASON_LENGTH)


LEAD = Member.Role.LEAD


class ExamRulesView(ApiView):
    @describe_get(
        "getExamRules", "The exam before the first item", ExamRulesOut, [QUESTION_PARAMETER]
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id, role=LEAD)
        params = parse_query_parameters(request, ("question",))
        return Response(_serialize_rules(get_question(project, params.get("question"))))

    @describe_write(
        "changeExamRules",
        "Change it",
        body=ExamRulesIn,
        response=ExamRulesOut,
        parameters=[QUESTION_PARAMETER],
    )
    def patch(self, request: Request, project_id: int) -> Response:
        """Change the given rules, and leave the others; running exams continue unchanged."""
        project = self.get_project(request, project_id, role=LEAD)
        data = self.parse_body(request, ExamRulesIn, ("question",))
        question = get_question(project, data.pop("question", None))
        try:
            exam_rules.set_exam_rules(question=question, by=request.user, **data)
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

        return Response(paginate_rows(request, params, rows, ExamOut))

    @describe_write(
        "decideExam",
        "Allow another attempt, or waive the exam",
        body=ExamActionIn,
        response=ExamOut,
    )
    def post(self, request: Request, project_id: int) -> Response:
        """Grant another attempt or a waiver; 400 for a rater who has passed or needs no exam."""
        project = self.get_project(request, project_id, role=LEAD)
        data = self.parse_body(request, ExamActionIn)
        question = get_question(project, data.get("question"))
        question.exam_rules = exam_rules.get_exam_rules(question)
        rater = project.raters.filter(key=data["rater"]).first()
        if rater is None:
            raise BadRequest("Nothing was decided.", fields={"rater": "no rater of the project"})
        apply_action = exam_rules.waive_exam if data["do"] == "waive" else exam_rules.grant_attempt
        try:
            exam = apply_action(
                question=question, rater=rater, by=request.user, reason=data["reason"]
            )
        except exam_rules.InvalidExamAction as error:
            raise BadRequest(str(error)) from None
        return Response(ExamOut(exam).data)


def _serialize_rules(question: Question) -> dict[str, object]:
    rules = question.exam_rules = exam_rules.get_exam_rules(question)
    values = {name: getattr(rules, name) for name in exam_rules.RULES}
    counts = {
        "items": len(exams.get_eligible_answers(question)),
        "min_items": exams.compute_min_correct_answers(question),
    }
    return {"question": question.key, **values, **counts}
