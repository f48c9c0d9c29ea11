"""API of label rules, second opinions and appeals."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db import transaction
from django.http import Http404
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
from quality.consensus import settings as consensus_settings
from quality.escalation import settings
from quality.models import Appeal, Consensus
from quality.review import appeals, second_opinions
from quality.validation import InvalidSettings
from ratings.annotation import rater_work

from .serializers import (
    AppealAnswerIn,
    AppealIn,
    AppealOut,
    LabelRulesIn,
    LabelRulesOut,
    SecondOpinionsOut,
)

Role = Member.Role
METHOD_FIELDS = ("method", "with_models")


class LabelRulesView(ApiView):
    @describe_get(
        "getLabelRules",
        "Settings of labels and of further ratings for uncertain items",
        LabelRulesOut,
        [QUESTION_PARAMETER],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id, role=Role.LEAD)
        params = parse_query_parameters(request, ("question",))
        return Response(_serialize_rules(get_question(project, params.get("question"))))

    @describe_write(
        "updateLabelRules", "Change the label rules", body=LabelRulesIn, response=LabelRulesOut
    )
    def patch(self, request: Request, project_id: int) -> Response:
        """Fields left out stay unchanged. The next sweep applies the rules."""
        project = self.get_project(request, project_id, role=Role.LEAD)
        parse_query_parameters(request)
        serializer = LabelRulesIn(data=request.data)
        serializer.is_valid(raise_exception=True)
        data = serializer.validated_data
        question = get_question(project, data.pop("question", None))
        method = {name: data.pop(name) for name in METHOD_FIELDS if name in data}
        try:
            with transaction.atomic():
                settings.set_label_rules(question=question, by=request.user, **data)
                if method:
                    method = _get_method(question) | method
                    consensus_settings.set_method(question=question, by=request.user, **method)
        except InvalidSettings as error:
            raise BadRequest("The rules were not changed.", fields=error.fields) from None
        return Response(_serialize_rules(question))


def _get_method(question: Question) -> dict[str, Any]:
    row = Consensus.objects.filter(question=question).first() or Consensus(question=question)
    return {name: getattr(row, name) for name in METHOD_FIELDS}


def _serialize_rules(question: Question) -> dict[str, Any]:
    row = settings.get_label_rules(question)
    values = {name: getattr(row, name) for name in (*settings.RULES, "n_requested")}
    return {"question": question.key, **_get_method(question), **values}


class SecondOpinionsView(ApiView):
    @describe_get(
        "getSecondOpinions",
        "Agreement of two adjudicators on the items that both decided",
        SecondOpinionsOut,
        [QUESTION_PARAMETER],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id, role=Role.VIEWER)
        params = parse_query_parameters(request, ("question",))
        question = get_question(project, params.get("question"))
        agreement = second_opinions.compute_agreement(question)
        return Response(
            {
                "question": question.key,
                "items": agreement.n,
                "n_same": agreement.same,
                "kappa": agreement.kappa,
                "differing_items": agreement.differing_items,
            }
        )


class AppealListView(ApiView):
    @describe_get(
        "listAppeals",
        "Appeals of raters, oldest first",
        build_page_serializer("Appeal", AppealOut),
        [
            build_parameter("question", "Key of a question; all questions when left out"),
            build_parameter("state", "Only appeals in this state", enum=Appeal.State.values),
            *PAGE_PARAMETERS,
        ],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id, role=Role.ADJUDICATOR)
        params = parse_query_parameters(
            request, ("question", "state", *pagination.PAGE_PARAMETER_NAMES)
        )
        rows = Appeal.objects.filter(question__project=project)
        rows = rows.select_related("question", "item", "answered_by")
        if "question" in params:
            rows = rows.filter(question=get_question(project, params["question"]))
        if "state" in params:
            rows = rows.filter(state=get_choice(params, "state", Appeal.State.values, default=""))

        serialize = partial(map, _serialize_appeal)
        return Response(paginate_rows(request, params, rows, serialize=serialize))

    @describe_write(
        "createAppeal",
        "Appeal against the decision on an item that the caller rated",
        body=AppealIn,
        response=AppealOut,
        status=201,
    )
    def post(self, request: Request, project_id: int) -> Response:
        """Once, and only for a decision that the caller may see; 400 is the same for all others."""
        project = self.get_project(request, project_id, role=Role.ANNOTATOR)
        parse_query_parameters(request)
        serializer = AppealIn(data=request.data)
        serializer.is_valid(raise_exception=True)
        data = serializer.validated_data
        question = get_question(project, data.get("question"))
        user: Any = request.user
        rater = rater_work.get_rater(project, user)
        item = project.items.filter(key=data["item"]).first()
        if rater is None or item is None:
            raise _to_bad_request(appeals.build_no_decision_error())
        try:
            row = appeals.create_decision_appeal(
                rater=rater, question=question, item=item, text=data["text"]
            )
        except appeals.InvalidAppeal as error:
            raise _to_bad_request(error) from None
        return Response(_serialize_appeal(row), status=201)


class AppealDetailView(ApiView):
    @describe_write(
        "answerAppeal", "Answer an appeal, once", body=AppealAnswerIn, response=AppealOut
    )
    def post(self, request: Request, project_id: int, appeal_id: int) -> Response:
        """The label stays unchanged; where the rater is right, make a new decision."""
        project = self.get_project(request, project_id, role=Role.ADJUDICATOR)
        parse_query_parameters(request)
        rows = Appeal.objects.filter(question__project=project)
        row = rows.select_related("question", "item").filter(pk=appeal_id).first()
        if row is None:
            raise Http404("No such appeal.")
        serializer = AppealAnswerIn(data=request.data)
        serializer.is_valid(raise_exception=True)
        data = serializer.validated_data
        try:
            appeal = appeals.answer_appeal(
                appeal=row, state=data["state"], text=data.get("answer", ""), by=request.user
            )
        except appeals.InvalidAppeal as error:
            raise BadRequest(str(error)) from None
        return Response(_serialize_appeal(appeal))


def _to_bad_request(error: appeals.InvalidAppeal) -> BadRequest:
    return BadRequest("The appeal was not created.", fields={"item": str(error)})


def _serialize_appeal(appeal: Appeal) -> dict[str, Any]:
    names = ("id", "about", "text", "created_at", "state", "answer", "answered_at")
    return {name: getattr(appeal, name) for name in names} | {
        "item": appeal.item.key,
        "question": appeal.question.key,
        "answered_by": appeal.answered_by.username if appeal.answered_by else None,
    }
