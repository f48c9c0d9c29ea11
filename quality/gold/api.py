"""API of gold answers and of interventions. For leads only.

Gold answers: the current ones with their scores, and all versions of an item. Raters must not learn
which items have gold. Interventions: warnings and pauses by the evidence of gold.
"""

from __future__ import annotations

from typing import Any

from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api import pagination
from core.api.errors import INVALID_FIELDS, BadRequest
from core.api.pagination import CursorKey, paginate, paginate_rows
from core.api.parameters import get_choice, parse_query_parameters
from core.api.schema import (
    PAGE_PARAMETERS,
    QUESTION_PARAMETER,
    build_page_serializer,
    build_parameter,
    describe_get,
    describe_write,
)
from core.api.strict_fields import StrictCharField, StrictChoiceField, StrictSerializer
from projects.api.base import ApiView, get_question
from projects.models import GoldAnswer, Item, Member, Project, Question
from projects.services import gold
from projects.services.gold import MAX_EXPLANATION_LENGTH
from quality.gold import services
from quality.gold.services import MAX_REASON_LENGTH
from quality.models import GoldIntervention, GoldItem


@extend_schema_field(OpenApiTypes.ANY)
class GoldAnswerField(serializers.Field):
    """A label, a list of accepted labels, shares by label, or null; validated by the service."""

    def to_internal_value(self, data: Any) -> Any:
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class GoldIn(StrictSerializer):
    question = StrictCharField(required=False)
    answer = GoldAnswerField(
        allow_null=True,
        help_text="A label, several accepted labels, or {label: share}; null retires it",
    )
    explanation = StrictCharField(
        required=False,
        allow_blank=True,
        max_length=MAX_EXPLANATION_LENGTH,
        help_text="If left out, it is kept while the answer is unchanged",
    )


class GoldVersionOut(serializers.Serializer):
    version = serializers.IntegerField()
    answer = GoldAnswerField(help_text="A label, several accepted labels, or {label: share}")
    explanation = serializers.CharField(allow_blank=True)
    by = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    retired_at = serializers.DateTimeField(allow_null=True, help_text="null: current")


class GoldOut(GoldVersionOut):
    item = serializers.CharField()
    question = serializers.CharField()
    exposures = serializers.IntegerField(help_text="Number of answers, including hidden gold")
    right = serializers.IntegerField(help_text="Right answers")
    probability = serializers.FloatField(
        allow_null=True, help_text="Probability that the gold is wrong, from people's answers"
    )
    suspected = serializers.BooleanField(help_text="Excluded from scores until a lead decides")
    leaked = serializers.BooleanField(help_text="Later raters are suddenly more often right")


class GoldDetailOut(serializers.Serializer):
    item = serializers.CharField()
    question = serializers.CharField()
    gold = GoldOut(allow_null=True, help_text="The current answer, or null")
    versions = GoldVersionOut(many=True, help_text="All versions, oldest first")


class GoldInterventionOut(serializers.Serializer):
    id = serializers.IntegerField()
    question = serializers.CharField(source="question.key")
    rater = serializers.CharField(source="rater.key")
    step = serializers.ChoiceField(GoldIntervention.Step.values)
    state = serializers.ChoiceField(GoldIntervention.State.values)
    evidence = serializers.FloatField(help_text="Highest evidence when it was created")
    n_answers = serializers.IntegerField(help_text="Number of answers it is based on")
    created_at = serializers.DateTimeField(format=None)
    by = serializers.CharField(
        source="by.username", allow_null=True, help_text="null: the project's rule, or undecided"
    )
    decided_at = serializers.DateTimeField(format=None, allow_null=True)
    reason = serializers.CharField(allow_blank=True)


class GoldInterventionIn(StrictSerializer):
    do = StrictChoiceField(["carry_out", "override"])
    reason = StrictCharField(
        required=False,
        allow_blank=True,
        max_length=MAX_REASON_LENGTH,
        help_text="Required for an override",
    )


LEAD = Member.Role.LEAD
# Values of gold answers that nobody has rated yet or that are newer than the last scores.
NO_SCORES = {
    "exposures": 0,
    "right": 0,
    "probability": None,
    "suspected": False,
    "leaked": False,
}


class GoldListView(ApiView):
    @describe_get(
        "listGold",
        "Current gold answers, with the results of raters on each",
        build_page_serializer("Gold", GoldOut),
        [QUESTION_PARAMETER, *PAGE_PARAMETERS],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id, role=LEAD)
        params = parse_query_parameters(request, ("question", *pagination.PAGE_PARAMETER_NAMES))
        question = get_question(project, params.get("question"))
        answers = GoldAnswer.objects.in_force().filter(question=question)

        def read(after: CursorKey | None, size: int) -> list[tuple[CursorKey, Any]]:
            next_answers = answers.filter(item__gt=after[0]) if after else answers
            rows = list(next_answers.select_related("item", "by").order_by("item_id")[:size])
            return list(
                zip([(row.item_id,) for row in rows], _serialize_gold(question, rows), strict=True)
            )

        return Response(paginate(request, params, key_length=1, read=read))


