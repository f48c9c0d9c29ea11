"""The shapes of ratings in the API, for the schema; ``incoming`` checks them, at ten thousand rows
a request."""

from __future__ import annotations

from rest_framework import serializers


class RatingIn(serializers.Serializer):
    item = serializers.CharField(max_length=255, help_text="Key of the item")
    rater = serializers.CharField(
        max_length=150, required=False, help_text="Key of the rater; the caller's own when left out"
    )
    question = serializers.CharField(
        max_length=64,
        required=False,
        help_text="Key of the question; may be left out where the project has one",
    )
    label = serializers.CharField(  # type: ignore[assignment]  # the name is the contract's
        max_length=200, allow_null=True, help_text="A label of the question; null withdraws"
    )
    rated_at = serializers.DateTimeField(
        required=False, allow_null=True, help_text="ISO-8601 with a zone; now, when left out"
    )
    comment = serializers.CharField(
        required=False, allow_null=True, allow_blank=True, max_length=10_000
    )


class RatingOut(serializers.Serializer):
    item = serializers.CharField()
    rater = serializers.CharField()
    question = serializers.CharField()
    label = serializers.CharField(  # type: ignore[assignment]  # the name is the contract's
        allow_null=True, help_text="null: withdrawn"
    )
    rated_at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField()
    comment = serializers.CharField(allow_blank=True)
    guidelines = serializers.IntegerField(
        allow_null=True, help_text="The version of the guidelines it was made under; null: unknown"
    )


class RatingCounts(serializers.Serializer):
    created = serializers.IntegerField()
    changed = serializers.IntegerField()
    unchanged = serializers.IntegerField()
    withdrawn = serializers.IntegerField()
