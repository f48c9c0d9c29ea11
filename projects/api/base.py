"""Base class of API views, and access to a project and its question."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.views import APIView

from core.api.errors import BadRequest
from projects.models import Project, Question
from projects.permissions import ANY_ROLE, get_project


def get_token_project_id(request: Request) -> int | None:
    """Return the id of the project that the caller's token is restricted to.

    None for an unrestricted token, and for a session.
    """
    token: Any = request.auth
    return None if token is None else token.project_id


# No docstring: drf-spectacular would use it as the description of every operation.
class ApiView(APIView):
    # OPTIONS is not offered: the schema describes everything.
    http_method_names = ["get", "head", "post", "patch", "delete"]

    def get_project(self, request: Request, project_id: int, *, role: str = ANY_ROLE) -> Project:
        return get_project(request.user, project_id, role=role, token=request.auth)


def get_question(project: Project, key: str | None) -> Question:
    """Return the project's question with this key, or its only question when the key is None.

    The BadRequest of another key lists the keys.
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
