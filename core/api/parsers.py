"""JSON as the API accepts it: no NaN, no doubled keys, no NUL characters, no endless numbers or
depths."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from django.conf import settings
from rest_framework.exceptions import APIException, ParseError, UnsupportedMediaType
from rest_framework.parsers import BaseParser

# An odd number of backslashes before it: a real escape, not a backslash followed by letters.
_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class TooLarge(APIException):
    status_code = 413
    default_code = "too_large"

    def __init__(self, most: int) -> None:
        super().__init__(f"A request body may have {most} bytes at most; send it in parts.")


class StrictJSONParser(BaseParser):
    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        _refuse_encodings(parser_context, media_type)
        most = _longest(parser_context)
        data = stream.read(most + 1)
        if len(data) > most:
            raise TooLarge(most)
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ParseError(f"The body must be UTF-8; byte {error.start} is not.") from None
        try:
            if "\\u0000" in text and _ESCAPED_NUL.search(text):
                raise ValueError("NUL characters are not allowed")
            value = json.loads(
                text,
                parse_constant=_refuse_constant,
                parse_float=_finite,
                object_pairs_hook=_unique_keys,
            )
            if _ESCAPED_SURROGATE.search(text):
                _refuse_lone_surrogates(value)
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None
        except ValueError as error:
            raise ParseError(f"This is not valid JSON: {error}") from None
        return value


def _longest(context: Any) -> int:
    """Bytes that a body may have: as its view says (``longest_body``), else as the site says."""
    at_most: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    own = getattr((context or {}).get("view"), "longest_body", None)
    return at_most if own is None else min(own, at_most)


def _refuse_encodings(context: Any, media_type: str | None) -> None:
    """A packed body could unpack to anything."""
    request = (context or {}).get("request")
    encoding = request.META.get("HTTP_CONTENT_ENCODING", "") if request is not None else ""
    if encoding not in ("", "identity"):
        raise UnsupportedMediaType(
            media_type or "application/json",
            "Packed bodies (Content-Encoding) are not accepted; send plain JSON.",
        )


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:40]} is too large")
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen = set()
    for key, _value in pairs:
        if key in seen:
            raise ValueError(f"the key '{key[:60]}' stands twice in one object")
        seen.add(key)
    raise AssertionError("a key stands twice")


def _refuse_lone_surrogates(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("a lone surrogate is not a character") from None
