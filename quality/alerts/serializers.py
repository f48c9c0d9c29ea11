"""Serializers of alerts and of rater statuses."""

from __future__ import annotations

from rest_framework import serializers

from core.api.strict_fields import StrictCharField, StrictSerializer
from metrics.api.serializers import ValueOut
from quality.models import AlertCause, AlertKind, AlertMeasure, AlertState
from quality.rater_status.status import RaterStatus, ReasonCode


class AlertOut(serializers.Serializer):
    id = serializers.IntegerField()
    question = serializers.CharField()
    kind = serializers.CharField(help_text=", ".join(AlertKind.values))
    rater = serializers.CharField(allow_null=True)
    other_rater = serializers.CharField(
        allow_null=True, help_text="The second rater of a pair, or of two possible causes"
    )
    category = serializers.CharField(allow_null=True, help_text="Label of the affected category")
    measure = serializers.ChoiceField(AlertMeasure.values)
    since = serializers.DateField(help_text="Day of the onset, in the project's time zone")
    since_earliest = serializers.DateField(help_text="First day of the 95% interval of the onset")
    since_latest = serializers.DateField(help_text="Last day of that interval")
    detected_on = serializers.DateField(
        help_text="Day whose ratings reached the evidence threshold"
    )
    raised_at = serializers.DateTimeField(help_text="When the alert was created")
    size = serializers.FloatField(
        help_text="Mean change since the onset, in units of the measure: docs/api.md"
    )
    low = serializers.FloatField(help_text="Lower end of its 95% interval")
    high = serializers.FloatField()
    n = serializers.IntegerField(help_text="Items it is based on, from the onset to `detected_on`")
    n_before = serializers.IntegerField(help_text="Items before the onset, in the same segment")
    evidence = serializers.FloatField(help_text="docs/statistics.md; 0 for counts")
    facts = serializers.DictField(help_text="Further data behind the alert: docs/api.md")
    reason = serializers.CharField(allow_null=True, help_text="cannot_tell_who")
    state = serializers.ChoiceField(AlertState.values)
    cause = serializers.ChoiceField(AlertCause.values, allow_null=True)
    muted_until = serializers.DateField(allow_null=True, help_text="Muted until this day")
    supported = serializers.BooleanField(help_text="Whether current ratings still support it")


class AlertStepOut(serializers.Serializer):
    at = serializers.DateTimeField()
    by = serializers.CharField(allow_null=True, help_text="null: the system")
    state = serializers.ChoiceField(AlertState.values)
    cause = serializers.ChoiceField(AlertCause.values, allow_null=True)
    muted_until = serializers.DateField(allow_null=True)
    reason = serializers.CharField(allow_blank=True)


class AlertDetailOut(AlertOut):
    steps = AlertStepOut(many=True, help_text="All changes of its state, oldest first")


class AlertStepIn(StrictSerializer):
    state = serializers.ChoiceField(AlertState.values)
    reason = StrictCharField(required=False, allow_blank=True)
    cause = serializers.ChoiceField(
        AlertCause.values, required=False, help_text="Cause of a resolved alert"
    )
    muted_until = serializers.DateField(
        required=False, help_text="A muted alert reopens on this day"
    )


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
