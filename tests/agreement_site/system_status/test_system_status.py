"""The page of whoever runs the site: for administrators alone, and it says what is wrong."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from agreement_site.monitoring import health
from agreement_site.system_status import report
from metrics.jobs.question_updates import update_question
from metrics.models import CountState, Worker

pytestmark = pytest.mark.django_db
HOUR = datetime.timedelta(hours=1)


@pytest.fixture
def well(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker has swept, the broker answers, and there is room."""
    Worker.objects.create(name="worker:1", swept_at=timezone.now())
    monkeypatch.setattr(report, "get_broker_state", lambda: "answers")
    monkeypatch.setattr(health, "get_free_bytes", lambda: 1 << 40)


def problems(client: Client) -> list[str]:
    answer = client.get("/operations/")
    assert answer.status_code == 200
    found: list[str] = answer.context["found"]["problems"]
    assert all(said in answer.text for said in found)
    return found


@pytest.mark.parametrize("who", ["lead", "annotator", "stranger", "staff"])
def test_it_is_for_administrators(
    who: str, client_for: Callable[[User], Client], request: Any, make_user: Any
) -> None:
    user = make_user("staff", is_staff=True) if who == "staff" else request.getfixturevalue(who)
    assert client_for(user).get("/operations/").status_code == 403
    assert "/operations/" not in client_for(user).get("/").text


def test_nobody_else_sees_it(client: Client) -> None:
    assert client.get("/operations/").status_code == 302


def test_all_is_well(
    well: None, client_for: Callable[[User], Client], admin: User, question: Any, rate: Any
) -> None:
    rate(question, "i1", "ann", "none")
    update_question(question.pk)
    client = client_for(admin)
    assert problems(client) == []
    text = client.get("/operations/").text
    assert "Nothing: every rating is in the numbers" in text
    assert "worker:1" in text
    assert 'href="/operations/"' in client.get("/").text


def test_what_is_wrong_is_said(
    well: None,
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
    monkeypatch.setattr(report, "get_broker_state", lambda: "takes nothing (ResponseError)")
    client = client_for(admin)
    assert problems(client) == [
        "the disk of DATA_DIR has 1 MB left",
        "the broker answers, but takes nothing",
        "no worker has swept for 3600 s",
        "a rating has been waiting to be in the numbers for 3600 s",
        "1 question is not brought up to date",
    ]
    page = client.get("/operations/").text
    assert f'href="/projects/{question.project_id}/?question=severity"' in page


def test_a_backlog_is_told_with_how_far_it_is(
    well: None, client_for: Callable[[User], Client], admin: User, question: Any, rate: Any
) -> None:
    rate(question, "i1", "ann", "none")
    update_question(question.pk)
    CountState.objects.filter(pk=question.pk).update(backlog_from=1)
    answer = client_for(admin).get("/operations/")
    assert [one.pk for one, _progress in answer.context["backlogs"]] == [question.pk]
    assert "ratings counted" in answer.text
