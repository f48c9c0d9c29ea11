"""Serializers of label rules, second opinions and appeals."""

from __future__ import annotations

from rest_framework import serializers

from core.api.strict_fields import (
    FiniteFloatField,
    StrictBooleanField,
    StrictCharField,
    StrictChoiceField,
    StrictIntegerField,
    StrictSerializer,
)
from metrics.api.serializers import ValueOut
from quality.models import Appeal, ConsensusMethod


class LabelRulesIn(StrictSerializer):
    """Rules to change; bounds are checked in quality.escalation.settings."""

    question = StrictCharField(required=False)
    method = StrictChoiceField(
        ConsensusMethod.choices, required=False, help_text="How ratings become labels"
    )
    with_models = StrictBooleanField(required=False, help_text="Whether models count as raters")
    request_ratings = StrictBooleanField(
        required=False, help_text="Request further ratings for uncertain items"
    )
    certain_from = FiniteFloatField(
        required=False, help_text="Confidence of a certain label: 0.5 to 0.999"
    )
    max_ratings = StrictIntegerField(
        required=False, help_text="Maximum ratings per item, planned ones included"
    )
    budget = StrictIntegerField(required=False, help_text="Total ratings beyond the planned ones")
    second_opinion_share = FiniteFloatField(
        required=False, help_text="Share of decided items for a second adjudicator, 0 to 1"
    )
    show_to_raters = StrictBooleanField(
        required=False, help_text="Raters see decisions on their items"
    )
    show_after_days = StrictIntegerField(
        required=False, help_text="Days until raters see a decision"
    )


class LabelRulesOut(serializers.Serializer):
    question = serializers.CharField()
    method = serializers.ChoiceField(ConsensusMethod.values)
    with_models = serializers.BooleanField()
    request_ratings = serializers.BooleanField()
    certain_from = serializers.FloatField()
    max_ratings = serializers.IntegerField()
    budget = serializers.IntegerField()
    n_requested = serializers.IntegerField(help_text="Ratings requested so far, out of the budget")
    second_opinion_share = serializers.FloatField()
    show_to_raters = serializers.BooleanField()
    show_after_days = serializers.IntegerField()


class SecondOpinionsOut(serializers.Serializer):
    question = serializers.CharField()
    items = serializers.IntegerField(help_text="Items that two adjudicators decided")
    n_same = serializers.IntegerField(help_text="Items with equal decisions")
    kappa = ValueOut(allow_null=True, help_text="Fleiss' kappa under the question's weights")
    differing_items = serializers.ListField(
        child=serializers.CharField(), help_text="Keys of items decided differently, newest first"
    )


class AppealIn(StrictSerializer):
    item = StrictCharField(trim_whitespace=False)
    question = StrictCharField(required=False)
    text = StrictCharField(help_text="Why the decision is wrong")


class AppealAnswerIn(StrictSerializer):
    state = StrictChoiceField(
        [state for state in Appeal.State.choices if state[0] != Appeal.State.OPEN]
    )
    answer = StrictCharField(required=False, allow_blank=True)


class AppealOut(serializers.Serializer):
    id = serializers.IntegerField()
    item = serializers.CharField()
    question = serializers.CharField()
    about = serializers.ChoiceField(Appeal.About.values)
    text = serializers.CharField()
    created_at = serializers.DateTimeField()
    state = serializers.ChoiceField(Appeal.State.values)
    answer = serializers.CharField(allow_blank=True)
    answered_by = serializers.CharField(allow_null=True)
    answered_at = serializers.DateTimeField(allow_null=True)
