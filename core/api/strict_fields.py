"""Serializer fields that convert no JSON types: "3" is no number, true is not 1, 3 is no text."""

from __future__ import annotations

import math
from typing import Any

from rest_framework import serializers

MAX_REPORTED_FIELDS = 20  # unknown fields that an error lists


class StrictSerializer(serializers.Serializer):
    """Reject unknown fields, and list the known ones in the error."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            errors: Any = [f"An object is needed, not {_describe_value(data)}."]
            parent: Any = self.parent
            raise serializers.ValidationError({"body": errors} if parent is None else errors)
        known_names = [name for name, field in self.fields.items() if not field.read_only]
        unknown_names = [name for name in data if name not in known_names]
        if unknown_names:
            message = [f"unknown field; one of {', '.join(known_names)}"]
            raise serializers.ValidationError(
                {str(name)[:60]: message for name in unknown_names[:MAX_REPORTED_FIELDS]}
            )
        return super().to_internal_value(data)


class StrictCharField(serializers.CharField):
    """A JSON text. Leading and trailing blanks are removed unless ``trim_whitespace=False``."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError(f"A text is needed, not {_describe_value(data)}.")
        return super().to_internal_value(data)


class StrictIntegerField(serializers.IntegerField):
    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int:
            raise serializers.ValidationError(
                f"A whole number is needed, not {_describe_value(data)}."
            )
        return data


class StrictBooleanField(serializers.BooleanField):
    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            raise serializers.ValidationError(
                f"true or false is needed, not {_describe_value(data)}."
            )
        return data


class FiniteFloatField(serializers.FloatField):
    def to_internal_value(self, data: Any) -> float:
        try:
            value = float(data) if type(data) in (int, float) else math.nan
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):
            raise serializers.ValidationError(
                f"A finite number is needed, not {_describe_value(data)}."
            )
        return value


class BoundedListField(serializers.ListField):
    """A list of at most ``max_length`` values, which are counted before they are validated."""

    def to_internal_value(self, data: Any) -> list[Any]:
        if isinstance(data, list) and self.max_length is not None and len(data) > self.max_length:
            message = self.error_messages["max_length"]
            raise serializers.ValidationError(message.format(max_length=self.max_length))
        return super().to_internal_value(data)


class StrictChoiceField(serializers.ChoiceField):
    """A JSON text that is one of the choices; the error lists them."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str) or data not in self.choices:
            raise serializers.ValidationError(
                f"{_describe_value(data)} is not allowed; one of {', '.join(self.choices)}."
            )
        return data


def _describe_value(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"'{value[:40]}'"
    if isinstance(value, int | float):
        try:
            return str(value)[:40]
        except ValueError:  # thousands of digits
            return "a huge number"
    return "an object" if isinstance(value, dict) else "a list"
