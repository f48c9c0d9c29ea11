"""Tests of the commands of deploy/systemd, run as systemd runs them.

Web server and worker are separate and use PostgreSQL and a broker.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests import database_templates, deployment
from tests.agreement_site.server.conftest import ServicesInstallation, wait_for
from tests.deployment import BASE_DIR, DEPLOY

pytestmark = pytest.mark.services

# Each test process has its own database.
DATABASE_NAME = f"units_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"


class UnitProcesses:
    """Processes of the two units: web server and worker."""

    def __init__(self, installation: ServicesInstallation, overrides: dict[str, str]) -> None:
        self.installation = installation
        # As systemd sets it: deploy/environment with another host and database, and nothing of the
        # test's environment.
        self.environment = {
            "PATH": os.environ["PATH"],
            **deployment.read_environment(),
            "DATA_DIR": str(installation.data_dir),
            "PORT": str(installation.port),
            "HTTPS": "0",
            "ALLOWED_HOSTS": "127.0.0.1",
            "LOG_FORMAT": "json",
            **overrides,
        }
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        """Run the unit's preparing commands and start its program."""
        unit = deployment.read_unit(DEPLOY / "systemd" / name)
        environment = {**self.environment, **unit.environment}
        for command in unit.start_pre_commands:
            subprocess.run(
                self.expand_command(command, environment), env=environment, cwd=BASE_DIR, check=True
            )
        with self.get_log_path(name).open("wb") as output:
            self.processes[name] = subprocess.Popen(
                self.expand_command(unit.command, environment),
                env=environment,
                cwd=BASE_DIR,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def expand_command(self, command: list[str], environment: dict[str, str]) -> list[str]:
        """Return the command as systemd would expand it, with this checkout's Python."""
        words = [word.replace("%%", "%").replace("%i", "1") for word in command[1:]]
        for name, value in environment.items():
            words = [word.replace(f"${{{name}}}", value) for word in words]
        return [sys.executable, *words]

    def get_log_path(self, name: str) -> Path:
        return self.installation.data_dir / f"{name}.log"

    def run_command(self, *arguments: str) -> str:
        """Run a management command and return its output."""
        process = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            env=self.environment,
            cwd=BASE_DIR,
            capture_output=True,
            text=True,
            check=True,
        )
        return process.stdout


@pytest.fixture(scope="module")
def units(
    new_installation: Callable[[], ServicesInstallation], broker_url: str
) -> Iterator[UnitProcesses]:
    """Return the running units, which the tests of the module share."""
    server = os.environ.get("TEST_POSTGRES_URL")
    if not server:
        pytest.skip("no PostgreSQL: `make test` starts one")
    overrides = {
        "DATABASE_URL": database_templates.create_database(server, DATABASE_NAME),
        "REDIS_URL": broker_url,
        "METRICS_TOKEN": "scraper",
        "BROKER_PREFIX": f"{DATABASE_NAME}:",
    }
    unit_processes = UnitProcesses(new_installation(), overrides)
    unit_processes.start("concord-web.service")
    unit_processes.start("concord-worker@.service")
    wait_for(lambda: unit_processes.installation.get_status() == 200, "an answer of the web server")
    yield unit_processes
    for process in unit_processes.processes.values():
        process.kill()
        process.wait()


def test_rating_sent_to_the_web_server_is_counted_by_the_worker(units: UnitProcesses) -> None:
    token = units.run_command("create_token", "lead").strip()

    def call_api(method: str, path: str, body: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", units.installation.port, timeout=60)
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "X-Request-ID": "edge-1",
        }
        connection.request(method, f"/api/v1/projects/{path}", json.dumps(body), headers)
        response = connection.getresponse()
        content = json.loads(response.read())
        connection.close()
        assert response.status < 300, content
        assert response.headers["X-Request-ID"] == "edge-1"
        return content

    question = {
        "key": "q",
        "text": "?",
        "scale": "nominal",
        "categories": [{"label": "a"}, {"label": "b"}],
    }
    project = call_api("POST", "", {"name": "Units", "questions": [question]})["id"]
    call_api("POST", f"{project}/items/", [{"key": "i", "body": {"text": "i"}}])
    call_api("POST", f"{project}/raters/", [{"key": "r"}, {"key": "s"}])
    call_api(
        "POST",
        f"{project}/ratings/",
        [{"item": "i", "rater": rater, "label": "a"} for rater in "rs"],
    )
    wait_for(
        lambda: call_api("GET", f"{project}/agreement/")["ratings"] == 2, "the worker's counting"
    )
    wait_for(lambda: "exact" in units.run_command("audit"), "a clean audit")


def test_both_units_log_json_lines(units: UnitProcesses) -> None:
    wait_for(
        lambda: b'"message": "request"' in units.get_log_path("concord-web.service").read_bytes(),
        "a line of a request",
    )
    lines = units.get_log_path("concord-web.service").read_text().splitlines()
    requests = [line for line in map(json.loads, lines) if line["message"] == "request"]
    assert all({"request_id", "method", "path", "status", "ms"} <= set(line) for line in requests)
    assert all(
        json.loads(line)["level"]
        for line in units.get_log_path("concord-worker@.service").read_text().splitlines()
    )


@contextlib.contextmanager
def connect_to_database(units: UnitProcesses) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(units.environment["DATABASE_URL"], autocommit=True) as connection:
        yield connection


