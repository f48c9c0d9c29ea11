"""The shapes of labels in the API."""

from __future__ import annotations

from rest_framework import serializers

from core.api.strict_fields import StrictSerializer, Text
from quality.models import Source


class LabelOut(serializers.Serializer):
    item = serializers.CharField()
    question = serializers.CharField()
    confidence = serializers.FloatField(
        allow_null=True, help_text="Probability of the label; null where the method knows none"
    )
    distribution = serializers.DictField(
        child=serializers.FloatField(), help_text="Label -> its probability, or share of votes"
    )
    mean = serializers.FloatField(
        allow_null=True, help_text="Expected value, on interval and ratio scales"
    )
    ratings = serializers.IntegerField(help_text="Ratings that it rests on")
    reason = serializers.CharField(allow_null=True, help_text="Why there is no label: tied")
    decided_by = serializers.CharField(allow_null=True)
    as_of = serializers.DateTimeField()

    def get_fields(self) -> dict[str, serializers.Field]:
        """``label`` and ``source`` are the contract's names, and mean other things to a
        serializer's class."""
        return super().get_fields() | {
            "label": serializers.CharField(allow_null=True, help_text="null: there is none"),
            "source": serializers.ChoiceField(Source.values),
        }


class DecisionIn(StrictSerializer):
    item = Text(trim_whitespace=False)
    question = Text(required=False)
    reason = Text(required=False, allow_blank=True)

    def get_fields(self) -> dict[str, serializers.Field]:
        label = Text(
            allow_null=True, trim_whitespace=False, help_text="null takes the decision back"
        )
        return super().get_fields() | {"label": label}


class DecisionOut(serializers.Serializer):
    item = serializers.CharField()
    question = serializers.CharField()
    reason = serializers.CharField(allow_blank=True)
    number = serializers.IntegerField(help_text="The how manieth decision of this item it is")
    decided_by = serializers.CharField()
    made_at = serializers.DateTimeField()

    def get_fields(self) -> dict[str, serializers.Field]:
        return super().get_fields() | {"label": serializers.CharField(allow_null=True)}
