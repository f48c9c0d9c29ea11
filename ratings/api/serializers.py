"""Serializers of ratings for the API schema.

Requests are validated by ``rating_rows``, because they have up to ten thousand rows.
"""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from ratings.services.judgement import FIELDS, RatingField


class RatingIn(serializers.Serializer):
    def get_fields(self) -> dict[str, Any]:
        return {field.name: _build_input_field(field) for field in FIELDS if field.max_length}


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
        return {field.name: _build_output_field(field) for field in FIELDS} | rater


class RatingCounts(serializers.Serializer):
    created = serializers.IntegerField()
    changed = serializers.IntegerField()
    unchanged = serializers.IntegerField()
    withdrawn = serializers.IntegerField()


def _build_input_field(field: RatingField) -> Any:
    options: dict[str, Any] = {
        "required": field.required,
        "allow_null": field.nullable,
        "help_text": field.help_text or None,
    }
    if field.kind == "time":
        return serializers.DateTimeField(**options)
    return serializers.CharField(
        max_length=field.max_length, allow_blank=field.is_stored_text, **options
    )


def _build_output_field(field: RatingField) -> Any:
    options: dict[str, Any] = {"help_text": field.output_help_text or None}
    if field.kind == "time":
        return serializers.DateTimeField(**options)
    if field.kind == "number":
        return serializers.IntegerField(allow_null=True, **options)
    can_be_null = field.nullable and not field.is_stored_text
    return serializers.CharField(
        allow_null=can_be_null, allow_blank=field.is_stored_text, **options
    )
