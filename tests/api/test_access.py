"""Who may call what: every API route, method and caller, as published in access.csv."""

from __future__ import annotations

import contextlib
import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone
from rest_framework.test import APIClient

from metrics.models import NamedView
from projects import authentication
from projects.models import ApiToken, Item, Member, Project, Rater
from quality.models import Appeal, GoldAct

VIEW = 900_001  # a request that makes a view as well gets its number from the database
CALLERS = (
    "anon", "annotator", "viewer", "adjudicator", "lead", "stranger", "admin",
    "read_token", "bound_token", "foreign_token", "revoked_token", "deactivated",
)  # fmt: skip
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
TABLE = Path(__file__).parent / "access.csv"

BODIES: dict[tuple[str, str], Any] = {
    ("api-projects", "POST"): {
        "name": "Another",
        "questions": [
            {
                "key": "q",
                "text": "?",
                "scale": "nominal",
                "categories": [{"label": "yes"}, {"label": "no"}],
            },
        ],
    },
    ("api-project", "PATCH"): {"name": "Renamed"},
    ("api-items", "POST"): {"key": "i1", "body": {"text": "x"}},
    ("api-raters", "POST"): [{"key": "ann"}],
    ("api-ratings", "POST"): {"item": "i1", "rater": "ann", "label": "minor"},
    ("api-labels", "POST"): {"item": "i1", "label": "minor"},
    ("api-gold", "PUT"): {"answer": "minor"},
    ("api-alarm", "POST"): {"state": "looked_at"},
    ("api-rules", "PATCH"): {"sure_from": 0.8},
    ("api-exam-rules", "PATCH"): {"tries": 3},
    ("api-exams", "POST"): {"rater": "ann", "do": "waive", "reason": "x"},
    ("api-act", "POST"): {"do": "carry_out"},
    ("api-appeals", "POST"): {"item": "i1", "text": "It is not."},
    ("api-appeal", "POST"): {"state": "open"},
    ("api-named-views", "POST"): {"page": "raters", "name": "Slow ones", "query": "show=few"},
    ("api-next", "POST"): {"item": "i1", "answers": {"severity": "minor"}},
}


QUERIES = {
    "api-history": "?item=i1&rater=ann",
    "api-pair": "?rater_a=ann&rater_b=ben",
}


OF_NO_PROJECT = {"api-schema", "api-projects", "api-site-trail", "healthz", "livez"}


