"""Serializer fields that take JSON values for what they are: "3" is no number, true is no 1, 3 is
no text."""

from __future__ import annotations

import math
from typing import Any

from rest_framework import serializers

MOST_NAMED = 20  # unknown fields that an answer names


class StrictSerializer(serializers.Serializer):
    """Refuses fields that it does not know, naming those it knows."""

    default_error_messages = {"invalid": "An object is needed, not {datatype}."}

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            known = [name for name, field in self.fields.items() if not field.read_only]
            unknown = [name for name in data if name not in known]
            if unknown:
                said = [f"unknown field; one of {', '.join(known)}"]
                raise serializers.ValidationError(
                    {str(name)[:60]: said for name in unknown[:MOST_NAMED]}
                )
        return super().to_internal_value(data)


class Text(serializers.CharField):
    """A JSON text. Blanks at its ends are taken off unless ``trim_whitespace=False``."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError(f"A text is needed, not {_shown(data)}.")
        return super().to_internal_value(data)


class Whole(serializers.IntegerField):
    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int:
            raise serializers.ValidationError(f"A whole number is needed, not {_shown(data)}.")
        return data


class Flag(serializers.BooleanField):
    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            raise serializers.ValidationError(f"true or false is needed, not {_shown(data)}.")
        return data


class Number(serializers.FloatField):
    def to_internal_value(self, data: Any) -> float:
        try:
            value = float(data) if type(data) in (int, float) else math.nan
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):
            raise serializers.ValidationError(f"A finite number is needed, not {_shown(data)}.")
        return value


class Short(serializers.ListField):
    """A list of ``max_length`` values at most, which are counted before they are looked at."""

    def to_internal_value(self, data: Any) -> list[Any]:
        if isinstance(data, list) and self.max_length is not None and len(data) > self.max_length:
            said = self.error_messages["max_length"]
            raise serializers.ValidationError(said.format(max_length=self.max_length))
        return super().to_internal_value(data)


class Choice(serializers.ChoiceField):
    """One of the given texts; the error lists them."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str) or data not in self.choices:
            raise serializers.ValidationError(
                f"{_shown(data)} is not allowed; one of {', '.join(self.choices)}."
            )
        return data


def _shown(value: Any) -> str:
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
