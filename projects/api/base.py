"""What all views of the API share: one door to a project, and its question."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.views import APIView

from core.api.errors import BadRequest
from projects.models import Project, Question
from projects.permissions import ANY, get_project


def bound_to(request: Request) -> int | None:
    """The id of the only project for which the caller's token is good; None for a token without
    bounds or a session."""
    token: Any = request.auth
    return None if token is None else token.project_id


# Without a docstring: the description of an operation would be that of its base.
class ApiView(APIView):
    # OPTIONS is not offered: the schema describes everything.
    http_method_names = ["get", "head", "post", "patch", "delete"]

    def project(self, request: Request, project_id: int, *, role: str = ANY) -> Project:
        return get_project(request.user, project_id, role=role, token=request.auth)


def question_of(project: Project, key: str | None) -> Question:
    """The project's question with this key; without a key its only question. 400 lists the keys."""
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
