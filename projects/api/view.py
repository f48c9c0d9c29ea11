"""What all views of the API share: strict parameters, one door to a project, pages by cursor."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.views import APIView

from groundwork.rest.errors import BadRequest
from projects.access import ANY, get_project
from projects.models import Project, Question

PAGE_SIZE = 200
LARGEST_PAGE = 1_000
LONGEST_PARAMETER = 500
PAGING = ("cursor", "page_size")

Key = Sequence[int]


def bound_to(request: Request) -> int | None:
    """The id of the only project for which the caller's token is good; None for a token without bounds or a session."""
    token: Any = request.auth
    return None if token is None else token.project_id


class ApiView(APIView):
    """Base of all API views. OPTIONS is not offered: the schema describes everything."""

    http_method_names = ["get", "head", "post", "patch"]

    def project(self, request: Request, project_id: int, *, role: str = ANY) -> Project:
        return get_project(request.user, project_id, role=role, token=request.auth)


def parameters(request: Request, allowed: Sequence[str] = ()) -> dict[str, str]:
    """The query's parameters; 400 for one that is not known, repeated, or cannot be stored text."""
    found = {}
    wrong = {}
    for name, values in request.query_params.lists():
        if name not in allowed:
            wrong[name[:60]] = f"unknown parameter; {_one_of(allowed)}"
        elif len(values) > 1:
            wrong[name] = "given more than once"
        elif "\x00" in values[0] or len(values[0]) > LONGEST_PARAMETER:
            wrong[name] = f"{LONGEST_PARAMETER} characters at most are allowed, and no NUL"
        else:
            found[name] = values[0]
    if wrong:
        raise BadRequest("The query has invalid parameters.", fields=wrong)
    return found


def _one_of(allowed: Sequence[str]) -> str:
    return f"one of {', '.join(allowed)}" if allowed else "none is allowed here"


def choice(found: dict[str, str], name: str, allowed: Sequence[str], *, default: str) -> str:
    """A parameter that must be one of ``allowed``; 400 lists them."""
    value = found.get(name, default)
    if value not in allowed:
        raise BadRequest(
            f"Unknown {name}.", fields={name: f"unknown {name} '{value[:60]}'; one of {', '.join(allowed)}"}
        )
    return value


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


def page(
    request: Request,
    found: dict[str, str],
    *,
    key: int,
    read: Callable[[Key | None, int], list[tuple[Key, Any]]],
    default_size: int = PAGE_SIZE,
) -> dict[str, Any]:
    """One page of a list.

    ``read(after, size)`` gives up to ``size`` pairs (key, result) in ascending order of their keys, those with a key
    above ``after``. A key is ``key`` integers. A list may change between two pages: nothing that stays is left out
    or comes twice.
    """
    after = _decoded(found["cursor"], key) if "cursor" in found else None
    size = _size(found.get("page_size"), default_size)
    rows = read(after, size + 1)
    following = None
    if len(rows) > size:
        rows = rows[:size]
        query = request.query_params.copy()
        query["cursor"] = _encoded(rows[-1][0])
        following = f"{request.build_absolute_uri(request.path)}?{query.urlencode()}"
    return {"next": following, "results": [result for _, result in rows]}


def of_texts(found: dict[str, Any]) -> HttpResponse:
    """The answer of a `page` whose results are JSON already: what is stored as JSON is not read to be written again."""
    texts = ",".join(found["results"])
    return HttpResponse(f'{{"next":{json.dumps(found["next"])},"results":[{texts}]}}', content_type="application/json")


def _size(text: str | None, default: int) -> int:
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or not text.strip("0"):
        raise BadRequest("Invalid page size.", fields={"page_size": f"a whole number from 1 to {LARGEST_PAGE}"})
    return LARGEST_PAGE if len(text) > 9 else min(int(text), LARGEST_PAGE)


def _encoded(key: Key) -> str:
    return base64.urlsafe_b64encode(json.dumps(list(key), separators=(",", ":")).encode()).decode().rstrip("=")


def _decoded(text: str, length: int) -> Key:
    try:
        key = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, RecursionError):
        key = None
    valid = isinstance(key, list) and len(key) == length and all(type(part) is int for part in key)
    if not valid or any(abs(part) >= 2**62 for part in key):
        raise invalid_cursor()
    return key


def invalid_cursor() -> BadRequest:
    return BadRequest("Invalid cursor.", fields={"cursor": "take it from 'next' of the page before"})


def rows_error(noun: str, wrong: dict[int, list[str]]) -> BadRequest:
    """400 with what is wrong in each row, by its place in the request from 0; nothing was stored."""
    count = f"1 {noun} is" if len(wrong) == 1 else f"{len(wrong)} {noun}s are"
    return BadRequest(
        f"{count} not acceptable; nothing was stored.",
        fields={"rows": {str(place): "; ".join(wrong[place]) for place in sorted(wrong)}},
    )


MOST_ROWS = 10_000


def rows_of(data: Any) -> list[Any]:
    """The request's body as a list of rows: one object, or a list of 1 to MOST_ROWS objects."""
    rows = data if isinstance(data, list) else [data]
    if not rows:
        raise BadRequest("The list is empty.", fields={"body": f"one object, or a list of 1 to {MOST_ROWS}"})
    if len(rows) > MOST_ROWS:
        raise BadRequest(
            "The list is too long.", fields={"body": f"{len(rows)} rows; {MOST_ROWS} at most in one request"}
        )
    return rows
