"""API of label rules, second opinions and appeals."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import Http404
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
from metrics.api.serializers import ValueOut
from projects.api.base import ApiView, get_question
from projects.models import Member, Question
from quality.consensus import storage as consensus_storage
from quality.models import Appeal, Consensus, ConsensusMethod
from quality.review import appeals, label_rules, second_opinions
from quality.settings_changes import InvalidSettings
from ratings.annotation import rater_selectors


class LabelRulesIn(StrictSerializer):
    """Rules to change; bounds are checked in quality.review.label_rules."""

    question = StrictCharField(required=False)
    method = StrictChoiceField(
        ConsensusMethod.choices, required=False, help_text="How ratings become labels"
    )
    with_models = StrictBooleanField(required=False, help_text="Whether models count as raters")
    request_ratings = StrictBooleanField(
        required=False, help_text="Request further ratings for uncertain items"
    )
    certain_from = FiniteFloatField(
        required=False, help_text="Confidence of a certain label: 0.5 to 0.999"
    )
    max_ratings = StrictIntegerField(
        required=False, help_text="Maximum ratings per item, planned ones included"
    )
    budget = StrictIntegerField(required=False, help_text="Total ratings beyond the planned ones")
    second_opinion_share = FiniteFloatField(
        required=False, help_text="Share of decided items for a second adjudicator, 0 to 1"
    )
    show_to_raters = StrictBooleanField(
        required=False, help_text="Raters see decisions on their items"
    )
    show_after_days = StrictIntegerField(
        required=False, help_text="Days until raters see a decision"
    )


class LabelRulesOut(serializers.Serializer):
    question = serializers.CharField()
    method = serializers.ChoiceField(ConsensusMethod.values)
    with_models = serializers.BooleanField()
    request_ratings = serializers.BooleanField()
    certain_from = serializers.FloatField()
    max_ratings = serializers.IntegerField()
    budget = serializers.IntegerField()
    n_requested = serializers.IntegerField(help_text="Ratings requested so far, out of the budget")
    second_opinion_share = serializers.FloatField()
    show_to_raters = serializers.BooleanField()
    show_after_days = serializers.IntegerField()


class SecondOpinionsOut(serializers.Serializer):
    question = serializers.CharField()
    items = serializers.IntegerField(help_text="Items that two adjudicators decided")
    n_same = serializers.IntegerField(help_text="Items with equal decisions")
    kappa = ValueOut(allow_null=True, help_text="Fleiss' kappa under the question's weights")
    differing_items = serializers.ListField(
        child=serializers.CharField(), help_text="Keys of items decided differently, newest first"
    )


class AppealIn(StrictSerializer):
    item = StrictCharField(trim_whitespace=False)
    question = StrictCharField(required=False)
    text = StrictCharField(help_text="Why the decision is wrong")


class AppealAnswerIn(StrictSerializer):
    state = StrictChoiceField(
        [state for state in Appeal.State.choices if state[0] != Appeal.State.OPEN]
    )
    answer = StrictCharField(required=False, allow_blank=True)


class AppealOut(serializers.Serializer):
    id = serializers.IntegerField()
    item = serializers.CharField(source="item.key")
    question = serializers.CharField(source="question.key")
    about = serializers.ChoiceField(Appeal.About.values)
    text = serializers.CharField()
    created_at = serializers.DateTimeField(format=None)
    state = serializers.ChoiceField(Appeal.State.values)
    answer = serializers.CharField(allow_blank=True)
    answered_by = serializers.CharField(source="answered_by.username", allow_null=True)
    answered_at = serializers.DateTimeField(format=None, allow_null=True)


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
        "updateLabelRules",
        "Change the label rules",
        body=LabelRulesIn,
        response=LabelRulesOut,
        parameters=[QUESTION_PARAMETER],
    )
    def patch(self, request: Request, project_id: int) -> Response:
        """Change the given rules, and leave the others; the next sweep applies them."""
        project = self.get_project(request, project_id, role=Role.LEAD)
        data = self.parse_body(request, LabelRulesIn, ("question",))
        question = get_question(project, data.pop("question", None))
        method = {name: data.pop(name) for name in METHOD_FIELDS if name in data}
        try:
            with transaction.atomic():
                label_rules.set_label_rules(question=question, by=request.user, **data)
                if method:
                    method = _get_method(question) | method
                    consensus_storage.set_method(question=question, by=request.user, **method)
        except InvalidSettings as error:
            raise BadRequest("The rules were not changed.", fields=error.fields) from None
        return Response(_serialize_rules(question))


def _get_method(question: Question) -> dict[str, Any]:
    row = Consensus.objects.filter(question=question).first() or Consensus(question=question)
    return {name: getattr(row, name) for name in METHOD_FIELDS}


def _serialize_rules(question: Question) -> dict[str, object]:
    row = label_rules.get_label_rules(question)
    values = {name: getattr(row, name) for name in (*label_rules.RULES, "n_requested")}
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
        agreement = second_opinions.compute_adjudicator_agreement(question)
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

        return Response(paginate_rows(request, params, rows, AppealOut))

    @describe_write(
        "createAppeal",
        "Appeal against the decision on an item that the caller rated",
        body=AppealIn,
        response=AppealOut,
        status=201,
    )
    def post(self, request: Request, project_id: int) -> Response:
        """Create an appeal, once for each decision that the caller may see.

        The error 400 is the same for an item without a decision and for one that the caller may not
        see.
        """
        project = self.get_project(request, project_id, role=Role.ANNOTATOR)
        data = self.parse_body(request, AppealIn)
        question = get_question(project, data.get("question"))
        user: Any = request.user
        rater = rater_selectors.get_rater(project, user)
        item = project.items.filter(key=data["item"]).first()
        if rater is None or item is None:
            raise _to_bad_request(appeals.build_no_decision_error())
        try:
            row = appeals.create_decision_appeal(
                rater=rater, question=question, item=item, text=data["text"]
            )
        except appeals.InvalidAppeal as error:
            raise _to_bad_request(error) from None
        return Response(AppealOut(row).data, status=201)


class AppealDetailView(ApiView):
    @describe_write(
        "answerAppeal", "Answer an appeal, once", body=AppealAnswerIn, response=AppealOut
    )
    def post(self, request: Request, project_id: int, appeal_id: int) -> Response:
        """Store the answer to an appeal, which changes no label.

        Where the rater is right, the adjudicator decides the item again.
        """
        project = self.get_project(request, project_id, role=Role.ADJUDICATOR)
        rows = Appeal.objects.filter(question__project=project)
        row = rows.select_related("question", "item").filter(pk=appeal_id).first()
        if row is None:
            raise Http404("No such appeal.")
        data = self.parse_body(request, AppealAnswerIn)
        try:
            appeal = appeals.answer_appeal(
                appeal=row, state=data["state"], text=data.get("answer", ""), by=request.user
            )
        except appeals.InvalidAppeal as error:
            raise BadRequest(str(error)) from None
        return Response(AppealOut(appeal).data)


def _to_bad_request(error: appeals.InvalidAppeal) -> BadRequest:
    return BadRequest("The appeal was not created.", fields={"item": str(error)})
