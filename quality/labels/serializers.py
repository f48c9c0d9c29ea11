"""Serializers of final labels and decisions."""

from __future__ import annotations

from rest_framework import serializers

from core.api.strict_fields import StrictCharField, StrictSerializer
from quality.models import LabelSource


class LabelOut(serializers.Serializer):
    item = serializers.CharField()
    question = serializers.CharField()
    confidence = serializers.FloatField(
        allow_null=True, help_text="Probability of the label; null where the method has none"
    )
    distribution = serializers.DictField(
        child=serializers.FloatField(), help_text="Probability or share of votes by label"
    )
    mean = serializers.FloatField(
        allow_null=True, help_text="Expected value, on interval and ratio scales"
    )
    ratings = serializers.IntegerField(help_text="Number of ratings")
    reason = serializers.CharField(allow_null=True, help_text="Reason without a label: tied")
    decided_by = serializers.CharField(allow_null=True)
    as_of = serializers.DateTimeField()

    def get_fields(self) -> dict[str, serializers.Field]:
        """Add ``label`` and ``source``, which would hide attributes of the serializer class."""
        return super().get_fields() | {
            "label": serializers.CharField(allow_null=True, help_text="null: no label"),
            "source": serializers.ChoiceField(LabelSource.values),
        }


class DecisionIn(StrictSerializer):
    item = StrictCharField(trim_whitespace=False)
    question = StrictCharField(required=False)
    reason = StrictCharField(required=False, allow_blank=True)

    def get_fields(self) -> dict[str, serializers.Field]:
        label = StrictCharField(
            allow_null=True, trim_whitespace=False, help_text="null withdraws the decision"
        )
        return super().get_fields() | {"label": label}


class DecisionOut(serializers.Serializer):
    item = serializers.CharField()
    question = serializers.CharField()
    reason = serializers.CharField(allow_blank=True)
    number = serializers.IntegerField(help_text="Number of the item's decision, from 1")
    decided_by = serializers.CharField()
    created_at = serializers.DateTimeField()

    def get_fields(self) -> dict[str, serializers.Field]:
        return super().get_fields() | {"label": serializers.CharField(allow_null=True)}
