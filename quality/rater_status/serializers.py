"""Serializers of rater statuses."""

from __future__ import annotations

from rest_framework import serializers

from metrics.api.serializers import ValueOut
from quality.models import AlertMeasure

from .status import RaterStatus, ReasonCode


class DriftStateOut(serializers.Serializer):
    watched = serializers.BooleanField(help_text="Too little evidence for an alert, but close")
    evidence = serializers.FloatField(help_text="250: watched; 5,000: alert")
    measure = serializers.ChoiceField(AlertMeasure.values, allow_null=True)
    since = serializers.DateField(allow_null=True)
    size = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField(help_text="Compared items in the current segment")
    reason = serializers.CharField(allow_null=True, help_text="too_short, no_peers, not_counted")


class StatusReasonOut(serializers.Serializer):
    code = serializers.ChoiceField([code.value for code in ReasonCode])
    text = serializers.CharField(help_text="The reason as a text")
    value = serializers.FloatField(
        allow_null=True, help_text="Size of the alert or drift, or accuracy on gold answers"
    )
    low = serializers.FloatField(allow_null=True, help_text="Lower end of its 95% interval")
    high = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField(allow_null=True, help_text="Number of items behind it")


class RaterStatusOut(serializers.Serializer):
    rater = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    kind = serializers.ChoiceField(["human", "model"])
    group = serializers.CharField(allow_blank=True)
    status = serializers.ChoiceField([status.value for status in RaterStatus])
    impact = serializers.FloatField(
        help_text="Number of ratings times the gap between the rater's kappa and the median"
    )
    reasons = StatusReasonOut(many=True, help_text="Reasons for the status")
    ratings = serializers.IntegerField()
    seconds = serializers.FloatField(allow_null=True, help_text="Median seconds per item")
    peers = ValueOut(help_text="Kappa with the others, under the question's weights")
    bias = ValueOut(help_text="Mean signed difference to the others, on ordered scales")
    gold = ValueOut(help_text="Kappa with the gold answers")
    repeats = ValueOut(help_text="Kappa with the rater's own repeated answers")
    drift = DriftStateOut()
    alerts = serializers.ListField(
        child=serializers.IntegerField(), help_text="IDs of unresolved alerts"
    )
