"""The shapes of rules, second opinions and appeals in the API."""

from __future__ import annotations

from rest_framework import serializers

from core.api.strict_fields import Choice, Flag, Number, StrictSerializer, Text, Whole
from metrics.api.serializers import ReadingOut
from quality.models import Appeal, Method


class RulesIn(StrictSerializer):
    """What may be chosen; its bounds are those of quality.escalation.settings."""

    question = Text(required=False)
    method = Choice(Method.choices, required=False, help_text="How labels are made of ratings")
    with_models = Flag(required=False, help_text="Whether models count as raters")
    escalate = Flag(required=False, help_text="Ask again for an item whose label is in doubt")
    sure_from = Number(required=False, help_text="A label is sure from: 0.5 to 0.999")
    most = Whole(required=False, help_text="Ratings an item at most, the planned ones with them")
    budget = Whole(required=False, help_text="Ratings beyond the planned ones, in all")
    second_share = Number(
        required=False, help_text="Share of the decided items for a second adjudicator, 0 to 1"
    )
    tell_raters = Flag(required=False, help_text="Raters learn what was decided of their items")
    tell_after = Whole(required=False, help_text="after so many days")


class RulesOut(serializers.Serializer):
    question = serializers.CharField()
    method = serializers.ChoiceField(Method.values)
    with_models = serializers.BooleanField()
    escalate = serializers.BooleanField()
    sure_from = serializers.FloatField()
    most = serializers.IntegerField()
    budget = serializers.IntegerField()
    used = serializers.IntegerField(help_text="Of the budget")
    second_share = serializers.FloatField()
    tell_raters = serializers.BooleanField()
    tell_after = serializers.IntegerField()


class SecondOut(serializers.Serializer):
    question = serializers.CharField()
    items = serializers.IntegerField(help_text="That two adjudicators decided")
    same = serializers.IntegerField(help_text="Of these, decided alike")
    kappa = ReadingOut(allow_null=True, help_text="Fleiss' kappa under the question's weights")
    differ = serializers.ListField(
        child=serializers.CharField(), help_text="Keys of items decided otherwise, the newest"
    )


class AppealIn(StrictSerializer):
    item = Text(trim_whitespace=False)
    question = Text(required=False)
    text = Text(help_text="Why the decision is wrong")


class AnswerIn(StrictSerializer):
    state = Choice([state for state in Appeal.State.choices if state[0] != Appeal.State.OPEN])
    answer = Text(required=False, allow_blank=True)


class AppealOut(serializers.Serializer):
    id = serializers.IntegerField()
    item = serializers.CharField()
    question = serializers.CharField()
    about = serializers.ChoiceField(Appeal.About.values)
    text = serializers.CharField()
    made_at = serializers.DateTimeField()
    state = serializers.ChoiceField(Appeal.State.values)
    answer = serializers.CharField(allow_blank=True)
    answered_by = serializers.CharField(allow_null=True)
    answered_at = serializers.DateTimeField(allow_null=True)
