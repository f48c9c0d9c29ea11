"""The shapes of alarms and scorecards in the API."""

from __future__ import annotations

from rest_framework import serializers

from core.api.strict_fields import StrictSerializer, Text
from metrics.api.serializers import ReadingOut
from quality.models import Answer, Kind, Measure, State
from quality.rater_status.status import REASONS, Status


class AlarmOut(serializers.Serializer):
    id = serializers.IntegerField()
    question = serializers.CharField()
    kind = serializers.CharField(help_text=", ".join(Kind.values))
    rater = serializers.CharField(allow_null=True)
    other_rater = serializers.CharField(
        allow_null=True, help_text="The other of two raters: a pair, or whom nothing tells apart"
    )
    category = serializers.CharField(
        allow_null=True, help_text="Label of the category that it is about"
    )
    measure = serializers.ChoiceField(Measure.values)
    since = serializers.DateField(help_text="The day since when, in the project's time zone")
    since_earliest = serializers.DateField(help_text="It began on a day (95 %) from here")
    since_latest = serializers.DateField(help_text="to here")
    noticed = serializers.DateField(help_text="The day whose ratings made the evidence enough")
    raised_at = serializers.DateTimeField(help_text="When the program saw them")
    size = serializers.FloatField(
        help_text="In units of the measure, on average since then: docs/api.md"
    )
    low = serializers.FloatField(help_text="Lower end of its 95 % interval")
    high = serializers.FloatField()
    n = serializers.IntegerField(help_text="Items that it rests on, from then until `noticed`")
    n_before = serializers.IntegerField(help_text="and before, in the same segment")
    evidence = serializers.FloatField(help_text="docs/statistics.md; 0 of what is only counted")
    facts = serializers.DictField(help_text="What else it rests on: docs/api.md")
    reason = serializers.CharField(allow_null=True, help_text="cannot_tell_who")
    state = serializers.ChoiceField(State.values)
    answer = serializers.ChoiceField(Answer.values, allow_null=True)
    until = serializers.DateField(allow_null=True, help_text="Muted until this day")
    stands = serializers.BooleanField(help_text="Whether today's ratings would raise it still")


class StepOut(serializers.Serializer):
    at = serializers.DateTimeField()
    by = serializers.CharField(allow_null=True, help_text="null: the program")
    state = serializers.ChoiceField(State.values)
    answer = serializers.ChoiceField(Answer.values, allow_null=True)
    until = serializers.DateField(allow_null=True)
    reason = serializers.CharField(allow_blank=True)


class CaseOut(AlarmOut):
    steps = StepOut(many=True, help_text="All steps of its life, oldest first")


class StepIn(StrictSerializer):
    state = serializers.ChoiceField(State.values)
    reason = Text(required=False, allow_blank=True)
    answer = serializers.ChoiceField(
        Answer.values, required=False, help_text="Of a resolved alarm: what it was"
    )
    until = serializers.DateField(required=False, help_text="Of a muted one: opened on this day")


class DriftOut(serializers.Serializer):
    watched = serializers.BooleanField(help_text="Not enough for an alarm, but worth a look")
    evidence = serializers.FloatField(help_text="250: watched; 5,000: an alarm")
    measure = serializers.ChoiceField(Measure.values, allow_null=True)
    since = serializers.DateField(allow_null=True)
    size = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField(help_text="Compared items in the present segment")
    reason = serializers.CharField(allow_null=True, help_text="too_short, no_peers, not_counted")


class ScorecardOut(serializers.Serializer):
    rater = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    group = serializers.CharField(allow_blank=True)
    status = serializers.ChoiceField([status.value for status in Status])
    reasons = serializers.ListField(
        child=serializers.ChoiceField(list(REASONS)), help_text="Why it is not fine"
    )
    ratings = serializers.IntegerField()
    seconds = serializers.FloatField(allow_null=True, help_text="Median seconds an item")
    peers = ReadingOut(help_text="Kappa with the others, under the question's weights")
    bias = ReadingOut(help_text="Mean signed difference to the others, on ordered scales")
    gold = ReadingOut(help_text="Kappa with the gold answers")
    repeats = ReadingOut(help_text="With oneself; no_repeats: nothing was asked again yet")
    drift = DriftOut()
    alarms = serializers.ListField(
        child=serializers.IntegerField(), help_text="Ids of the alarms that are not resolved"
    )