def routes(patterns: Any = None, prefix: str = "") -> Iterator[str]:
    """The names of all routes below /api/ of /healthz and of /livez."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, path)
        elif isinstance(pattern, URLPattern) and (
            path.startswith("api/v1/") or path in ("healthz", "livez")
        ):
            assert pattern.name, f"{path} needs a name"
            yield pattern.name


def expectations() -> dict[tuple[str, str], dict[str, int]]:
    with TABLE.open(newline="") as file:
        return {
            (row["route"], row["method"]): {caller: int(row[caller]) for caller in CALLERS}
            for row in csv.DictReader(file)
        }


EXPECTED = expectations()


def test_every_route_and_method_is_in_the_table() -> None:
    assert set(EXPECTED) == {(route, method) for route in routes() for method in METHODS}


@pytest.fixture
def clients(
    settings: Any, project: Project, cast: dict[str, User], make_project: Callable[..., Project]
) -> dict[str, APIClient]:
    """A client for each caller. ``foreign_token`` is the lead's own, but bound to another project
    of the lead."""
    settings.MAY_CREATE_PROJECTS = "leads"  # as it is unless told otherwise
    other = make_project("Another project")
    Member.objects.create(project=other, user=cast["stranger"], role=Member.Role.LEAD)
    Member.objects.create(project=other, user=cast["lead"], role=Member.Role.LEAD)
    decides = Member.Role.ADJUDICATOR
    Member.objects.create(project=project, user=cast["adjudicator"], role=decides)
    found = {"anon": APIClient()}
    for name in ("annotator", "viewer", "adjudicator", "lead", "stranger", "admin"):
        found[name] = with_token(authentication.create_token(user=cast[name]))
    found["read_token"] = with_token(
        authentication.create_token(user=cast["lead"], scope=ApiToken.Scope.READ)
    )
    found["bound_token"] = with_token(
        authentication.create_token(user=cast["lead"], project=project)
    )
    found["foreign_token"] = with_token(
        authentication.create_token(user=cast["lead"], project=other)
    )
    revoked = authentication.create_token(user=cast["lead"])
    ApiToken.objects.filter(digest=authentication.compute_digest(revoked)).update(
        revoked_at="2026-01-01T00:00:00Z"
    )
    found["revoked_token"] = with_token(revoked)
    gone = cast["gone"]
    Member.objects.create(project=project, user=gone, role=Member.Role.LEAD)
    found["deactivated"] = with_token(authentication.create_token(user=gone))
    User.objects.filter(pk=gone.pk).update(is_active=False)
    return found


@pytest.fixture
def cast(
    lead: User,
    annotator: User,
    viewer: User,
    stranger: User,
    admin: User,
    make_user: Callable[..., User],
) -> dict[str, User]:
    users = {
        "lead": lead,
        "annotator": annotator,
        "viewer": viewer,
        "stranger": stranger,
        "admin": admin,
    }
    return {**users, "gone": make_user("gone"), "adjudicator": make_user("adjudicator")}


def with_token(token: str) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return client


def path_of(route: str, project_id: int) -> str:
    for arguments in (
        {},
        {"project_id": project_id},
        {"project_id": project_id, "rater_key": "ann"},
        {"project_id": project_id, "item_key": "i1"},
        {"project_id": project_id, "alarm_id": 1},
        {"project_id": project_id, "appeal_id": 1},
        {"project_id": project_id, "act_id": 1},
        {"project_id": project_id, "view_id": VIEW},
    ):
        with contextlib.suppress(NoReverseMatch):
            return reverse(route, kwargs=arguments) + QUERIES.get(route, "")
    raise AssertionError(f"{route} takes other arguments than these tests know")


@pytest.mark.parametrize("route", sorted({route for route, _ in EXPECTED}))
def test_access(
    route: str,
    clients: dict[str, APIClient],
    project: Project,
    give: Callable[..., None],
    make_alarm: Callable[..., Any],
) -> None:
    question, ann = project.questions.get(), project.raters.get()
    make_alarm(question, ann, pk=1)
    GoldAct.objects.create(
        pk=1, question=question, rater=ann, step="warn", state="proposed", evidence=30.0,
        answers=4, made_at=timezone.now(),
    )  # fmt: skip
    NamedView.objects.create(pk=VIEW, project=project, page="items", name="All")
    item = Item.objects.create(project=project, key="i1", body={"text": "x"})
    Appeal.objects.create(
        pk=1, question=question, item=item, rater=ann, text="No.", made_at=timezone.now()
    )
    Rater.objects.create(project=project, key="ben")
    give(project, "ann", "i1")
    path = path_of(route, project.pk)
    for method in METHODS:
        body = dumped(BODIES.get((route, method), {}))
        found = {
            caller: client.generic(method, path, body, content_type="application/json").status_code
            for caller, client in clients.items()
        }
        assert (method, found) == (method, EXPECTED[route, method])


def dumped(body: Any) -> str:
    return json.dumps(body)


@pytest.mark.parametrize(
    "route",
    sorted({route for route, _ in EXPECTED} - OF_NO_PROJECT),
)
def test_a_foreign_project_answers_like_none(
    route: str, clients: dict[str, APIClient], project: Project
) -> None:
    method = "GET" if EXPECTED[route, "GET"]["lead"] == 200 else "POST"
    body = dumped(BODIES.get((route, method)) or {})
    answers = [
        clients["stranger"].generic(
            method, path_of(route, project_id), body, content_type="application/json"
        )
        for project_id in (project.pk, 999_999, 10**30)
    ]
    assert [answer.status_code for answer in answers] == [404, 404, 404]
    assert len({answer.content for answer in answers}) == 1
    for answer in answers:
        del answer["X-Request-ID"]  # drawn at random
    assert len({tuple(sorted(answer.headers.items())) for answer in answers}) == 1


def test_a_session_works_with_a_csrf_token_alone(lead: User, project: Project) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(lead)
    path = path_of("api-project", project.pk)

    assert client.get(path).status_code == 200
    without = client.patch(path, {"name": "Stolen"}, content_type="application/json")
    assert without.status_code == 403
    assert without.json()["error"]["code"] == "forbidden"
    client.cookies["csrftoken"] = "a" * 32
    allowed = client.patch(
        path, {"name": "Mine"}, content_type="application/json", headers={"X-CSRFToken": "a" * 32}
    )
    assert allowed.status_code == 200
    project.refresh_from_db()
    assert project.name == "Mine"


def test_a_removed_member_is_a_stranger(
    lead: User, project: Project, clients: dict[str, APIClient]
) -> None:
    Member.objects.filter(project=project, user=lead).delete()
    assert clients["lead"].get(path_of("api-project", project.pk)).status_code == 404


def test_a_list_shows_own_projects_and_those_of_the_token(
    project: Project, clients: dict[str, APIClient]
) -> None:
    def names(caller: str) -> list[str]:
        return [row["name"] for row in clients[caller].get("/api/v1/projects/").json()["results"]]

    assert names("lead") == names("admin") == ["Reviews", "Another project"]
    assert names("annotator") == names("bound_token") == ["Reviews"]
    assert names("stranger") == names("foreign_token") == ["Another project"]


def test_roles_are_told(clients: dict[str, APIClient], project: Project) -> None:
    path = path_of("api-project", project.pk)
    roles = {
        caller: clients[caller].get(path).json()["role"]
        for caller in ("lead", "annotator", "viewer", "admin")
    }
    assert roles == {"lead": "lead", "annotator": "annotator", "viewer": "viewer", "admin": "lead"}
