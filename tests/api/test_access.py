"""Tests of access to every API route, by method and caller, as published in access.csv."""

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
from rest_framework.test import APIClient

from projects.models import ApiToken, Member, Project
from projects.services import tokens
from tests.api.conftest import CONNECTION_ID, EXPORT_ID, SITE_WEBHOOK_ID, VIEW_ID, WEBHOOK_ID

CALLERS = (
    "anon", "annotator", "viewer", "adjudicator", "lead", "stranger", "admin",
    "read_token", "bound_token", "foreign_token", "revoked_token", "deactivated",
)  # fmt: skip
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
ACCESS_TABLE = Path(__file__).parent / "access.csv"

# {caller} stands for the caller, where each creates something under another name.
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
    ("api-copy", "POST"): {"name": "A copy"},
    ("api-archive", "POST"): {"archived": False},
    ("api-invitations", "POST"): {"username": "friend-of-{caller}"},
    ("api-questions", "POST"): {
        "key": "{caller}",
        "text": "?",
        "scale": "nominal",
        "categories": [{"label": "yes"}, {"label": "no"}],
    },
    ("api-question", "PATCH"): {"text": "How bad?"},
    ("api-weights", "POST"): {"weights": "linear"},
    ("api-items", "POST"): {"key": "i1", "body": {"text": "x"}},
    ("api-raters", "POST"): [{"key": "ann"}],
    ("api-ratings", "POST"): {"item": "i1", "rater": "ann", "label": "minor"},
    ("api-labels", "POST"): {"item": "i1", "label": "minor"},
    ("api-gold", "PUT"): {"answer": "minor"},
    ("api-alert", "POST"): {"state": "acknowledged"},
    ("api-label-rules", "PATCH"): {"certain_from": 0.8},
    ("api-exam-rules", "PATCH"): {"max_attempts": 3},
    ("api-exams", "POST"): {"rater": "ann", "do": "waive", "reason": "x"},
    ("api-gold-intervention", "POST"): {"do": "carry_out"},
    ("api-appeals", "POST"): {"item": "i1", "text": "It is not."},
    ("api-appeal", "POST"): {"state": "open"},
    ("api-saved-views", "POST"): {"page": "raters", "name": "Slow ones", "query": "show=few"},
    ("api-webhooks", "POST"): {"url": "https://example.org/hook"},
    ("api-webhook", "PATCH"): {"kinds": ["alert.opened"]},
    ("api-site-webhooks", "POST"): {"url": "https://example.org/hook"},
    ("api-site-webhook", "PATCH"): {"kinds": ["alert.opened"]},
    ("api-item", "PATCH"): {"attributes": {"lang": "en"}},
    ("api-rater", "PATCH"): {"group": "A"},
    ("api-connection", "PATCH"): {"write_back": "predictions"},
    ("api-gates", "POST"): {
        "name": "nightly",
        "rules": [{"measure": "coverage", "at_least": 0.5}],
    },
    ("api-gate", "PATCH"): {"rules": [{"measure": "coverage", "at_least": 0.6}]},
    ("api-next", "POST"): {"item": "i1", "answers": {"severity": "minor"}},
}


QUERIES = {
    "api-history": "?item=i1&rater=ann",
    "api-pair": "?rater_a=ann&rater_b=ben",
}


SITE_ROUTES = {
    "api-index", "api-inbox", "api-schema", "api-projects", "api-site-audit-log",
    "api-site-events", "healthz", "livez", "api-site-webhooks", "api-site-webhook",
    "api-site-webhook-rotate", "api-site-webhook-test", "api-site-webhook-deliveries",
    "api-site-webhook-retry",
}  # fmt: skip


