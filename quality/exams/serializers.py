"""Serializers of exams."""

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
from quality.exams.decisions import MAX_REASON_LENGTH
from ratings.models import Exam


class ExamRulesIn(StrictSerializer):
    """Rules to change; bounds are checked in quality.exams.settings."""

    question = StrictCharField(required=False)
    # The metaclass removes fields from the class: the serializer's own "required" stays.
    required = StrictBooleanField(  # type: ignore[assignment]
        required=False, help_text="Raters pass an exam before their first item"
    )
    everybody = StrictBooleanField(
        required=False, help_text="Include raters who have rated the question before"
    )
    p_fail = FiniteFloatField(required=False, help_text="Accuracy that is too low, 0.05 to 0.95")
    p_pass = FiniteFloatField(required=False, help_text="Accuracy that is good enough, 0.1 to 0.99")
    alpha = FiniteFloatField(
        required=False, help_text="Probability to pass when too low, 0.001 to 0.3"
    )
    beta = FiniteFloatField(
        required=False, help_text="Probability to fail when good enough, 0.001 to 0.3"
    )
    max_answers = StrictIntegerField(required=False, help_text="Maximum number of items")
    max_attempts = StrictIntegerField(required=False)


class ExamRulesOut(serializers.Serializer):
    question = serializers.CharField()
    required = serializers.BooleanField()  # type: ignore[assignment]
    p_fail = serializers.FloatField()
    p_pass = serializers.FloatField()
    alpha = serializers.FloatField()
    beta = serializers.FloatField()
    max_answers = serializers.IntegerField()
    max_attempts = serializers.IntegerField()
    items = serializers.IntegerField(help_text="Gold items available for an exam")
    min_items = serializers.IntegerField(help_text="Minimum number of gold items")


class ExamOut(serializers.Serializer):
    id = serializers.IntegerField()
    question = serializers.CharField()
    rater = serializers.CharField()
    number = serializers.IntegerField(help_text="Number of the attempt")
    state = serializers.ChoiceField(Exam.State.values)
    answers = serializers.IntegerField()
    right = serializers.IntegerField(help_text="Right answers")
    error_probability = serializers.FloatField(
        allow_null=True, help_text="Error probability of the outcome"
    )
    started_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    by = serializers.CharField(allow_null=True, help_text="User who granted or waived the attempt")
    reason = serializers.CharField(allow_blank=True)


class ExamDecisionIn(StrictSerializer):
    question = StrictCharField(required=False)
    rater = StrictCharField(help_text="Key of the rater")
    do = StrictChoiceField(["grant", "waive"], help_text="Grant another attempt, or waive the exam")
    reason = StrictCharField(max_length=MAX_REASON_LENGTH)
