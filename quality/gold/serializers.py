"""Serializers of gold answers and of interventions."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from core.api.strict_fields import StrictCharField, StrictChoiceField, StrictSerializer
from projects.services.items.gold import MAX_EXPLANATION_LENGTH
from quality.exams.attempts_and_waivers import MAX_REASON_LENGTH
from quality.models import GoldIntervention


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
