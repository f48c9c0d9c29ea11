"""Tests of /metrics, and of the alert rules and the dashboard that use it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from celery import current_app
from django.db import OperationalError
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from agreement_site import housekeeping
from agreement_site.celery import Sweeper
from agreement_site.monitoring import prometheus as monitoring_prometheus
from core.jobs import dispatch
from metrics import tasks
from metrics.integrity import schedule
from metrics.models import AuditResult
from tests.deployment import DEPLOY

pytestmark = pytest.mark.django_db

TOKEN = "a token for tests"


@pytest.fixture
def scrape_metrics(settings: Any, client: Client) -> Any:
    """Return a function that reads /metrics as (name, labels) -> value."""
    settings.METRICS_TOKEN = TOKEN

    def scrape() -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
        response = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
        assert response.status_code == 200
        values = {}
        for family in text_string_to_metric_families(response.content.decode()):
            for sample in family.samples:
                values[sample.name, frozenset(sample.labels.items())] = sample.value
        return values

    return scrape


def get_value(samples: dict[Any, float], name: str, **labels: str) -> float:
    """Return the value of a sample, or 0."""
    return samples.get((f"concord_{name}", frozenset(labels.items())), 0.0)


def test_metrics_are_not_sent_without_tls(client: Client, settings: Any) -> None:
    settings.METRICS_TOKEN, settings.HTTPS = TOKEN, True
    headers = {"Authorization": f"Bearer {TOKEN}"}
    response = client.get("/metrics", headers=headers)
    assert (response.status_code, b"concord_" in response.content) == (403, False)
    assert client.get("/metrics", headers=headers, secure=True).status_code == 200


@pytest.mark.parametrize("authorization", [None, "Bearer wrong", TOKEN, "Bearer ä"])
def test_metrics_require_their_token(
    client: Client, settings: Any, authorization: str | None
) -> None:
    headers = {"Authorization": authorization} if authorization else {}
    assert client.get("/metrics", headers=headers).status_code == 404
    settings.METRICS_TOKEN = TOKEN
    response = client.get("/metrics", headers=headers)
    assert (response.status_code, b"concord_" in response.content) == (401, False)


def test_requests_are_counted_by_route_and_status(
    scrape_metrics: Any, project: Any, client_for: Any, lead: Any
) -> None:
    before = scrape_metrics()
    for path in (
        f"/projects/{project.pk}/",
        f"/projects/{project.pk}/",
        "/projects/99999/",
        "/nowhere/",
    ):
        client_for(lead).get(path)
    after = scrape_metrics()

    def count_new_requests(route: str, status: str) -> float:
        labels = {"route": route, "method": "GET", "status": status}
        return get_value(after, "requests_total", **labels) - get_value(
            before, "requests_total", **labels
        )

    assert (
        count_new_requests("dashboard", "200"),
        count_new_requests("dashboard", "404"),
        count_new_requests("none", "404"),
    ) == (2, 1, 1)
    timed = get_value(after, "request_seconds_count", route="dashboard") - get_value(
        before, "request_seconds_count", route="dashboard"
    )
    assert timed == 3


def test_metrics_from_the_database(scrape_metrics: Any, question: Any, rate: Any) -> None:
    rate(question, "i1", "ann", "minor")
    rate(question, "i1", "ann", "major")
    samples = scrape_metrics()
    assert get_value(samples, "uncounted_ratings") == 1
    assert get_value(samples, "rating_changes") >= 2
    assert get_value(samples, "database_up") == 1
    assert get_value(samples, "oldest_change_seconds") > 0
    assert ("concord_last_sweep_seconds", frozenset()) not in samples
    tasks.sweep_all()
    schedule.run_due_audits()
    AuditResult.objects.update(n_differences=3)
    samples = scrape_metrics()
    assert get_value(samples, "uncounted_ratings") == 0
    assert 0 < get_value(samples, "last_sweep_seconds") < 60
    assert get_value(samples, "audit_differing_questions") == 1


def test_unavailable_database_is_reported(
    scrape_metrics: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OperationalError("away")

    monkeypatch.setattr(monitoring_prometheus, "_query_gauges", fail)
    samples = scrape_metrics()
    assert samples["concord_database_up", frozenset()] == 0
    assert get_value(samples, "disk_free_bytes") > 0


def test_failed_task_messages_are_counted(
    scrape_metrics: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: Any, **_more: Any) -> None:
        raise ConnectionError

    settings.REDIS_URL = "redis://nowhere"
    monkeypatch.setattr(current_app, "send_task", fail)
    monkeypatch.setattr(dispatch, "_paused_until", 0.0)
    before = get_value(scrape_metrics(), "task_messages_failed_total")
    dispatch.start_task("any", 1)
    monkeypatch.setattr(dispatch, "_paused_until", 0.0)
    assert get_value(scrape_metrics(), "task_messages_failed_total") == before + 1


def test_sweeps_are_timed_and_their_failures_counted(
    scrape_metrics: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SWEEP_SECONDS = 0.01
    path = "agreement_site.housekeeping.run_due_housekeeping"
    sweeper = Sweeper(None)
    before = scrape_metrics()

    def fail() -> None:
        sweeper.stop_event.set()
        raise RuntimeError

    monkeypatch.setattr(housekeeping, "run_due_housekeeping", fail)
    monkeypatch.setattr(
        "django.db.close_old_connections", lambda: None
    )  # the connection is the test's
    sweeper.run(path)
    after = scrape_metrics()
    for name in ("tasks_failed_total", "task_seconds_count"):
        assert get_value(after, name, task=path) == get_value(before, name, task=path) + 1


def test_metrics_of_processes_are_added_and_cleaned_up(tmp_path: Path) -> None:
    """Two processes of a machine have ended, and one is alive."""
    count_script = "from core.telemetry import TASK_MESSAGES_FAILED; TASK_MESSAGES_FAILED.inc(2)"
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    for _ in range(2):
        subprocess.run([sys.executable, "-c", count_script], env=environment, check=True)
    sum_script = (
        "from prometheus_client import CollectorRegistry\n"
        "from prometheus_client.multiprocess import MultiProcessCollector\n"
        "r = CollectorRegistry(); MultiProcessCollector(r)\n"
        "print(r.get_sample_value('concord_task_messages_failed_total'))"
    )
    process = subprocess.run(
        [sys.executable, "-c", sum_script],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    assert process.stdout == "4.0\n"
    live_file = tmp_path / f"counter_{os.getpid()}.db"
    live_file.touch()
    monitoring_prometheus.remove_dead_process_files(tmp_path)
    assert list(tmp_path.iterdir()) == [live_file]


# --- files of deploy/


def find_metric_names(text: str) -> set[str]:
    return set(re.findall(r"\bconcord_\w+", text))


@pytest.fixture
def metric_names(scrape_metrics: Any, question: Any, rate: Any) -> set[str]:
    """Return every metric name that /metrics can contain."""
    from core import telemetry

    tasks.sweep_all()
    AuditResult.objects.create(
        question=question, audited_at=timezone.now(), n_ratings=1, n_differences=0
    )
    telemetry.TASKS_FAILED.labels("x").inc(0)
    telemetry.TASK_SECONDS.labels("x").observe(0)
    return {name for name, _labels in scrape_metrics()}


def test_alert_rules_use_existing_metrics(metric_names: set[str]) -> None:
    rules = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"][0]["rules"]
    assert len(rules) >= 8
    for rule in rules:
        assert find_metric_names(rule["expr"]) <= metric_names, rule["alert"]
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["annotations"]["summary"]


def test_dashboard_uses_existing_metrics(metric_names: set[str]) -> None:
    dashboard = json.loads((DEPLOY / "grafana.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(expressions) >= 12
    for expression in expressions:
        assert find_metric_names(expression) and find_metric_names(expression) <= metric_names, (
            expression
        )
