"""Base class of API views, and access to a project and its question."""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.db import transaction
from django.utils.cache import get_conditional_response
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from core.api.errors import INVALID_FIELDS, BadRequest
from core.api.parameters import get_choice, parse_query_parameters
from projects.models import Project, Question
from projects.permissions import ANY_ROLE, get_project

from . import idempotency


class ResultPending(Exception):
    """A worker has not computed the result yet; the response is 202."""


def get_token_project_id(request: Request) -> int | None:
    """Return the id of the only project that the caller's token may access.

    None for an unrestricted token, and for a session.
    """
    token: Any = request.auth
    return None if token is None else token.project_id


# No docstring: drf-spectacular would use it as the description of every operation.
class ApiView(APIView):
    # OPTIONS is not offered: the schema describes everything.
    http_method_names = ["get", "head", "post", "patch", "delete"]

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Handle a request, then forget its parsed body.

        DRF's request refers to itself, so the body would stay in memory until Python's garbage
        collection, which counts objects and not their bytes.
        """
        response = super().dispatch(request, *args, **kwargs)
        parsed_request: Any = self.request
        parsed_request._data = parsed_request._full_data = parsed_request._files = {}
        return response

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Carry out a POST with an Idempotency-Key only once: wrap its handler in ``run_once``."""
        super().initial(request, *args, **kwargs)
        if request.method == "POST" and idempotency.HEADER in request.META:
            handler = getattr(self, "post", self.http_method_not_allowed)
            self.post = functools.partial(idempotency.run_once, handler)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Give responses to GET an ETag, and respond with 304 to a client that has the same."""
        response = super().finalize_response(request, response, *args, **kwargs)
        if request.method not in ("GET", "HEAD") or response.status_code != 200:
            return response
        add_etag = functools.partial(_respond_conditionally, request)
        if getattr(response, "is_rendered", True):
            return add_etag(response)
        response.add_post_render_callback(add_etag)
        return response

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, ResultPending):
            return Response({"computed_at": None}, status=202, headers={"Retry-After": "1"})
        return super().handle_exception(exc)

    def get_project(self, request: Request, project_id: int, *, role: str = ANY_ROLE) -> Project:
        return get_project(request.user, project_id, role=role, token=request.auth)

    def parse_body(
        self,
        request: Request,
        serializer_class: type[Serializer[Any]],
        parameters: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Return the fields of the body, as the serializer validated them, and those of the query.

        ``parameters``: names of fields that may stand in the query instead. Raises DRF's
        ValidationError, or BadRequest for another query parameter.
        """
        query: dict[str, Any] = parse_query_parameters(request, parameters)
        serializer = serializer_class(data=request.data)
        serializer.is_valid(raise_exception=True)
        return query | serializer.validated_data


@contextlib.contextmanager
def store_unless_dry_run(request: Request) -> Iterator[None]:
    """Roll back what the block stores if the request's query has ``dry_run=true``.

    Raises BadRequest for other parameters.
    """
    query = parse_query_parameters(request, ("dry_run",))
    if get_choice(query, "dry_run", ("true", "false"), default="false") == "false":
        yield
        return
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def change_row(
    upsert: Callable[..., Any], *, project: Project, key: str, data: Any, by: Any
) -> None:
    """Change an item or a rater by the body of a PATCH. Raises BadRequest with the invalid fields.

    ``upsert``: upsert_items or upsert_raters.
    """
    if isinstance(data, dict):
        if "key" in data:
            raise BadRequest(INVALID_FIELDS, fields={"key": "A key is never changed."})
        data = {**data, "key": key}
    try:
        upsert(project=project, rows=[data], by=by, is_partial=True)
    except BadRequest as error:
        problems = error.rows.get(0)
        if not problems:
            raise
        fields = {problem.field or "body": problem.message for problem in problems}
        raise BadRequest(INVALID_FIELDS, fields=fields, rows={None: problems}) from None


def build_location(request: Request, pk: int) -> dict[str, str]:
    """Return the Location header of an object just created by a POST to its list."""
    return {"Location": request.build_absolute_uri(f"{request.path}{pk}/")}


def _respond_conditionally(request: Request, response: Any) -> Any:
    if response.streaming:
        return response
    etag = f'W/"{hashlib.sha256(response.content).hexdigest()[:32]}"'
    response["ETag"] = etag
    return get_conditional_response(request._request, etag=etag, response=response)


def get_question(project: Project, key: str | None) -> Question:
    """Return the project's question with this key, or its only question when the key is None.

    Raises BadRequest, which lists the keys, for another key, and for None if there are several.
    """
    questions = list(project.questions.prefetch_related("categories"))
    if key is None and len(questions) == 1:
        return questions[0]
    for question in questions:
        if question.key == key:
            return question
    keys = ", ".join(question.key for question in questions)
    if key is None:
        message = f"missing; the project has {len(questions)} questions: {keys}"
    else:
        message = f"unknown question '{key[:64]}'; one of {keys}"
    raise BadRequest("Which question?", fields={"question": message})
