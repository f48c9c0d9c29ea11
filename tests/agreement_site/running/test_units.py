"""The commands of deploy/systemd, run as systemd runs them: web server and worker apart, on
PostgreSQL and a broker."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests import deployment
from tests.agreement_site.running.conftest import Installation, wait_for
from tests.deployment import BASE_DIR, DEPLOY

pytestmark = pytest.mark.services


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
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS units WITH (FORCE)")
        connection.execute("CREATE DATABASE units")
    given = {
        "DATABASE_URL": server.replace("/postgres?", "/units?"),
        "REDIS_URL": broker_url,
        "BROKER_PREFIX": "units:",
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


def test_both_stop_when_told(units: Units) -> None:
    """The last of the module: it ends what the tests above share."""
    for process in units.processes.values():
        process.send_signal(signal.SIGTERM)
    assert [process.wait(timeout=60) for process in units.processes.values()] == [0, 0]
