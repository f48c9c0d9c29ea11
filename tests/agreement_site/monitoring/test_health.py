"""Tests of liveness and readiness checks, above all when something is broken."""

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
from agreement_site.models import StaleQuestion
from agreement_site.monitoring import health
from agreement_site.monitoring.health import HealthProbes, ReadinessCheck
from metrics.jobs.question_updates import update_question
from metrics.models import CountState
from metrics.results import refresh
from ratings.models import Rating

pytestmark = pytest.mark.django_db


def get_health(client: Client) -> dict[str, Any]:
    """Assert that the site is ready and return the content of /healthz."""
    response = client.get("/healthz")
    assert response.status_code == 200
    return response.json()


def test_liveness_check_needs_no_query(client: Client, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        response = client.get("/livez")
    assert (response.status_code, response.json()["status"]) == (200, "alive")


def test_both_checks_contain_the_release(client: Client) -> None:
    for path in ("/livez", "/healthz"):
        assert client.get(path).json()["release"] == releases.get_release()
    assert releases.get_release().startswith("0.")


# --- changes that no result includes


@pytest.fixture
def stuck_question(question: Any, rate: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a question with a counted change whose results cannot be computed."""
    rate(question, "i1", "ann", "minor")
    rate(question, "i1", "ben", "minor")
    update_question(question.pk)
    long_ago = timezone.now() - datetime.timedelta(days=1)
    CountState.objects.update(refreshed_at=long_ago)

    def fail(*_arguments: Any, **_more: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(refresh, "refresh_results", fail)
    rate(question, "i1", "ann", "major")
    with pytest.raises(RuntimeError):
        update_question(question.pk)
    assert not Rating.objects.uncounted().exists()
    return question


def test_counted_change_without_result_has_an_age(stuck_question: Any, client: Client) -> None:
    before = get_health(client)
    assert (before["uncounted"], before["late_questions"]) == (1, 0)
    StaleQuestion.objects.update(since=timezone.now() - datetime.timedelta(seconds=90))
    after = get_health(client)
    assert 90 <= after["oldest_uncounted_seconds"] < 100
    assert after["late_questions"] == 1


def test_sweep_records_stale_questions(stuck_question: Any) -> None:
    housekeeping.run_due_housekeeping()
    assert StaleQuestion.objects.get().question == stuck_question


def test_age_of_a_stale_question_restarts_after_a_result(stuck_question: Any) -> None:
    now = timezone.now()
    health.record_and_measure_lag(now - datetime.timedelta(seconds=300))
    assert health.record_and_measure_lag(now).n_late == 1
    CountState.objects.update(refreshed_at=now - datetime.timedelta(seconds=30))
    assert health.record_and_measure_lag(now).oldest == now
    CountState.objects.update(unrefreshed=0)
    assert health.record_and_measure_lag(now) == health.ResultLag(0, 0, None, frozenset())
    assert not StaleQuestion.objects.exists()


def test_question_without_changes_has_no_age(stuck_question: Any, client: Client) -> None:
    assert get_health(client)["oldest_uncounted_seconds"] < 5


def test_uncounted_question_is_reported_as_late(question: Any, rate: Any, client: Client) -> None:
    rate(question, "i1", "ann", "minor")
    assert get_health(client)["late_questions"] == 0
    Rating.objects.update(changed_at=timezone.now() - datetime.timedelta(seconds=90))
    assert get_health(client)["late_questions"] == 1


# --- not ready for requests


def get_failure_message(client: Client, status: str) -> str:
    """Assert that the site is not ready for this reason and return the message."""
    response = client.get("/healthz")
    assert (response.status_code, response.json()["status"]) == (503, status)
    return response.json()["message"]


def test_older_schema_is_reported(client: Client) -> None:
    MigrationRecorder(connection).record_unapplied("ratings", "0001_initial")
    assert "ratings.0001_initial is not applied" in get_failure_message(client, "release")
    with pytest.raises(SystemExit, match="older release"):
        releases.exit_on_schema_mismatch()


def test_newer_schema_is_reported(client: Client) -> None:
    MigrationRecorder(connection).record_applied("ratings", "9999_from_the_future")
    assert "does not know ratings.9999_from_the_future" in get_failure_message(client, "release")
    with pytest.raises(SystemExit, match="newer release"):
        releases.exit_on_schema_mismatch()


def test_migrations_of_removed_apps_are_ignored() -> None:
    MigrationRecorder(connection).record_applied("taken_away", "0001_initial")
    assert releases.describe_schema_mismatch() is None


@pytest.fixture
def no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every query fail."""

    def fail(*_arguments: Any, **_more: Any) -> None:
        raise OperationalError("connection to server failed: secret.example")

    monkeypatch.setattr("django.db.backends.base.base.BaseDatabaseWrapper.cursor", fail)


def test_unavailable_database_is_reported(client: Client, no_database: None) -> None:
    assert "secret" not in get_failure_message(client, "database")
    releases.exit_on_schema_mismatch()  # the schema is unknown, so the program starts


@pytest.mark.sqlite_only("PostgreSQL has a disk of its own")
def test_full_disk_is_reported(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "get_free_bytes", lambda: 1000)
    assert "disk" in get_failure_message(client, "disk")


@pytest.mark.parametrize("path", ["/", "/projects/1/", "/sign-in/", "/projects/1/rate/"])
def test_pages_report_an_unavailable_database(
    lead: Any, client_for: Any, request: Any, path: str
) -> None:
    client = client_for(lead)
    client.raise_request_exception = False
    request.getfixturevalue("no_database")
    response = client.get(path, headers={"Accept-Language": "zh-hans"})
    if path == "/sign-in/" and response.status_code == 200:
        return  # needs no query
    assert (response.status_code, response["Retry-After"]) == (503, "2")
    assert "数据库暂时不可用" in response.content.decode()


def test_api_reports_an_unavailable_database(lead: Any, api_for: Any, request: Any) -> None:
    client = api_for(lead)
    client.raise_request_exception = False
    request.getfixturevalue("no_database")
    response = client.get("/api/v1/projects/")
    assert (response.status_code, response.json()["error"]["code"]) == (503, "unavailable")


# --- probes in front of the site


def call_wsgi(site: Callable[..., Any], path: str, method: str = "GET") -> tuple[str, bytes]:
    """Return status and content of a WSGI application's response."""
    start_arguments: list[Any] = []
    request = {"PATH_INFO": path, "REQUEST_METHOD": method, "HTTP_HOST": "10.1.2.3"}
    content = b"".join(site(request, lambda *parts: start_arguments.extend(parts)))
    return start_arguments[0], content


@pytest.fixture
def database_release() -> Iterator[threading.Event]:
    """Return an event; until it is set, the health check gets no result from the database."""
    release = threading.Event()
    yield release
    release.set()


def test_probes_bypass_request_limit_and_host_check(database_release: threading.Event) -> None:
    def site(*_arguments: Any) -> Any:
        raise AssertionError("asked")

    probes = HealthProbes(site)
    probes._checks["/healthz"] = ReadinessCheck(lambda: (200, {"status": "ok"})).get_response
    assert call_wsgi(probes, "/livez")[0] == "200 OK"
    assert call_wsgi(probes, "/healthz") == ("200 OK", b'{"status": "ok"}')
    assert call_wsgi(probes, "/healthz", "HEAD") == ("200 OK", b"")
    with pytest.raises(AssertionError, match="asked"):
        call_wsgi(probes, "/healthz", "POST")


def test_hanging_database_does_not_delay_probes(database_release: threading.Event) -> None:
    calls = []

    def check_database() -> health.HealthResponse:
        calls.append(1)
        database_release.wait(30)
        return 200, {"status": "ok"}

    readiness = ReadinessCheck(check_database)
    started = time.monotonic()
    assert readiness.get_response()[0] == 503
    for _ in range(20):  # none of these waits
        assert readiness.get_response() == health.build_no_database()
    assert time.monotonic() - started < 4
    assert len(calls) == 1
    database_release.set()


def test_result_of_a_check_is_reused_briefly() -> None:
    calls = []

    def check_database() -> health.HealthResponse:
        calls.append(1)
        return 200, {}

    readiness = ReadinessCheck(check_database)
    for _ in range(20):
        readiness.get_response()
    assert len(calls) == 1
    readiness._started = -10.0
    readiness.get_response()
    assert len(calls) == 2