def send_probe(units: UnitProcesses, path: str, host: str = "10.1.2.3") -> tuple[int, Any, float]:
    """Return status, body and seconds of a probe that calls the site by its address."""
    started = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", units.installation.port, timeout=60)
    connection.request("GET", path, headers={"Host": host})
    response = connection.getresponse()
    content = json.loads(response.read())
    connection.close()
    return response.status, content, time.monotonic() - started


def test_metrics_sum_web_server_and_worker(units: UnitProcesses) -> None:
    """Sums never decrease, whichever process responds, and the worker's values are included."""

    def scrape() -> str:
        connection = http.client.HTTPConnection("127.0.0.1", units.installation.port, timeout=60)
        headers = {"Host": "127.0.0.1", "Authorization": "Bearer scraper"}
        connection.request("GET", "/metrics", headers=headers)
        response = connection.getresponse()
        assert response.status == 200
        content = response.read().decode()
        connection.close()
        return content

    def count_scrapes() -> float:
        values = re.findall(r'concord_requests_total\{.*route="metrics".*\} (\S+)', scrape())
        return sum(map(float, values))

    request_counts = [count_scrapes() for _ in range(8)]
    assert request_counts == list(range(int(request_counts[0]), int(request_counts[0]) + 8))
    sweep = 'concord_task_seconds_count{task="metrics.tasks.sweep_all"}'
    wait_for(lambda: sweep in scrape(), "the worker's sweep")


def test_database_connections_name_their_program(units: UnitProcesses) -> None:
    with connect_to_database(units) as database:
        rows = database.execute(
            "SELECT DISTINCT application_name FROM pg_stat_activity WHERE datname = %s",
            [DATABASE_NAME],
        ).fetchall()
    assert {("concord web",), ("concord worker",)} <= set(rows)


def test_probes_respond_while_a_table_is_locked(units: UnitProcesses) -> None:
    """They respond to any host name within two seconds, even when all slots wait for the table."""
    assert send_probe(units, "/healthz")[:1] == (200,)
    with connect_to_database(units) as database, database.transaction():
        database.execute("LOCK TABLE ratings_rating, ratings_uncounteditem")
        # A recent result is reused for a moment.
        wait_for(lambda: send_probe(units, "/healthz")[0] == 503, "the lock")
        status, content, seconds = send_probe(units, "/healthz")
        assert (status, content["status"]) == (503, "database")
        assert seconds < 3
        assert send_probe(units, "/livez")[0] == 200
    wait_for(lambda: send_probe(units, "/healthz")[0] == 200, "the table")


def test_web_server_sets_a_lock_timeout(units: UnitProcesses) -> None:
    with connect_to_database(units) as database:
        web = database.execute(
            "SELECT 1 FROM pg_stat_activity WHERE application_name = 'concord web'"
        ).fetchone()
        assert web is not None
    environment = {**units.environment, "PYTHONPATH": str(BASE_DIR)}
    script = (
        "import sys; sys.argv = [sys.argv[1]]\n"
        "import django; django.setup()\n"
        "from django.db import connection\n"
        "c = connection.cursor(); c.execute('SHOW lock_timeout'); print(c.fetchone()[0])\n"
    )
    for argument, expected in (("web_server.py", "5s"), ("other.py", "0")):
        process = subprocess.run(
            [sys.executable, "-c", script, argument],
            env={**environment, "DJANGO_SETTINGS_MODULE": "agreement_site.settings"},
            cwd=BASE_DIR, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert process.stdout.strip() == expected


def test_programs_of_another_release_stop(units: UnitProcesses) -> None:
    """A starting program exits, a running worker ends, and the health check reports the release."""
    insert_sql = (
        "INSERT INTO django_migrations (app, name, applied) VALUES ('ratings', '9999_x', now())"
    )
    worker = units.processes["concord-worker@.service"]
    with connect_to_database(units) as database:
        database.execute(insert_sql)
        try:
            wait_for(lambda: send_probe(units, "/healthz")[1]["status"] == "release", "the site")
            wait_for(lambda: worker.poll() is not None, "the worker's end")
            for name in ("concord-worker@.service", "concord-web.service"):
                unit = deployment.read_unit(DEPLOY / "systemd" / name)
                environment = {**units.environment, **unit.environment, "PORT": "0"}
                process = subprocess.run(
                    units.expand_command(unit.command, environment),
                    env=environment, cwd=BASE_DIR, capture_output=True, text=True, timeout=60, check=False,
                )  # fmt: skip
                assert process.returncode == 1, process.stderr
                assert "newer release" in process.stderr.splitlines()[-1]
        finally:
            database.execute("DELETE FROM django_migrations WHERE name = '9999_x'")
    assert "This worker ends." in units.get_log_path("concord-worker@.service").read_text()
    units.start("concord-worker@.service")
    worker_name = f"worker1@%:{units.processes['concord-worker@.service'].pid}"
    with connect_to_database(units) as database:
        worker_sql = "SELECT 1 FROM metrics_worker WHERE name LIKE %s"
        wait_for(
            lambda: database.execute(worker_sql, [worker_name]).fetchone(), "the new worker's sweep"
        )


def test_both_units_stop_on_sigterm(units: UnitProcesses) -> None:
    """This is the last test of the shared units, because it ends them."""
    for process in units.processes.values():
        process.send_signal(signal.SIGTERM)
    assert [process.wait(timeout=60) for process in units.processes.values()] == [0, 0]
