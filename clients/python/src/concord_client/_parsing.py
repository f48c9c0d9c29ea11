"""Convert JSON to the generated dataclasses."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import types
import typing
from typing import Any, Literal, Union

# A field whose name is a word of Python has an underscore after it.
KEYWORD_SUFFIX = "_"


def parse_json(kind: Any, value: Any) -> Any:  # noqa: PLR0911 - one for each kind of type
    """Return ``value`` as ``kind``: a dataclass, list, dict, union or simple type.

    Unknown fields are left out and missing ones are None, so that an older client reads a newer
    site and the other way round.
    """
    if value is None or kind is Any:
        return value
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return parse_json(next(part for part in arguments if part is not type(None)), value)
    if origin is list:
        return [parse_json(arguments[0], part) for part in value]
    if origin is dict:
        return {key: parse_json(arguments[1], part) for key, part in value.items()}
    if origin is Literal:
        return value
    if dataclasses.is_dataclass(kind):
        fields = _list_fields(typing.cast(Any, kind))
        parts = {name: parse_json(part, value.get(key)) for name, key, part in fields}
        return typing.cast(Any, kind)(**parts)
    if kind is datetime.datetime:
        return datetime.datetime.fromisoformat(value)
    if kind is datetime.date:
        return datetime.date.fromisoformat(value)
    return value


@functools.cache
def _list_fields(kind: Any) -> list[tuple[str, str, Any]]:
    """Return the name, JSON key and type of each field."""
    hints = typing.get_type_hints(kind)
    return [
        (field.name, field.name.removesuffix(KEYWORD_SUFFIX), hints[field.name])
        for field in dataclasses.fields(kind)
    ]


def to_json(value: Any) -> Any:
    """Return JSON data of a value: dataclasses, also inside lists and dicts, become dicts."""
    if dataclasses.is_dataclass(value):
        kind: Any = type(value)
        return {key: to_json(getattr(value, name)) for name, key, _kind in _list_fields(kind)}
    if isinstance(value, list):
        return [to_json(part) for part in value]
    if isinstance(value, dict):
        return {key: to_json(part) for key, part in value.items()}
    if isinstance(value, datetime.date):  # and datetime
        return value.isoformat()
    return value
