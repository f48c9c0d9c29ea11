"""The shapes of ratings in the API, for the schema; ``incoming`` checks them, at ten thousand rows
a request."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from ratings.services.judgement import FIELDS, Field


class RatingIn(serializers.Serializer):
    def get_fields(self) -> dict[str, Any]:
        return {field.name: _taken(field) for field in FIELDS if field.longest}


class RatingOut(serializers.Serializer):
    def get_fields(self) -> dict[str, Any]:
        rater = {
            "model": serializers.CharField(
                allow_blank=True, help_text="Of a rater who is a model: its name"
            ),
            "prompt_version": serializers.CharField(
                allow_blank=True, help_text="Of a rater who is a model: the version of its prompt"
            ),
        }
        return {field.name: _answered(field) for field in FIELDS} | rater


class RatingCounts(serializers.Serializer):
    created = serializers.IntegerField()
    changed = serializers.IntegerField()
    unchanged = serializers.IntegerField()
    withdrawn = serializers.IntegerField()


def _taken(field: Field) -> Any:
    said: dict[str, Any] = {
        "required": field.needed,
        "allow_null": field.nullable,
        "help_text": field.about or None,
    }
    if field.kind == "time":
        return serializers.DateTimeField(**said)
    return serializers.CharField(max_length=field.longest, allow_blank=field.kept, **said)


def _answered(field: Field) -> Any:
    said: dict[str, Any] = {"help_text": field.about_answer or None}
    if field.kind == "time":
        return serializers.DateTimeField(**said)
    if field.kind == "number":
        return serializers.IntegerField(allow_null=True, **said)
    can_be_null = field.nullable and not field.kept
    return serializers.CharField(allow_null=can_be_null, allow_blank=field.kept, **said)
