"""The shapes of exams, and of what follows from answers on gold, in the API."""

from __future__ import annotations

from rest_framework import serializers

from core.api.strict_fields import Choice, Flag, Number, StrictSerializer, Text, Whole
from quality.exams.decisions import LONGEST_REASON
from quality.models import GoldAct
from ratings.models import Exam


class ExamRulesIn(StrictSerializer):
    """What may be chosen; its bounds are those of quality.exams.settings."""

    question = Text(required=False)
    # The metaclass takes fields out of the class: the serializer's own "required" stays.
    required = Flag(  # type: ignore[assignment]
        required=False, help_text="Raters pass an exam before their first item"
    )
    everybody = Flag(required=False, help_text="Also those who have rated the question already")
    p_fail = Number(required=False, help_text="Too low: right so often, 0.05 to 0.95")
    p_pass = Number(required=False, help_text="Good enough: right so often, 0.1 to 0.99")
    alpha = Number(required=False, help_text="Share of the too low who may pass, 0.001 to 0.3")
    beta = Number(required=False, help_text="Share of the good enough who may fail, 0.001 to 0.3")
    most = Whole(required=False, help_text="Items at most")
    tries = Whole(required=False)


class ExamRulesOut(serializers.Serializer):
    question = serializers.CharField()
    required = serializers.BooleanField()  # type: ignore[assignment]
    p_fail = serializers.FloatField()
    p_pass = serializers.FloatField()
    alpha = serializers.FloatField()
    beta = serializers.FloatField()
    most = serializers.IntegerField()
    tries = serializers.IntegerField()
    items = serializers.IntegerField(help_text="Gold items that an exam may ask")
    least = serializers.IntegerField(help_text="With fewer there is no exam")


class ExamOut(serializers.Serializer):
    id = serializers.IntegerField()
    question = serializers.CharField()
    rater = serializers.CharField()
    number = serializers.IntegerField(help_text="Which try")
    state = serializers.ChoiceField(Exam.State.values)
    answers = serializers.IntegerField()
    right = serializers.IntegerField(help_text="Of these answers")
    chance = serializers.FloatField(
        allow_null=True, help_text="The probability of the error that the outcome may be"
    )
    began_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    by = serializers.CharField(allow_null=True, help_text="Who granted the try, or waived it")
    reason = serializers.CharField(allow_blank=True)


class DecideIn(StrictSerializer):
    question = Text(required=False)
    rater = Text(help_text="Key of the rater")
    do = Choice(["grant", "waive"], help_text="Another try, or none is needed")
    reason = Text(max_length=LONGEST_REASON)


class ActOut(serializers.Serializer):
    id = serializers.IntegerField()
    question = serializers.CharField()
    rater = serializers.CharField()
    step = serializers.ChoiceField(GoldAct.Step.values)
    state = serializers.ChoiceField(GoldAct.State.values)
    evidence = serializers.FloatField(help_text="The highest when it was raised")
    answers = serializers.IntegerField(help_text="On which it rests")
    made_at = serializers.DateTimeField()
    by = serializers.CharField(allow_null=True, help_text="null: the project's rule, or nobody yet")
    decided_at = serializers.DateTimeField(allow_null=True)
    reason = serializers.CharField(allow_blank=True)


class ActIn(StrictSerializer):
    do = Choice(["carry_out", "override"])
    reason = Text(
        required=False,
        allow_blank=True,
        max_length=LONGEST_REASON,
        help_text="Needed to override",
    )
