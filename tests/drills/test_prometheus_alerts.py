"""`make drill`: each rule of deploy/alerts.yaml fires within 90 s of its fault.

A real Prometheus scrapes a real site as the file says, and evaluates the rules. Skipped
where no `prometheus` is on the PATH (Debian: apt install prometheus; PROMETHEUS names
another program). It takes some ten minutes, because each fault is waited for.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.agreement_site.server.conftest import BASE_DIR, find_free_port, wait_for
from tests.drills.site import DrillSite, run_site

PROMETHEUS = os.environ.get("PROMETHEUS") or shutil.which("prometheus")
MAX_SECONDS = 90.0
TOKEN = "for-the-drill"
RATERS = ["ann"]

pytestmark = [
    pytest.mark.drill,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(PROMETHEUS is None, reason="no prometheus here"),
]

CONFIGURATION = """
global: {{scrape_interval: 15s, scrape_timeout: 10s, evaluation_interval: 15s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: concord
    authorization: {{credentials: {token}}}
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""


class PrometheusServer:
    """A Prometheus that scrapes the site and evaluates the rules of deploy/."""

    def __init__(self, folder: Path, site: DrillSite) -> None:
        configuration = folder / "prometheus.yml"
        rules = BASE_DIR / "deploy" / "alerts.yaml"
        configuration.write_text(
            CONFIGURATION.format(rules=rules, token=TOKEN, port=site.port), encoding="utf-8"
        )
        self.port = find_free_port()
        command = [str(PROMETHEUS), f"--config.file={configuration}"]
        command += [f"--storage.tsdb.path={folder / 'data'}"]
        command += [f"--web.listen-address=127.0.0.1:{self.port}"]
        with (folder / "log").open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_for(self.is_up, "Prometheus")

    def query(self, path: str) -> Any:
        address = f"http://127.0.0.1:{self.port}/api/v1/{path}"
        with urllib.request.urlopen(address, timeout=10) as response:
            return json.load(response)["data"]

    def is_up(self) -> bool:
        try:
            return bool(self.query("status/runtimeinfo"))
        except OSError:
            return False

    def list_firing(self) -> set[str]:
        alerts = self.query("alerts")["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    def wait_until_quiet(self, *, ignored: set[str]) -> None:
        """Wait until no alert fires any more, except those in ``ignored``."""
        deadline = time.monotonic() + 300
        while self.list_firing() - ignored:
            assert time.monotonic() < deadline, self.list_firing()
            time.sleep(1)


@pytest.fixture(scope="module")
def site() -> Iterator[DrillSite]:
    with run_site(postgres=True, METRICS_TOKEN=TOKEN, SWEEP_SECONDS="2") as running:
        items = running.create_project(raters=RATERS, items=20)
        send_ratings(running, items[:3])
        wait_for(running.is_quiet, "the first ratings to be counted")
        yield running


@pytest.fixture(scope="module")
def prometheus(
    site: DrillSite, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PrometheusServer]:
    running = PrometheusServer(tmp_path_factory.mktemp("prometheus"), site)
    try:
        time.sleep(35)  # two scrapes: without them there is nothing to compare with
        yield running
    finally:
        running.process.terminate()
        running.process.wait()


def send_ratings(site: DrillSite, items: list[str], label: str = "minor") -> None:
    body = [{"item": item, "rater": RATERS[0], "label": label} for item in items]
    with contextlib.suppress(AssertionError, OSError):  # rejected during some of the faults
        site.call_api("POST", site.build_path("ratings"), body)


def execute_sql(site: DrillSite, *statements: str) -> None:
    assert site.postgres is not None
    with psycopg.connect(site.postgres.url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


UndoFunction = Callable[[], object]


def freeze_processes(site: DrillSite, word: str) -> UndoFunction:
    pids = site.find_pids(word)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)

    def thaw() -> None:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)

    return thaw


def freeze_worker(site: DrillSite) -> UndoFunction:
    return freeze_processes(site, "celery")


def stop_counting(site: DrillSite) -> UndoFunction:
    undo = freeze_processes(site, "celery")
    send_ratings(site, ["item 5"])
    return undo


def freeze_web_server(site: DrillSite) -> UndoFunction:
    return freeze_processes(site, "web_server")


def stop_database(site: DrillSite) -> UndoFunction:
    assert site.postgres is not None
    site.postgres.stop_immediately()
    return site.postgres.start


def lock_table(site: DrillSite) -> UndoFunction:
    assert site.postgres is not None
    holder = psycopg.connect(site.postgres.url)
    holder.execute("LOCK TABLE ratings_rating IN ACCESS EXCLUSIVE MODE")
    return holder.close


def break_results(site: DrillSite) -> UndoFunction:
    execute_sql(site, "ALTER TABLE metrics_result ADD CONSTRAINT broken CHECK (false) NOT VALID")
    send_ratings(site, ["item 6"])
    return lambda: execute_sql(site, "ALTER TABLE metrics_result DROP CONSTRAINT broken")


def break_sweeps(site: DrillSite) -> UndoFunction:
    execute_sql(site, "ALTER TABLE metrics_worker RENAME TO metrics_worker_away")
    return lambda: execute_sql(site, "ALTER TABLE metrics_worker_away RENAME TO metrics_worker")


def store_audit_difference(site: DrillSite) -> UndoFunction:
    """Store a difference as an audit does."""
    execute_sql(
        site,
        "INSERT INTO metrics_auditresult (question_id, audited_at, n_ratings, n_differences, first_differences)"
        " SELECT id, now(), 3, 1, '[]' FROM projects_question ON CONFLICT (question_id)"
        " DO UPDATE SET n_differences = 1, audited_at = now()",
    )
    return lambda: execute_sql(site, "UPDATE metrics_auditresult SET differences = 0")


def break_rating_requests(site: DrillSite) -> UndoFunction:
    """Remove a table that each rating needs, so that such requests are answered with 500."""
    execute_sql(site, "ALTER TABLE ratings_revision RENAME TO ratings_revision_away")
    return lambda: execute_sql(site, "ALTER TABLE ratings_revision_away RENAME TO ratings_revision")


def fill_broker(site: DrillSite) -> UndoFunction:
    with site.connect_to_broker() as client:
        client.config_set("maxmemory", "1")

    def undo() -> None:
        with site.connect_to_broker() as client:
            client.config_set("maxmemory", "0")

    return undo


FAULTS = [
    (store_audit_difference, "ConcordAuditDiffers"),
    (fill_broker, "ConcordTaskMessagesFail"),
    (break_sweeps, "ConcordTasksFail"),
    (break_rating_requests, "ConcordErrors"),
    (stop_database, "ConcordDatabaseAway"),
    (lock_table, "ConcordDatabaseAway"),
    (freeze_web_server, "ConcordDown"),
    (freeze_worker, "ConcordNoWorker"),
    (stop_counting, "ConcordBehind"),
    (break_results, "ConcordQuestionsFail"),
]
SLOW_ALERTS = {"ConcordTasksFail"}  # its window is five minutes, so it fires that long


@pytest.mark.parametrize(("fault", "alert"), FAULTS, ids=lambda x: getattr(x, "__name__", x))
def test_the_alert_fires_within_90_seconds(
    site: DrillSite,
    prometheus: PrometheusServer,
    fault: Callable[[DrillSite], UndoFunction],
    alert: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    prometheus.wait_until_quiet(ignored=SLOW_ALERTS - {alert} | {"ConcordDiskLow"})
    undo = fault(site)
    number = 0
    started = time.monotonic()
    try:
        while alert not in prometheus.list_firing():
            assert time.monotonic() - started < MAX_SECONDS, prometheus.list_firing()
            number += 1
            if fault in {fill_broker, break_rating_requests}:
                send_ratings(site, [f"item {number % 20}"], ("minor", "major")[number // 20 % 2])
            time.sleep(0.5)
    finally:
        undo()
    with capsys.disabled():
        print(f"{fault.__name__:28} {alert:22} {time.monotonic() - started:6.1f} s")  # noqa: T201


def test_counts_are_exact_after_all_faults(site: DrillSite) -> None:
    wait_for(site.is_quiet, "everything to be counted")
    site.run_manage("audit")


def test_disk_alert_follows_the_metric(site: DrillSite, prometheus: PrometheusServer) -> None:
    """The alert fires if and only if the metric of this machine's disk is low."""
    (sample,) = prometheus.query("query?query=concord_disk_free_bytes")["result"]
    is_low = float(sample["value"][1]) < 1e9
    assert ("ConcordDiskLow" in prometheus.list_firing()) == is_low
