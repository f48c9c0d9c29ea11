"""Parsers of request bodies: strict JSON, and forms with a file; the choice of a response format.

The JSON parser rejects NaN, duplicate keys, NUL characters, and unbounded numbers, nesting or
numbers of values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from rest_framework.exceptions import APIException, ParseError, UnsupportedMediaType
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.request import Request

from core.text import has_more_parts, is_nested_deeper, parse_finite_float, reject_constant


class FastContentNegotiation(DefaultContentNegotiation):
    """Negotiate as Django REST framework does, with a shortcut for common requests.

    The shortcut is for clients that accept any format or ask for the view's first one.
    """

    def select_renderer(
        self, request: Request, renderers: Iterable[Any], format_suffix: str | None = None
    ) -> Any:
        default_renderer = next(iter(renderers))
        if request.META.get("HTTP_ACCEPT", "*/*") in ("*/*", default_renderer.media_type):
            return default_renderer, default_renderer.media_type
        return super().select_renderer(request, renderers, format_suffix)


MAX_PARTS = 1_000_000  # objects, lists and commas: each may take a hundred bytes of memory
MAX_DEPTH = 100  # objects and lists inside each other
# Preceded by an even number of backslashes: a real escape, not a backslash followed by letters.
_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class RequestTooLarge(APIException):
    """Error 413: the body has more bytes or values than allowed."""

    status_code = 413
    default_code = "too_large"

    def __init__(self, limit: str) -> None:
        super().__init__(f"A request body may have {limit} at most; send it in parts.")


class StrictJSONParser(BaseParser):
    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        _reject_encodings(parser_context, media_type)
        max_bytes = _get_max_body_bytes(parser_context)
        data = stream.read(max_bytes + 1)
        if len(data) > max_bytes:
            raise RequestTooLarge(f"{max_bytes} bytes")
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ParseError(f"The body must be UTF-8; byte {error.start} is not.") from None
        if has_more_parts(text, MAX_PARTS):
            raise RequestTooLarge(f"{MAX_PARTS} values")
        if is_nested_deeper(text, MAX_DEPTH):
            raise ParseError(f"The JSON is nested too deeply: at most {MAX_DEPTH} levels.")
        try:
            if "\\u0000" in text and _ESCAPED_NUL.search(text):
                raise ValueError("NUL characters are not allowed")
            value = json.loads(
                text,
                parse_constant=reject_constant,
                parse_float=parse_finite_float,
                object_pairs_hook=_build_unique_dict,
            )
            if _ESCAPED_SURROGATE.search(text):
                _reject_lone_surrogates(value)
        except ValueError as error:
            raise ParseError(f"This is not valid JSON: {error}") from None
        return value


class UploadParser(MultiPartParser):
    """Parser of forms with files, of at most as many bytes as any other body.

    Other views discard uploaded files (agreement_site/middleware/security.py).
    """

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        _reject_encodings(parser_context, media_type)
        request = parser_context["request"]._request
        max_bytes = _get_max_body_bytes(parser_context)
        length = request.META.get("CONTENT_LENGTH") or "0"
        if not length.isdecimal() or int(length) > max_bytes:
            raise RequestTooLarge(f"{max_bytes} bytes")
        request.upload_handlers = [TemporaryFileUploadHandler(request)]
        return super().parse(stream, media_type, parser_context)


def _get_max_body_bytes(context: Any) -> int:
    """Return the number of bytes that a body may have.

    It is the view's ``max_body_bytes``, at most the site's limit.
    """
    site_limit: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    view_limit = getattr((context or {}).get("view"), "max_body_bytes", None)
    return site_limit if view_limit is None else min(view_limit, site_limit)


def _reject_encodings(context: Any, media_type: str | None) -> None:
    """Raise UnsupportedMediaType for a compressed body, which could expand to any size."""
    request = (context or {}).get("request")
    encoding = request.META.get("HTTP_CONTENT_ENCODING", "") if request is not None else ""
    if encoding not in ("", "identity"):
        raise UnsupportedMediaType(
            media_type or "application/json",
            "Packed bodies (Content-Encoding) are not accepted; send plain JSON.",
        )


def _build_unique_dict(pairs: list[tuple[str, Any]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) == len(pairs):
        return result
    seen_keys = set()
    for key, _value in pairs:
        if key in seen_keys:
            raise ValueError(f"the key '{key[:60]}' occurs twice in one object")
        seen_keys.add(key)
    raise AssertionError("a key occurs twice")


def _reject_lone_surrogates(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("a lone surrogate is not a character") from None
