"""/metrics, and the rules and the board that read it."""

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
from metrics.models import AuditResult
from tests.deployment import DEPLOY

pytestmark = pytest.mark.django_db

TOKEN = "a token for tests"


@pytest.fixture
def scraped(settings: Any, client: Client) -> Any:
    """Name and labels of a sample -> its value."""
    settings.METRICS_TOKEN = TOKEN

    def scrape() -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
        answer = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
        assert answer.status_code == 200
        found = {}
        for family in text_string_to_metric_families(answer.content.decode()):
            for sample in family.samples:
                found[sample.name, frozenset(sample.labels.items())] = sample.value
        return found

    return scrape


def of(found: dict[Any, float], name: str, **labels: str) -> float:
    return found.get((f"concord_{name}", frozenset(labels.items())), 0.0)


@pytest.mark.parametrize("given", [None, "Bearer wrong", TOKEN, "Bearer ä"])
def test_without_its_token_there_is_nothing(
    client: Client, settings: Any, given: str | None
) -> None:
    headers = {"Authorization": given} if given else {}
    assert client.get("/metrics", headers=headers).status_code == 404
    settings.METRICS_TOKEN = TOKEN
    answer = client.get("/metrics", headers=headers)
    assert (answer.status_code, b"concord_" in answer.content) == (401, False)


def test_requests_are_counted_by_route_and_status(
    scraped: Any, project: Any, client_for: Any, lead: Any
) -> None:
    before = scraped()
    for path in (
        f"/projects/{project.pk}/",
        f"/projects/{project.pk}/",
        "/projects/99999/",
        "/nowhere/",
    ):
        client_for(lead).get(path)
    after = scraped()

    def more(route: str, status: str) -> float:
        labels = {"route": route, "method": "GET", "status": status}
        return of(after, "requests_total", **labels) - of(before, "requests_total", **labels)

    assert (more("dashboard", "200"), more("dashboard", "404"), more("none", "404")) == (2, 1, 1)
    timed = of(after, "request_seconds_count", route="dashboard") - of(
        before, "request_seconds_count", route="dashboard"
    )
    assert timed == 3


def test_what_the_database_says(scraped: Any, question: Any, rate: Any) -> None:
    rate(question, "i1", "ann", "minor")
    rate(question, "i1", "ann", "major")
    found = scraped()
    assert of(found, "uncounted_ratings") == 1
    assert of(found, "ratings_taken") >= 2
    assert of(found, "database_up") == 1
    assert of(found, "oldest_unseen_seconds") > 0
    assert ("concord_last_sweep_seconds", frozenset()) not in found
    tasks.sweep_all()
    AuditResult.objects.update(differences=3)
    found = scraped()
    assert of(found, "uncounted_ratings") == 0
    assert 0 < of(found, "last_sweep_seconds") < 60
    assert of(found, "audit_differing_questions") == 1


def test_a_database_that_is_away_is_said(scraped: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OperationalError("away")

    monkeypatch.setattr(monitoring_prometheus, "_query_gauges", fail)
    found = scraped()
    assert found["concord_database_up", frozenset()] == 0
    assert of(found, "disk_free_bytes") > 0


def test_hints_that_fail_are_counted(
    scraped: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: Any, **_more: Any) -> None:
        raise ConnectionError

    settings.REDIS_URL = "redis://nowhere"
    monkeypatch.setattr(current_app, "send_task", fail)
    monkeypatch.setattr(dispatch, "_paused_until", 0.0)
    before = of(scraped(), "hints_failed_total")
    dispatch.start_task("any", 1)
    monkeypatch.setattr(dispatch, "_paused_until", 0.0)
    assert of(scraped(), "hints_failed_total") == before + 1


def test_sweeps_are_timed_and_their_failures_counted(
    scraped: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SWEEP_SECONDS = 0.01
    path = "agreement_site.housekeeping.sweep"
    sweeper = Sweeper(None)
    before = scraped()

    def fail() -> None:
        sweeper.stop_event.set()
        raise RuntimeError

    monkeypatch.setattr(housekeeping, "sweep", fail)
    monkeypatch.setattr("django.db.close_old_connections", lambda: None)  # it is the test's
    sweeper.run(path)
    after = scraped()
    for name in ("tasks_failed_total", "task_seconds_count"):
        assert of(after, name, task=path) == of(before, name, task=path) + 1


def test_processes_are_added_up_and_forgotten(tmp_path: Path) -> None:
    """Two processes of a machine, one of which has ended."""
    count = "from core.web.prometheus import HINTS_FAILED; HINTS_FAILED.inc(2)"
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    for _ in range(2):
        subprocess.run([sys.executable, "-c", count], env=environment, check=True)
    add = (
        "from prometheus_client import CollectorRegistry\n"
        "from prometheus_client.multiprocess import MultiProcessCollector\n"
        "r = CollectorRegistry(); MultiProcessCollector(r)\n"
        "print(r.get_sample_value('concord_hints_failed_total'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", add], env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout == "4.0\n"
    living = tmp_path / f"counter_{os.getpid()}.db"
    living.touch()
    monitoring_prometheus.remove_dead_process_files(tmp_path)
    assert list(tmp_path.iterdir()) == [living]


# --- deploy/


def names_in(text: str) -> set[str]:
    return set(re.findall(r"\bconcord_\w+", text))


@pytest.fixture
def known(scraped: Any, question: Any, rate: Any) -> set[str]:
    """Every name that /metrics ever says."""
    from core.web import prometheus

    tasks.sweep_all()
    AuditResult.objects.create(
        question=question, audited_at=timezone.now(), ratings=1, differences=0
    )
    prometheus.TASKS_FAILED.labels("x").inc(0)
    prometheus.TASK_SECONDS.labels("x").observe(0)
    return {name for name, _labels in scraped()}


def test_rules_ask_for_what_is_there(known: set[str]) -> None:
    rules = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"][0]["rules"]
    assert len(rules) >= 8
    for rule in rules:
        assert names_in(rule["expr"]) <= known, rule["alert"]
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["annotations"]["summary"]


def test_the_board_asks_for_what_is_there(known: set[str]) -> None:
    board = json.loads((DEPLOY / "grafana.json").read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert len(asked) >= 12
    for expression in asked:
        assert names_in(expression) and names_in(expression) <= known, expression
