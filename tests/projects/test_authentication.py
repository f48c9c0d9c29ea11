"""API tokens: shown once, stored as a digest, valid only as long as their user."""

from __future__ import annotations

import datetime
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone
from rest_framework.test import APIClient

from projects.authentication import TokenAuthentication
from projects.models import ApiToken, Project
from projects.services import tokens

PATH = "/api/v1/projects/"


def run_create_token(*arguments: str) -> str:
    out = StringIO()
    call_command("create_token", *arguments, stdout=out)
    return out.getvalue()


def build_client(token: str) -> APIClient:
    api_client = APIClient()
    api_client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return api_client


def test_token_is_printed_once_and_stored_as_a_digest(lead: User, project: Project) -> None:
    output = run_create_token("lead")
    token = output.strip()
    assert output == f"{token}\n"
    assert build_client(token).get(PATH).status_code == 200
    stored = ApiToken.objects.values().get()
    assert token not in str(stored)
    assert stored["digest"] == tokens.compute_digest(token)
    assert token.startswith(stored["prefix"])
    assert (stored["scope"], stored["project_id"], stored["expires_at"]) == ("write", None, None)


def test_token_is_limited_to_a_project_a_scope_and_days(lead: User, project: Project) -> None:
    token = run_create_token(
        "lead", "--project", str(project.pk), "--scope", "read", "--days", "2"
    ).strip()
    stored = ApiToken.objects.get()
    assert (stored.scope, stored.project) == ("read", project)
    assert stored.expires_at is not None
    assert abs(
        stored.expires_at - timezone.now() - datetime.timedelta(days=2)
    ) < datetime.timedelta(minutes=1)
    assert build_client(token).get(f"{PATH}{project.pk}/").status_code == 200
    assert build_client(token).patch(f"{PATH}{project.pk}/", {}, format="json").status_code == 403


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nobody"], "no active user 'nobody'"),
        (["gone"], "no active user 'gone'"),
        (["lead", "--project", "999"], "no member of a project 999"),
        (["stranger", "--project", "{id}"], "no member"),
        (["lead", "--days", "0"], "1 to 36500"),
    ],
)
def test_invalid_command_arguments_are_rejected(
    project: Project, stranger: User, make_user: Any, arguments: list[str], words: str
) -> None:
    make_user("gone", is_active=False)
    with pytest.raises(CommandError, match=words):
        run_create_token(*(argument.format(id=project.pk) for argument in arguments))
    assert not ApiToken.objects.exists()


def test_expired_token_is_rejected(lead: User) -> None:
    token = tokens.create_token(user=lead, expires_at=timezone.now() + datetime.timedelta(hours=1))
    assert build_client(token).get(PATH).status_code == 200
    ApiToken.objects.update(created_at="2026-01-01T00:00:00Z", expires_at=timezone.now())
    assert build_client(token).get(PATH).status_code == 401


def test_last_use_is_stored_but_not_on_every_request(lead: User) -> None:
    token = tokens.create_token(user=lead)
    assert ApiToken.objects.get().last_used_at is None
    build_client(token).get(PATH)
    first_use = ApiToken.objects.get().last_used_at
    assert first_use is not None
    build_client(token).get(PATH)
    assert ApiToken.objects.get().last_used_at == first_use
    ApiToken.objects.update(last_used_at=first_use - datetime.timedelta(minutes=6))
    build_client(token).get(PATH)
    later_use = ApiToken.objects.get().last_used_at
    assert later_use is not None and later_use >= first_use


@pytest.mark.parametrize(
    "flags", [{}, {"is_staff": True}, {"is_staff": True, "is_superuser": True}]
)
def test_the_caller_is_the_tokens_user(make_user: Any, flags: dict[str, bool], rf: Any) -> None:
    user = make_user("some.body", email="a@b.example", **flags)
    request = rf.get(PATH, headers={"Authorization": f"Bearer {tokens.create_token(user=user)}"})
    caller, token = TokenAuthentication().authenticate(request) or (None, None)
    assert caller == user
    for name in ("username", "is_staff", "is_superuser", "is_active", "email", "password"):
        assert getattr(caller, name) == getattr(user, name), name
    assert token is not None
    assert token.user_id == user.pk
