"""The shapes of gold answers in the API."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from core.api.strict_fields import StrictSerializer, Text
from projects.services.items.gold import LONGEST_EXPLANATION


@extend_schema_field(OpenApiTypes.ANY)
class Answer(serializers.Field):
    """A label, a list of labels that are right, shares by label, or null; who reads it, checks
    it."""

    def to_internal_value(self, data: Any) -> Any:
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class GoldIn(StrictSerializer):
    question = Text(required=False)
    answer = Answer(
        allow_null=True,
        help_text="A label, several that are right, or {label: share}; null takes it away",
    )
    explanation = Text(
        required=False,
        allow_blank=True,
        max_length=LONGEST_EXPLANATION,
        help_text="Left out, it stays while the answer does",
    )


class GoldVersionOut(serializers.Serializer):
    version = serializers.IntegerField()
    answer = Answer(help_text="A label, several that are right, or {label: share}")
    explanation = serializers.CharField(allow_blank=True)
    by = serializers.CharField(allow_null=True)
    made_at = serializers.DateTimeField()
    retired_at = serializers.DateTimeField(allow_null=True, help_text="null: it is in force")


class GoldOut(GoldVersionOut):
    item = serializers.CharField()
    question = serializers.CharField()
    exposures = serializers.IntegerField(help_text="Answers by anybody, hidden gold among them")
    right = serializers.IntegerField(help_text="Of these answers")
    probability = serializers.FloatField(
        allow_null=True, help_text="That the gold is wrong, by what people say of it"
    )
    suspected = serializers.BooleanField(help_text="And so in no score until a lead decides")
    leaked = serializers.BooleanField(help_text="Later raters know it suddenly better")


class OneGoldOut(serializers.Serializer):
    item = serializers.CharField()
    question = serializers.CharField()
    gold = GoldOut(allow_null=True, help_text="The answer in force; null: there is none")
    versions = GoldVersionOut(many=True, help_text="All that were ever set, oldest first")
