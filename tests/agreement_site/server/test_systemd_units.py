"""The commands of deploy/systemd, run as systemd runs them: web server and worker apart, on
PostgreSQL and a broker."""

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
from tests.agreement_site.server.conftest import Installation, wait_for
from tests.deployment import BASE_DIR, DEPLOY

pytestmark = pytest.mark.services

# Each test process has its own.
DATABASE = f"units_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"


class Units:
    """The two units of a machine that has web server and workers apart."""

    def __init__(self, installation: Installation, given: dict[str, str]) -> None:
        self.installation = installation
        # What systemd hands over: deploy/environment, for another host and database, and nothing of
        # ours.
        self.environment = {
            "PATH": os.environ["PATH"],
            **deployment.environment(),
            "DATA_DIR": str(installation.data_dir),
            "PORT": str(installation.port),
            "HTTPS": "0",
            "ALLOWED_HOSTS": "127.0.0.1",
            "LOG_FORMAT": "json",
            **given,
        }
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        unit = deployment.unit(DEPLOY / "systemd" / name)
        environment = {**self.environment, **unit.environment}
        for command in unit.before:
            subprocess.run(
                self.own(command, environment), env=environment, cwd=BASE_DIR, check=True
            )
        with self.log(name).open("wb") as output:
            self.processes[name] = subprocess.Popen(
                self.own(unit.command, environment),
                env=environment,
                cwd=BASE_DIR,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def own(self, command: list[str], environment: dict[str, str]) -> list[str]:
        """The command as systemd would expand it, with this checkout's Python."""
        words = [word.replace("%%", "%").replace("%i", "1") for word in command[1:]]
        for name, value in environment.items():
            words = [word.replace(f"${{{name}}}", value) for word in words]
        return [sys.executable, *words]

    def log(self, name: str) -> Path:
        return self.installation.data_dir / f"{name}.log"

    def manage(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            env=self.environment,
            cwd=BASE_DIR,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout


@pytest.fixture(scope="module")
def units(new_installation: Callable[[], Installation], broker_url: str) -> Iterator[Units]:
    server = os.environ.get("TEST_POSTGRES_URL")
    if not server:
        pytest.skip("no PostgreSQL: `make test` starts one")
    given = {
        "DATABASE_URL": database_templates.database(server, DATABASE),
        "REDIS_URL": broker_url,
        "METRICS_TOKEN": "scraper",
        "BROKER_PREFIX": f"{DATABASE}:",
    }
    found = Units(new_installation(), given)
    found.start("concord-web.service")
    found.start("concord-worker@.service")
    wait_for(lambda: found.installation.status() == 200, "an answer of the web server")
    yield found
    for process in found.processes.values():
        process.kill()
        process.wait()


def test_a_rating_sent_to_the_one_is_counted_by_the_other(units: Units) -> None:
    token = units.manage("create_token", "lead").strip()

    def call(method: str, path: str, body: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", units.installation.port, timeout=60)
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "X-Request-ID": "edge-1",
        }
        connection.request(method, f"/api/v1/projects/{path}", json.dumps(body), headers)
        answer = connection.getresponse()
        said = json.loads(answer.read())
        connection.close()
        assert answer.status < 300, said
        assert answer.headers["X-Request-ID"] == "edge-1"
        return said

    question = {
        "key": "q",
        "text": "?",
        "scale": "nominal",
        "categories": [{"label": "a"}, {"label": "b"}],
    }
    project = call("POST", "", {"name": "Units", "questions": [question]})["id"]
    call("POST", f"{project}/items/", [{"key": "i", "body": {"text": "i"}}])
    call("POST", f"{project}/raters/", [{"key": "r"}, {"key": "s"}])
    call(
        "POST",
        f"{project}/ratings/",
        [{"item": "i", "rater": rater, "label": "a"} for rater in "rs"],
    )
    wait_for(lambda: call("GET", f"{project}/agreement/")["ratings"] == 2, "the worker's counting")
    wait_for(lambda: "exact" in units.manage("audit"), "a clean audit")


def test_both_log_json_lines(units: Units) -> None:
    wait_for(
        lambda: b'"message": "request"' in units.log("concord-web.service").read_bytes(),
        "a line of a request",
    )
    lines = units.log("concord-web.service").read_text().splitlines()
    requests = [line for line in map(json.loads, lines) if line["message"] == "request"]
    assert all({"request_id", "method", "path", "status", "ms"} <= set(line) for line in requests)
    assert all(
        json.loads(line)["level"]
        for line in units.log("concord-worker@.service").read_text().splitlines()
    )


@contextlib.contextmanager
def asked_directly(units: Units) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(units.environment["DATABASE_URL"], autocommit=True) as connection:
        yield connection


def probed(units: Units, path: str, host: str = "10.1.2.3") -> tuple[int, Any, float]:
    """Status, body and seconds of a probe that calls the site by its address."""
    started = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", units.installation.port, timeout=60)
    connection.request("GET", path, headers={"Host": host})
    answer = connection.getresponse()
    said = json.loads(answer.read())
    connection.close()
    return answer.status, said, time.monotonic() - started


def test_metrics_add_up_web_server_and_worker(units: Units) -> None:
    """Whichever process is asked: sums never fall, and the worker's are among them."""

    def scrape() -> str:
        connection = http.client.HTTPConnection("127.0.0.1", units.installation.port, timeout=60)
        headers = {"Host": "127.0.0.1", "Authorization": "Bearer scraper"}
        connection.request("GET", "/metrics", headers=headers)
        answer = connection.getresponse()
        assert answer.status == 200
        said = answer.read().decode()
        connection.close()
        return said

    def scrapes() -> float:
        counted = re.findall(r'concord_requests_total\{.*route="metrics".*\} (\S+)', scrape())
        return sum(map(float, counted))

    found = [scrapes() for _ in range(8)]
    assert found == list(range(int(found[0]), int(found[0]) + 8))
    sweep = 'concord_task_seconds_count{task="metrics.tasks.sweep_all"}'
    wait_for(lambda: sweep in scrape(), "the worker's sweep")


def test_programs_say_who_they_are(units: Units) -> None:
    with asked_directly(units) as database:
        rows = database.execute(
            "SELECT DISTINCT application_name FROM pg_stat_activity WHERE datname = %s",
            [DATABASE],
        ).fetchall()
    assert {("concord web",), ("concord worker",)} <= set(rows)


def test_probes_answer_while_a_table_is_locked(units: Units) -> None:
    """Under any name, and within two seconds, also with every seat waiting for the table."""
    assert probed(units, "/healthz")[:1] == (200,)
    with asked_directly(units) as database, database.transaction():
        database.execute("LOCK TABLE ratings_rating, ratings_uncounteditem")
        # An answer of just now is good for a moment.
        wait_for(lambda: probed(units, "/healthz")[0] == 503, "the lock")
        status, said, seconds = probed(units, "/healthz")
        assert (status, said["status"]) == (503, "database")
        assert seconds < 3
        assert probed(units, "/livez")[0] == 200
    wait_for(lambda: probed(units, "/healthz")[0] == 200, "the table")


def test_a_page_gives_up_a_lock_before_its_reader_does(units: Units) -> None:
    with asked_directly(units) as database:
        web = database.execute(
            "SELECT 1 FROM pg_stat_activity WHERE application_name = 'concord web'"
        ).fetchone()
        assert web is not None
    environment = {**units.environment, "PYTHONPATH": str(BASE_DIR)}
    ask = (
        "import sys; sys.argv = [sys.argv[1]]\n"
        "import django; django.setup()\n"
        "from django.db import connection\n"
        "c = connection.cursor(); c.execute('SHOW lock_timeout'); print(c.fetchone()[0])\n"
    )
    for argument, expected in (("web_server.py", "5s"), ("other.py", "0")):
        done = subprocess.run(
            [sys.executable, "-c", ask, argument],
            env={**environment, "DJANGO_SETTINGS_MODULE": "agreement_site.settings"},
            cwd=BASE_DIR, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.strip() == expected


def test_programs_of_another_release_do_not_work_on_these_tables(units: Units) -> None:
    """Who starts refuses, a worker that runs ends, and the site says so."""
    future = (
        "INSERT INTO django_migrations (app, name, applied) VALUES ('ratings', '9999_x', now())"
    )
    worker = units.processes["concord-worker@.service"]
    with asked_directly(units) as database:
        database.execute(future)
        try:
            wait_for(lambda: probed(units, "/healthz")[1]["status"] == "release", "the site")
            wait_for(lambda: worker.poll() is not None, "the worker's end")
            for name in ("concord-worker@.service", "concord-web.service"):
                unit = deployment.unit(DEPLOY / "systemd" / name)
                environment = {**units.environment, **unit.environment, "PORT": "0"}
                done = subprocess.run(
                    units.own(unit.command, environment),
                    env=environment, cwd=BASE_DIR, capture_output=True, text=True, timeout=60, check=False,
                )  # fmt: skip
                assert done.returncode == 1, done.stderr
                assert "newer release" in done.stderr.splitlines()[-1]
        finally:
            database.execute("DELETE FROM django_migrations WHERE name = '9999_x'")
    assert "This worker ends." in units.log("concord-worker@.service").read_text()
    units.start("concord-worker@.service")
    own = f"worker1@%:{units.processes['concord-worker@.service'].pid}"
    with asked_directly(units) as database:
        asked = "SELECT 1 FROM metrics_worker WHERE name LIKE %s"
        wait_for(lambda: database.execute(asked, [own]).fetchone(), "the new worker's sweep")


def test_both_stop_when_told(units: Units) -> None:
    """The last of the module: it ends what the tests above share."""
    for process in units.processes.values():
        process.send_signal(signal.SIGTERM)
    assert [process.wait(timeout=60) for process in units.processes.values()] == [0, 0]
