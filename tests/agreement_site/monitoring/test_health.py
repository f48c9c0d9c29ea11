"""Alive and ready: what a monitor is told, above all when something is wrong."""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.utils import timezone

from agreement_site import housekeeping, releases
from agreement_site.models import UnreadSince
from agreement_site.monitoring import health, stale_results
from agreement_site.server.probes import HealthProbes, ReadinessCheck
from metrics.jobs.question_updates import update_question
from metrics.models import CountState
from metrics.results import refresh as readings
from ratings.models import Rating

pytestmark = pytest.mark.django_db


def ready(client: Client) -> dict[str, Any]:
    answer = client.get("/healthz")
    assert answer.status_code == 200
    return answer.json()


def test_alive_asks_nobody(client: Client, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        answer = client.get("/livez")
    assert (answer.status_code, answer.json()["status"]) == (200, "alive")


def test_both_say_the_release(client: Client) -> None:
    for path in ("/livez", "/healthz"):
        assert client.get(path).json()["release"] == releases.get_release()
    assert releases.get_release().startswith("0.")


# --- changes that are in no number


@pytest.fixture
def stuck(question: Any, rate: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A question whose readings cannot be made, with a change that is counted."""
    rate(question, "i1", "ann", "minor")
    rate(question, "i1", "ben", "minor")
    update_question(question.pk)
    long_ago = timezone.now() - datetime.timedelta(days=1)
    CountState.objects.update(read_at=long_ago)

    def broken(*_arguments: Any, **_more: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(readings, "refresh_results", broken)
    rate(question, "i1", "ann", "major")
    with pytest.raises(RuntimeError):
        update_question(question.pk)
    assert not Rating.objects.uncounted().exists()
    return question


def test_what_is_counted_and_in_no_reading_has_an_age(stuck: Any, client: Client) -> None:
    first = ready(client)
    assert (first["uncounted"], first["failing_questions"]) == (1, 0)
    UnreadSince.objects.update(since=timezone.now() - datetime.timedelta(seconds=90))
    later = ready(client)
    assert 90 <= later["oldest_uncounted_seconds"] < 100
    assert later["failing_questions"] == 1


def test_a_workers_sweep_notes_it_too(stuck: Any) -> None:
    housekeeping.sweep()
    assert UnreadSince.objects.get().question == stuck


def test_a_question_that_was_read_meanwhile_begins_anew(stuck: Any) -> None:
    now = timezone.now()
    stale_results.measure_lag(now - datetime.timedelta(seconds=300))
    assert stale_results.measure_lag(now).failing == 1
    CountState.objects.update(read_at=now - datetime.timedelta(seconds=30))
    assert stale_results.measure_lag(now).oldest == now
    CountState.objects.update(unread=0)
    assert stale_results.measure_lag(now) == stale_results.ResultLag(0, 0, None, frozenset())
    assert not UnreadSince.objects.exists()


def test_a_quiet_question_is_not_as_old_as_its_readings(stuck: Any, client: Client) -> None:
    assert ready(client)["oldest_uncounted_seconds"] < 5


def test_questions_that_are_not_counted_fail_too(question: Any, rate: Any, client: Client) -> None:
    rate(question, "i1", "ann", "minor")
    assert ready(client)["failing_questions"] == 0
    Rating.objects.update(changed_at=timezone.now() - datetime.timedelta(seconds=90))
    assert ready(client)["failing_questions"] == 1


# --- not ready


def refused(client: Client, status: str) -> str:
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()["status"]) == (503, status)
    return answer.json()["message"]


def test_tables_of_an_older_release(client: Client) -> None:
    MigrationRecorder(connection).record_unapplied("ratings", "0006_uncounted_items")
    assert "ratings.0006_uncounted_items is not applied" in refused(client, "release")
    with pytest.raises(SystemExit, match="older release"):
        releases.exit_on_schema_mismatch()


def test_tables_of_a_newer_release(client: Client) -> None:
    MigrationRecorder(connection).record_applied("ratings", "9999_from_the_future")
    assert "does not know ratings.9999_from_the_future" in refused(client, "release")
    with pytest.raises(SystemExit, match="newer release"):
        releases.exit_on_schema_mismatch()


def test_apps_that_were_taken_away_are_no_trouble() -> None:
    MigrationRecorder(connection).record_applied("taken_away", "0001_initial")
    assert releases.describe_schema_mismatch() is None


@pytest.fixture
def no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: Any, **_more: Any) -> None:
        raise OperationalError("connection to server failed: secret.example")

    monkeypatch.setattr("django.db.backends.base.base.BaseDatabaseWrapper.cursor", fail)


def test_a_database_that_is_away(client: Client, no_database: None) -> None:
    assert "secret" not in refused(client, "database")
    releases.exit_on_schema_mismatch()  # nobody knows, so nobody refuses


@pytest.mark.sqlite_only("PostgreSQL has a disk of its own")
def test_a_full_disk(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "get_free_bytes", lambda: 1000)
    assert "disk" in refused(client, "disk")


@pytest.mark.parametrize("path", ["/", "/projects/1/", "/sign-in/", "/projects/1/rate/"])
def test_pages_say_that_the_database_is_away(
    lead: Any, client_for: Any, request: Any, path: str
) -> None:
    client = client_for(lead)
    client.raise_request_exception = False
    request.getfixturevalue("no_database")
    answer = client.get(path, headers={"Accept-Language": "zh-hans"})
    if path == "/sign-in/" and answer.status_code == 200:
        return  # asks for nothing
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
    assert "数据库目前无法连接" in answer.content.decode()


def test_the_api_says_so_in_its_shape(lead: Any, api_for: Any, request: Any) -> None:
    client = api_for(lead)
    client.raise_request_exception = False
    request.getfixturevalue("no_database")
    answer = client.get("/api/v1/projects/")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")


# --- in front of the site


def asked(site: Callable[..., Any], path: str, method: str = "GET") -> tuple[str, bytes]:
    said: list[Any] = []
    request = {"PATH_INFO": path, "REQUEST_METHOD": method, "HTTP_HOST": "10.1.2.3"}
    content = b"".join(site(request, lambda *parts: said.extend(parts)))
    return said[0], content


@pytest.fixture
def held() -> Iterator[threading.Event]:
    """Until it is set, nobody gets an answer of the database."""
    release = threading.Event()
    yield release
    release.set()


def test_probes_need_no_seat_and_no_name(held: threading.Event) -> None:
    def site(*_arguments: Any) -> Any:
        raise AssertionError("asked")

    probes = HealthProbes(site)
    probes._checks["/healthz"] = ReadinessCheck(lambda: (200, {"status": "ok"})).get_response
    assert asked(probes, "/livez")[0] == "200 OK"
    assert asked(probes, "/healthz") == ("200 OK", b'{"status": "ok"}')
    assert asked(probes, "/healthz", "HEAD") == ("200 OK", b"")
    with pytest.raises(AssertionError, match="asked"):
        asked(probes, "/healthz", "POST")


def test_a_database_that_does_not_answer_is_not_waited_for(held: threading.Event) -> None:
    looks = []

    def look() -> health.HealthResponse:
        looks.append(1)
        held.wait(30)
        return 200, {"status": "ok"}

    readiness = ReadinessCheck(look)
    started = time.monotonic()
    assert readiness.get_response()[0] == 503
    for _ in range(20):  # of these nobody waits
        assert readiness.get_response() == health.build_no_database()
    assert time.monotonic() - started < 4
    assert len(looks) == 1
    held.set()


def test_an_answer_is_good_for_a_moment() -> None:
    looks = []

    def look() -> health.HealthResponse:
        looks.append(1)
        return 200, {}

    readiness = ReadinessCheck(look)
    for _ in range(20):
        readiness.get_response()
    assert len(looks) == 1
    readiness._started = -10.0
    readiness.get_response()
    assert len(looks) == 2