class GoldDetailView(ApiView):
    http_method_names = ["get", "head", "put"]

    @describe_get(
        "getGold",
        "The gold answer of an item, with earlier versions",
        GoldDetailOut,
        [QUESTION_PARAMETER],
    )
    def get(self, request: Request, project_id: int, item_key: str) -> Response:
        project = self.get_project(request, project_id, role=LEAD)
        params = parse_query_parameters(request, ("question",))
        question = get_question(project, params.get("question"))
        return Response(_serialize_item(question, _get_item_or_404(project, item_key)))

    @describe_write(
        "setGold", "Set the gold answer of an item", body=GoldIn, response=GoldDetailOut
    )
    def put(self, request: Request, project_id: int, item_key: str) -> Response:
        """Store a different answer as the next version; null retires the gold answer.

        The same answer changes nothing. Earlier versions are kept.
        """
        project = self.get_project(request, project_id, role=LEAD)
        item = _get_item_or_404(project, item_key)
        data = self.parse_body(request, GoldIn)
        question = get_question(project, data.get("question"))
        if data["answer"] is None:
            gold.retire_gold_answer(item=item, question=question, by=request.user)
            return Response(_serialize_item(question, item))
        try:
            answer = gold.parse_answer(data["answer"], gold.get_codes_by_label(question))
            new_gold = gold.NewGoldAnswer(item.pk, answer, data.get("explanation"))
            gold.set_gold_answers(question=question, answers=[new_gold], by=request.user)
        except gold.InvalidGoldAnswer as error:
            raise BadRequest(INVALID_FIELDS, fields={"answer": str(error)}) from None
        return Response(_serialize_item(question, item))


def _get_item_or_404(project: Project, key: str) -> Item:
    item = Item.objects.filter(project=project, key=key).first()
    if item is None:
        raise Http404("No such item.")
    return item


def _serialize_item(question: Question, item: Item) -> dict[str, object]:
    rows = GoldAnswer.objects.filter(question=question, item=item).select_related("item", "by")
    versions = list(rows.order_by("version"))
    labels = _get_labels(question)
    current = _serialize_gold(question, [row for row in versions if row.retired_at is None])
    return {
        "item": item.key,
        "question": question.key,
        "gold": current[0] if current else None,
        "versions": [_serialize_version(row, labels) for row in versions],
    }


def _serialize_gold(question: Question, rows: list[GoldAnswer]) -> list[dict[str, object]]:
    labels = _get_labels(question)
    gold_items = GoldItem.objects.filter(gold__in=[row.pk for row in rows])
    scores_of_gold = {row.pop("gold_id"): row for row in gold_items.values("gold_id", *NO_SCORES)}
    return [
        {
            "item": row.item.key,
            "question": question.key,
            **_serialize_version(row, labels),
            **scores_of_gold.get(row.pk, NO_SCORES),
        }
        for row in rows
    ]


def _get_labels(question: Question) -> dict[int, str]:
    return {category.code: category.label for category in question.categories.all()}


def _serialize_version(row: GoldAnswer, labels: dict[int, str]) -> dict[str, object]:
    return {
        "version": row.version,
        "answer": gold.format_answer(row.answer, labels),
        "explanation": row.explanation,
        "by": row.by.get_username() if row.by else None,
        "created_at": row.created_at,
        "retired_at": row.retired_at,
    }


class GoldInterventionListView(ApiView):
    @describe_get(
        "listGoldInterventions",
        "Warnings and pauses by answers on gold, oldest first",
        build_page_serializer("GoldIntervention", GoldInterventionOut),
        [
            build_parameter("question", "Key of a question; all questions when left out"),
            build_parameter(
                "state", "Only interventions in this state", enum=GoldIntervention.State.values
            ),
            *PAGE_PARAMETERS,
        ],
    )
    def get(self, request: Request, project_id: int) -> Response:
        project = self.get_project(request, project_id, role=LEAD)
        params = parse_query_parameters(
            request, ("question", "state", *pagination.PAGE_PARAMETER_NAMES)
        )
        rows = _get_project_interventions(project)
        if "question" in params:
            rows = rows.filter(question=get_question(project, params["question"]))
        if "state" in params:
            rows = rows.filter(
                state=get_choice(params, "state", GoldIntervention.State.values, default="")
            )

        return Response(paginate_rows(request, params, rows, GoldInterventionOut))


class GoldInterventionDetailView(ApiView):
    @describe_get("getGoldIntervention", "An intervention", GoldInterventionOut)
    def get(self, request: Request, project_id: int, intervention_id: int) -> Response:
        project = self.get_project(request, project_id, role=LEAD)
        parse_query_parameters(request)
        return Response(
            GoldInterventionOut(_get_intervention_or_404(project, intervention_id)).data
        )

    @describe_write(
        "decideGoldIntervention",
        "Carry out a proposed intervention, or override it",
        body=GoldInterventionIn,
        response=GoldInterventionOut,
    )
    def post(self, request: Request, project_id: int, intervention_id: int) -> Response:
        """Carry out the intervention, or override it for a reason.

        An override ends the intervention, and the evidence starts again.
        """
        project = self.get_project(request, project_id, role=LEAD)
        intervention = _get_intervention_or_404(project, intervention_id)
        data = self.parse_body(request, GoldInterventionIn)
        try:
            if data["do"] == "carry_out":
                services.carry_out_intervention(intervention=intervention, by=request.user)
            else:
                services.override_intervention(
                    intervention=intervention, reason=data.get("reason", ""), by=request.user
                )
        except services.InvalidIntervention as error:
            raise BadRequest(str(error)) from None
        return Response(
            GoldInterventionOut(_get_intervention_or_404(project, intervention_id)).data
        )


def _get_project_interventions(project: Project) -> Any:
    rows = GoldIntervention.objects.filter(question__project=project)
    return rows.select_related("question", "rater", "by")


def _get_intervention_or_404(project: Project, intervention_id: int) -> GoldIntervention:
    intervention: GoldIntervention | None = (
        _get_project_interventions(project).filter(pk=intervention_id).first()
    )
    if intervention is None:
        raise Http404("No such intervention.")
    return intervention