def iter_route_names(patterns: Any = None, prefix: str = "") -> Iterator[str]:
    """Yield the names of all routes below /api/, of /healthz and of /livez."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from iter_route_names(pattern.url_patterns, path)
        elif isinstance(pattern, URLPattern) and (
            path.startswith("api/v1/") or path in ("healthz", "livez")
        ):
            assert pattern.name, f"{path} needs a name"
            yield pattern.name


def read_expected_statuses() -> dict[tuple[str, str], dict[str, int]]:
    """Return the status for each caller by route and method, as in access.csv."""
    with ACCESS_TABLE.open(newline="") as file:
        return {
            (row["route"], row["method"]): {caller: int(row[caller]) for caller in CALLERS}
            for row in csv.DictReader(file)
        }


EXPECTED_STATUSES = read_expected_statuses()


def test_every_route_and_method_is_in_the_table() -> None:
    assert set(EXPECTED_STATUSES) == {
        (route, method) for route in iter_route_names() for method in METHODS
    }


@pytest.fixture
def clients(
    settings: Any, project: Project, users: dict[str, User], make_project: Callable[..., Project]
) -> dict[str, APIClient]:
    """Return a client for each caller.

    ``foreign_token`` is the lead's own, but limited to another project of the lead.
    """
    settings.MAY_CREATE_PROJECTS = "leads"  # the default
    other_project = make_project("Another project")
    Member.objects.create(project=other_project, user=users["stranger"], role=Member.Role.LEAD)
    Member.objects.create(project=other_project, user=users["lead"], role=Member.Role.LEAD)
    adjudicator_role = Member.Role.ADJUDICATOR
    Member.objects.create(project=project, user=users["adjudicator"], role=adjudicator_role)
    clients_by_caller = {"anon": APIClient()}
    for name in ("annotator", "viewer", "adjudicator", "lead", "stranger", "admin"):
        clients_by_caller[name] = create_client(tokens.create_token(user=users[name]))
    clients_by_caller["read_token"] = create_client(
        tokens.create_token(user=users["lead"], scope=ApiToken.Scope.READ)
    )
    clients_by_caller["bound_token"] = create_client(
        tokens.create_token(user=users["lead"], project=project)
    )
    clients_by_caller["foreign_token"] = create_client(
        tokens.create_token(user=users["lead"], project=other_project)
    )
    revoked_token = tokens.create_token(user=users["lead"])
    ApiToken.objects.filter(digest=tokens.compute_digest(revoked_token)).update(
        revoked_at="2026-01-01T00:00:00Z"
    )
    clients_by_caller["revoked_token"] = create_client(revoked_token)
    deactivated_user = users["gone"]
    Member.objects.create(project=project, user=deactivated_user, role=Member.Role.LEAD)
    clients_by_caller["deactivated"] = create_client(tokens.create_token(user=deactivated_user))
    User.objects.filter(pk=deactivated_user.pk).update(is_active=False)
    return clients_by_caller


@pytest.fixture
def users(
    lead: User,
    annotator: User,
    viewer: User,
    stranger: User,
    admin: User,
    make_user: Callable[..., User],
) -> dict[str, User]:
    """Return the users by name."""
    fixture_users = {
        "lead": lead,
        "annotator": annotator,
        "viewer": viewer,
        "stranger": stranger,
        "admin": admin,
    }
    return {**fixture_users, "gone": make_user("gone"), "adjudicator": make_user("adjudicator")}


def create_client(token: str) -> APIClient:
    """Return an API client that sends this token."""
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return client


def build_path(route: str, project_id: int) -> str:
    """Return the path of a route with the arguments that it takes."""
    for arguments in (
        {},
        {"project_id": project_id},
        {"project_id": project_id, "rater_key": "ann"},
        {"project_id": project_id, "item_key": "i1"},
        {"project_id": project_id, "question_key": "severity"},
        {"project_id": project_id, "alert_id": 1},
        {"project_id": project_id, "appeal_id": 1},
        {"project_id": project_id, "intervention_id": 1},
        {"project_id": project_id, "view_id": VIEW_ID},
        {"project_id": project_id, "webhook_id": WEBHOOK_ID},
        {"project_id": project_id, "delivery_id": WEBHOOK_ID},
        {"project_id": project_id, "gate_name": "release"},
        {"project_id": project_id, "connection_id": CONNECTION_ID},
        {"project_id": project_id, "export_id": EXPORT_ID},
        {"webhook_id": SITE_WEBHOOK_ID},
        {"delivery_id": SITE_WEBHOOK_ID},
    ):
        with contextlib.suppress(NoReverseMatch):
            return reverse(route, kwargs=arguments) + QUERIES.get(route, "")
    raise AssertionError(f"{route} takes other arguments than these tests know")


@pytest.mark.parametrize("route", sorted({route for route, _ in EXPECTED_STATUSES}))
def test_each_caller_gets_the_expected_status(
    route: str, clients: dict[str, APIClient], route_objects: None, project: Project
) -> None:
    path = build_path(route, project.pk)
    for method in METHODS:
        body = dump_json(BODIES.get((route, method), {}))
        statuses = {
            caller: client.generic(
                method, path, body.replace("{caller}", caller), content_type="application/json"
            ).status_code
            for caller, client in clients.items()
        }
        assert (method, statuses) == (method, EXPECTED_STATUSES[route, method])


def dump_json(body: Any) -> str:
    return json.dumps(body)


@pytest.mark.parametrize(
    "route",
    sorted({route for route, _ in EXPECTED_STATUSES} - SITE_ROUTES),
)
def test_foreign_project_responds_like_a_missing_one(
    route: str, clients: dict[str, APIClient], project: Project
) -> None:
    is_read = EXPECTED_STATUSES[route, "GET"]["lead"] in (200, 202)
    method = "GET" if is_read else "POST"
    body = dump_json(BODIES.get((route, method)) or {})
    responses = [
        clients["stranger"].generic(
            method, build_path(route, project_id), body, content_type="application/json"
        )
        for project_id in (project.pk, 999_999, 10**30)
    ]
    assert [response.status_code for response in responses] == [404, 404, 404]
    assert len({response.content for response in responses}) == 1
    for response in responses:
        del response["X-Request-ID"]  # random
    assert len({tuple(sorted(response.headers.items())) for response in responses}) == 1


def test_session_needs_a_csrf_token(lead: User, project: Project) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(lead)
    path = build_path("api-project", project.pk)

    assert client.get(path).status_code == 200
    response_without_token = client.patch(path, {"name": "Stolen"}, content_type="application/json")
    assert response_without_token.status_code == 403
    assert response_without_token.json()["error"]["code"] == "forbidden"
    client.cookies["csrftoken"] = "a" * 32
    response_with_token = client.patch(
        path, {"name": "Mine"}, content_type="application/json", headers={"X-CSRFToken": "a" * 32}
    )
    assert response_with_token.status_code == 200
    project.refresh_from_db()
    assert project.name == "Mine"


def test_removed_member_gets_404(
    lead: User, project: Project, clients: dict[str, APIClient]
) -> None:
    Member.objects.filter(project=project, user=lead).delete()
    assert clients["lead"].get(build_path("api-project", project.pk)).status_code == 404


def test_project_list_is_limited_to_memberships_and_token(
    project: Project, clients: dict[str, APIClient]
) -> None:
    def list_names(caller: str) -> list[str]:
        return [row["name"] for row in clients[caller].get("/api/v1/projects/").json()["results"]]

    assert list_names("lead") == list_names("admin") == ["Reviews", "Another project"]
    assert list_names("annotator") == list_names("bound_token") == ["Reviews"]
    assert list_names("stranger") == list_names("foreign_token") == ["Another project"]


def test_project_contains_the_role_of_the_caller(
    clients: dict[str, APIClient], project: Project
) -> None:
    path = build_path("api-project", project.pk)
    roles = {
        caller: clients[caller].get(path).json()["role"]
        for caller in ("lead", "annotator", "viewer", "admin")
    }
    assert roles == {"lead": "lead", "annotator": "annotator", "viewer": "viewer", "admin": "lead"}
