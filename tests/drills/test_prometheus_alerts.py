"""`make drill`: each rule of deploy/alerts.yaml fires within 90 s of its fault, as a real Prometheus
evaluates it, scraping a real site as the file says.

Skipped where no `prometheus` is on the PATH (Debian: apt install prometheus; PROMETHEUS names
another program). It takes some ten minutes, for each fault is waited for.
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

from tests.agreement_site.server.conftest import BASE_DIR, free_port, wait_for
from tests.drills.site import Site, running_site

PROMETHEUS = os.environ.get("PROMETHEUS") or shutil.which("prometheus")
WITHIN = 90.0
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


class Prometheus:
    """A Prometheus that scrapes the site and evaluates the rules of deploy/."""

    def __init__(self, folder: Path, site: Site) -> None:
        configuration = folder / "prometheus.yml"
        rules = BASE_DIR / "deploy" / "alerts.yaml"
        configuration.write_text(
            CONFIGURATION.format(rules=rules, token=TOKEN, port=site.port), encoding="utf-8"
        )
        self.port = free_port()
        command = [str(PROMETHEUS), f"--config.file={configuration}"]
        command += [f"--storage.tsdb.path={folder / 'data'}"]
        command += [f"--web.listen-address=127.0.0.1:{self.port}"]
        with (folder / "log").open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_for(self.is_up, "Prometheus")

    def ask(self, path: str) -> Any:
        address = f"http://127.0.0.1:{self.port}/api/v1/{path}"
        with urllib.request.urlopen(address, timeout=10) as answer:
            return json.load(answer)["data"]

    def is_up(self) -> bool:
        try:
            return bool(self.ask("status/runtimeinfo"))
        except OSError:
            return False

    def firing(self) -> set[str]:
        alerts = self.ask("alerts")["alerts"]
        return {one["labels"]["alertname"] for one in alerts if one["state"] == "firing"}

    def wait_for_peace(self, *, but: set[str]) -> None:
        """Until nothing fires any more."""
        deadline = time.monotonic() + 300
        while self.firing() - but:
            assert time.monotonic() < deadline, self.firing()
            time.sleep(1)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with running_site(postgres=True, METRICS_TOKEN=TOKEN, SWEEP_SECONDS="2") as running:
        items = running.set_up(raters=RATERS, items=20)
        rate(running, items[:3])
        wait_for(running.is_quiet, "the first ratings to be counted")
        yield running


@pytest.fixture(scope="module")
def prometheus(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    running = Prometheus(tmp_path_factory.mktemp("prometheus"), site)
    try:
        time.sleep(35)  # two scrapes: without them there is nothing to compare with
        yield running
    finally:
        running.process.terminate()
        running.process.wait()


def rate(site: Site, items: list[str], label: str = "minor") -> None:
    body = [{"item": item, "rater": RATERS[0], "label": label} for item in items]
    with contextlib.suppress(AssertionError, OSError):  # refused, while it cannot be taken
        site.call("POST", site.at("ratings"), body)


def sql(site: Site, *statements: str) -> None:
    assert site.postgres is not None
    with psycopg.connect(site.postgres.url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


Undo = Callable[[], object]


def frozen(site: Site, word: str) -> Undo:
    pids = site.pids(word)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)

    def thaw() -> None:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)

    return thaw


def worker_is_frozen(site: Site) -> Undo:
    return frozen(site, "celery")


def nobody_counts(site: Site) -> Undo:
    undo = frozen(site, "celery")
    rate(site, ["item 5"])
    return undo


def web_is_frozen(site: Site) -> Undo:
    return frozen(site, "web_server")


def database_is_stopped(site: Site) -> Undo:
    assert site.postgres is not None
    site.postgres.stop_at_once()
    return site.postgres.start


def table_is_locked(site: Site) -> Undo:
    assert site.postgres is not None
    holder = psycopg.connect(site.postgres.url)
    holder.execute("LOCK TABLE ratings_rating IN ACCESS EXCLUSIVE MODE")
    return holder.close


def readings_cannot_be_made(site: Site) -> Undo:
    sql(site, "ALTER TABLE metrics_reading ADD CONSTRAINT broken CHECK (false) NOT VALID")
    rate(site, ["item 6"])
    return lambda: sql(site, "ALTER TABLE metrics_reading DROP CONSTRAINT broken")


def sweeps_fail(site: Site) -> Undo:
    sql(site, "ALTER TABLE metrics_worker RENAME TO metrics_worker_away")
    return lambda: sql(site, "ALTER TABLE metrics_worker_away RENAME TO metrics_worker")


def stored_counts_are_wrong(site: Site) -> Undo:
    """As an audit writes it down."""
    sql(
        site,
        "INSERT INTO metrics_auditresult (question_id, audited_at, ratings, differences, shown)"
        " SELECT id, now(), 3, 1, '[]' FROM projects_question ON CONFLICT (question_id)"
        " DO UPDATE SET differences = 1, audited_at = now()",
    )
    return lambda: sql(site, "UPDATE metrics_auditresult SET differences = 0")


def ratings_cannot_be_written(site: Site) -> Undo:
    """What a page needs is gone: each such request is answered 500."""
    sql(site, "ALTER TABLE ratings_revision RENAME TO ratings_revision_away")
    return lambda: sql(site, "ALTER TABLE ratings_revision_away RENAME TO ratings_revision")


def broker_takes_nothing(site: Site) -> Undo:
    with site.broker() as client:
        client.config_set("maxmemory", "1")

    def undo() -> None:
        with site.broker() as client:
            client.config_set("maxmemory", "0")

    return undo


FAULTS = [
    (stored_counts_are_wrong, "ConcordAuditDiffers"),
    (broker_takes_nothing, "ConcordHintsFail"),
    (sweeps_fail, "ConcordTasksFail"),
    (ratings_cannot_be_written, "ConcordErrors"),
    (database_is_stopped, "ConcordDatabaseAway"),
    (table_is_locked, "ConcordDatabaseAway"),
    (web_is_frozen, "ConcordDown"),
    (worker_is_frozen, "ConcordNoWorker"),
    (nobody_counts, "ConcordBehind"),
    (readings_cannot_be_made, "ConcordQuestionsFail"),
]
SLOW = {"ConcordTasksFail"}  # looks back five minutes, and so fires as long


@pytest.mark.parametrize(("fault", "alert"), FAULTS, ids=lambda one: getattr(one, "__name__", one))
def test_the_alert_fires_within_90_seconds(
    site: Site,
    prometheus: Prometheus,
    fault: Callable[[Site], Undo],
    alert: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    prometheus.wait_for_peace(but=SLOW - {alert} | {"ConcordDiskLow"})
    undo = fault(site)
    number = 0
    started = time.monotonic()
    try:
        while alert not in prometheus.firing():
            assert time.monotonic() - started < WITHIN, prometheus.firing()
            number += 1
            if fault in {broker_takes_nothing, ratings_cannot_be_written}:
                rate(site, [f"item {number % 20}"], ("minor", "major")[number // 20 % 2])
            time.sleep(0.5)
    finally:
        undo()
    with capsys.disabled():
        print(f"{fault.__name__:28} {alert:22} {time.monotonic() - started:6.1f} s")  # noqa: T201


def test_after_all_of_it_everything_is_exact(site: Site) -> None:
    wait_for(site.is_quiet, "everything to be counted")
    site.manage("audit")


def test_a_low_disk_fires(site: Site, prometheus: Prometheus) -> None:
    """The rule, on the disk that this machine has: whether it fires is what the metric says."""
    (found,) = prometheus.ask("query?query=concord_disk_free_bytes")["result"]
    low = float(found["value"][1]) < 1e9
    assert ("ConcordDiskLow" in prometheus.firing()) == low
