"""Serializers of alerts."""

from __future__ import annotations

from rest_framework import serializers

from core.api.strict_fields import StrictCharField, StrictSerializer
from quality.models import AlertCause, AlertKind, AlertMeasure, AlertState


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
