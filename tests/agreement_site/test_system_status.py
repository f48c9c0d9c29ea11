"""Tests of the system status page: for administrators only, with all problems."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from agreement_site import system_status
from agreement_site.models import QueuedMail
from agreement_site.monitoring import health
from metrics.jobs.question_updates import update_question
from metrics.models import CountState, Worker

pytestmark = pytest.mark.django_db
HOUR = datetime.timedelta(hours=1)


@pytest.fixture
def healthy_site(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a worker that has swept, a broker that answers, and free disk space."""
    Worker.objects.create(name="worker:1", swept_at=timezone.now())
    monkeypatch.setattr(system_status, "get_broker_state", lambda: "answers")
    monkeypatch.setattr(health, "get_free_bytes", lambda: 1 << 40)


def get_problems(client: Client) -> list[str]:
    """Return the problems in the context and assert that the page shows them."""
    response = client.get("/system-status/")
    assert response.status_code == 200
    messages: list[str] = response.context["status"].problems
    assert all(message in response.text for message in messages)
    return messages


@pytest.mark.parametrize("username", ["lead", "annotator", "stranger", "staff"])
def test_other_users_cannot_open_system_status(
    username: str, client_for: Callable[[User], Client], request: Any, make_user: Any
) -> None:
    user = (
        make_user("staff", is_staff=True)
        if username == "staff"
        else request.getfixturevalue(username)
    )
    assert client_for(user).get("/system-status/").status_code == 403
    assert "/system-status/" not in client_for(user).get("/").text


def test_anonymous_user_cannot_open_system_status(client: Client) -> None:
    assert client.get("/system-status/").status_code == 302


def test_healthy_site_has_no_problems(
    healthy_site: None, client_for: Callable[[User], Client], admin: User, question: Any, rate: Any
) -> None:
    rate(question, "i1", "ann", "none")
    update_question(question.pk)
    client = client_for(admin)
    assert get_problems(client) == []
    text = client.get("/system-status/").text
    assert "No problems." in text
    assert "worker:1" in text
    assert 'href="/system-status/"' in client.get("/").text


def test_problems_are_listed(
    healthy_site: None,
    client_for: Callable[[User], Client],
    admin: User,
    question: Any,
    rate: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rate(question, "i1", "ann", "none")
    question.ratings.update(changed_at=timezone.now() - HOUR)
    Worker.objects.update(swept_at=timezone.now() - HOUR)
    monkeypatch.setattr(health, "get_free_bytes", lambda: 1 << 20)
    monkeypatch.setattr(system_status, "get_broker_state", lambda: "takes nothing (ResponseError)")
    client = client_for(admin)
    assert get_problems(client) == [
        "Only 1 MB left for DATA_DIR",
        "The broker rejects writes",
        "No worker active for 3600 s",
        "A rating is still uncounted after 3600 s",
        "1 question with outdated results",
    ]
    page = client.get("/system-status/").text
    assert f'href="/projects/{question.project_id}/?question=severity"' in page


def test_backlog_is_shown_with_its_progress(
    healthy_site: None, client_for: Callable[[User], Client], admin: User, question: Any, rate: Any
) -> None:
    rate(question, "i1", "ann", "none")
    update_question(question.pk)
    CountState.objects.filter(pk=question.pk).update(backlog_from=1)
    response = client_for(admin).get("/system-status/")
    details = dict(response.context["rows"])
    label = f"Backlog: {question.project.name}, {question.text}"
    assert details[label].endswith("ratings counted")


def test_mails_that_wait_or_failed_are_problems(
    healthy_site: None, client_for: Callable[[User], Client], admin: User, settings: Any
) -> None:
    """Without SMTP_URL nothing is sent, so nothing can fail."""
    now, minute = timezone.now(), datetime.timedelta(minutes=1)
    digest = {"user": admin, "kind": "digest", "created_at": now}
    QueuedMail.objects.create(**digest, state="failed", ended_at=now - 30 * HOUR)
    waiting = QueuedMail.objects.create(**digest, next_at=now - 4 * minute)
    client = client_for(admin)
    assert get_problems(client) == []
    settings.SMTP_URL = "smtp://mail.example.org"
    assert get_problems(client) == []
    QueuedMail.objects.filter(pk=waiting.pk).update(next_at=now - 7 * minute)
    QueuedMail.objects.create(**digest, state="failed", ended_at=now - HOUR)
    late, failed = get_problems(client)
    assert "waiting for 7 min" in late
    assert failed.startswith("1 email failed in the last day")
    QueuedMail.objects.filter(pk=waiting.pk).update(leased_until=now + minute)  # being sent
    assert get_problems(client) == [failed]
    assert ("Queued mails", "1") in client.get("/system-status/").context["rows"]
