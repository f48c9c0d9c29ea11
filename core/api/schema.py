"""What the OpenAPI description says of every operation: who may call, what can go wrong, how lists
are paged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    PolymorphicProxySerializer,
    extend_schema,
    inline_serializer,
)
from rest_framework import serializers

from .pagination import LARGEST_PAGE, PAGE_SIZE
from .parameters import LONGEST_PARAMETER


class ErrorDetail(serializers.Serializer):
    code = serializers.CharField(help_text="invalid, not_authenticated, forbidden, not_found, ...")
    message = serializers.CharField()
    # The metaclass takes it away from the class: the serializer's own `fields` stays what it is.
    fields = serializers.DictField(  # type: ignore[assignment]  # the name is the contract's
        help_text='Place -> message; of lists {"rows": {"17": message}} with rows counted from 0'
    )


class Error(serializers.Serializer):
    error = ErrorDetail()


_MEANINGS = {
    400: "Something is not acceptable; nothing was changed",
    401: "No valid token or session",
    403: "The caller's role, or the token's scope, does not allow this",
    404: "No such project for this caller, or nothing of this key in it",
    409: "Changed by somebody else at the same moment; nothing was stored",
    413: "The body is too large",
    415: "The body is not plain JSON",
    503: "The database cannot take this now",
}
READING_ERRORS = (400, 401, 403, 404)
WRITING_ERRORS = (400, 401, 403, 404, 409, 413, 415, 503)


def errors(statuses: Sequence[int]) -> dict[int, OpenApiResponse]:
    return {status: OpenApiResponse(Error, description=_MEANINGS[status]) for status in statuses}


def parameter(
    name: str, text: str, *, enum: Sequence[str] | None = None, required: bool = False
) -> OpenApiParameter:
    return OpenApiParameter(name, OpenApiTypes.STR, description=text, enum=enum, required=required)


PAGING = [
    OpenApiParameter(
        "cursor",
        OpenApiTypes.STR,
        description=f"From `next`; {LONGEST_PARAMETER} characters at most",
    ),
    OpenApiParameter(
        "page_size",
        OpenApiTypes.INT,
        description=f"{PAGE_SIZE} unless told otherwise, {LARGEST_PAGE} at most",
    ),
]
QUESTION = parameter("question", "Key of the question; may be left out where the project has one")


def page_of(name: str, result: Any) -> Any:
    return inline_serializer(
        f"{name}Page",
        {
            "next": serializers.URLField(allow_null=True, help_text="Address of the next page"),
            "results": result(many=True),
        },
    )


def one_or_many(name: str, row: Any) -> Any:
    """A body that is one row, or a list of rows."""
    return PolymorphicProxySerializer(
        component_name=name,
        serializers=[row, row(many=True)],
        resource_type_field_name=None,
        many=False,
    )


class Later(serializers.Serializer):
    computed_at = serializers.DateTimeField(
        allow_null=True, help_text="null: a worker is at it; ask again in a second"
    )


def reads(
    operation: str,
    summary: str,
    answer: Any,
    parameters: Sequence[OpenApiParameter] = (),
    *,
    later: bool = False,
) -> Any:
    """Decorator of a GET; ``later``: the answer may be still with a worker."""
    return extend_schema(
        operation_id=operation,
        summary=summary,
        parameters=list(parameters),
        responses={200: answer, **({202: Later} if later else {}), **errors(READING_ERRORS)},
    )


def writes(operation: str, summary: str, *, body: Any, answer: Any, status: int = 200) -> Any:
    """Decorator of a POST or PATCH."""
    return extend_schema(
        operation_id=operation,
        summary=summary,
        request=body,
        responses={status: answer, **errors(WRITING_ERRORS)},
    )


def removes(operation: str, summary: str, answer: Any) -> Any:
    """Decorator of a DELETE."""
    return extend_schema(
        operation_id=operation,
        summary=summary,
        responses={200: answer, **errors((*READING_ERRORS, 409, 503))},
    )
