"""`make run`'s supervisor with real processes: what dies comes back, what ends leaves nothing."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from agreement_site.server import embedded_broker
from tests import database_templates
from tests.agreement_site.server.conftest import Installation, wait_for

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def running(new_installation: Callable[[], Installation]) -> Installation:
    installation = new_installation()
    installation.bring_database()  # tests/tools/smoke.py begins with none
    installation.start()
    return installation


def worker_listens(installation: Installation) -> bool:
    """Whether a Celery worker waits for messages at the broker."""
    try:
        with redis.Redis(
            unix_socket_path=str(embedded_broker.get_broker_socket(installation.data_dir))
        ) as client:
            return any(connection["cmd"] == "brpop" for connection in client.client_list())
    except redis.ConnectionError:
        return False


def refused_start(installation: Installation) -> str:
    """Starts where it must not start; what it said."""
    done = subprocess.run(
        installation.command(),
        env=installation.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    return done.stderr


def test_start_tells_address_and_sign_in(running: Installation) -> None:
    wait_for(
        lambda: f"Concord is at http://127.0.0.1:{running.port}/" in running.said(), "the address"
    )
    assert "lead" in running.said()
    assert "Traceback" not in running.said(), running.said()


@pytest.mark.parametrize("name", ["celery", "valkey-server", "web_server"])
def test_killed_program_comes_back(running: Installation, name: str) -> None:
    wait_for(lambda: worker_listens(running), "the worker at the broker")
    before = running.pids(name)
    os.kill(min(before), signal.SIGKILL)  # of the web server the parent, whose pid is the lowest

    wait_for(
        lambda: running.pids(name) and not running.pids(name) & before, f"new processes of {name}"
    )
    wait_for(lambda: running.status() == 200, "an answer of the site")
    wait_for(lambda: worker_listens(running), "the worker at the broker")


def test_killed_web_process_comes_back(running: Installation) -> None:
    wait_for(
        lambda: len(running.pids("web_server")) == 3,
        "the web server's parent and its two processes",
    )
    parent, killed, _other = sorted(running.pids("web_server"))
    os.kill(killed, signal.SIGKILL)

    wait_for(lambda: len(running.pids("web_server") - {killed}) == 3, "another web process")
    assert parent in running.pids("web_server")
    assert running.status() == 200


def test_second_start_on_the_data_folder_is_refused(running: Installation) -> None:
    assert running.process is not None
    message = refused_start(running)
    assert f"already runs on {running.data_dir} (process {running.process.pid})" in message
    assert running.status() == 200


def test_taken_port_is_refused(
    running: Installation, new_installation: Callable[[], Installation]
) -> None:
    other = new_installation()
    other.port = running.port
    message = refused_start(other)
    assert f"port {running.port}" in message
    assert "PORT=" in message
    assert not other.processes()


@pytest.mark.parametrize("port", ["eighty", "-1", "65536", "8000.5"])
def test_bad_port_is_refused(new_installation: Callable[[], Installation], port: str) -> None:
    installation = new_installation()
    installation.port = port  # type: ignore[assignment] # what a person may type
    assert f"PORT={port}: a whole number from 0 to 65535 is needed." in refused_start(installation)


def test_unusable_data_folder_is_refused(new_installation: Callable[[], Installation]) -> None:
    installation = new_installation()
    file = installation.data_dir / "file"
    file.touch()
    installation.data_dir = file / "data"
    message = refused_start(installation)
    assert str(installation.data_dir) in message
    assert "DATA_DIR" in message


def test_given_database_and_broker_are_used(
    new_installation: Callable[[], Installation], broker_url: str
) -> None:
    given = os.environ.get("TEST_POSTGRES_URL")
    if not given:
        pytest.skip("no PostgreSQL: `make test` starts one")
    installation = new_installation()
    installation.more = {
        "DATABASE_URL": database_templates.database(given, "services"),
        "REDIS_URL": broker_url,
    }
    installation.start()

    assert installation.status() == 200
    assert not installation.pids("valkey-server")
    assert not list(installation.data_dir.glob("*.sqlite3"))
    assert installation.process is not None
    installation.process.terminate()
    assert installation.process.wait(timeout=60) == 0


def test_kill_9_of_the_supervisor_leaves_nothing_and_it_starts_again(running: Installation) -> None:
    assert running.process is not None
    wait_for(lambda: worker_listens(running), "the worker at the broker")
    running.process.kill()
    running.process.wait()

    wait_for(lambda: running.processes() == {}, "the end of all processes")
    with socket.create_server(("127.0.0.1", running.port)):
        pass  # the port is free again
    running.start()
    wait_for(lambda: worker_listens(running), "the worker at the broker")


def test_sigterm_stops_all(running: Installation) -> None:
    """The last of the module: it ends the installation that the tests above share."""
    assert running.process is not None
    running.process.send_signal(signal.SIGTERM)

    assert running.process.wait(timeout=60) == 0
    assert running.processes() == {}
    assert running.said().rstrip().endswith("Stopped.")


def test_a_log_that_cannot_be_written_stops_nothing(
    new_installation: Callable[[], Installation],
) -> None:
    """Its disk is full, as that of the data folder may be."""
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full here")
    installation = new_installation()
    installation.bring_database()
    with full.open("wb") as output:
        installation.process = subprocess.Popen(
            installation.command(),
            env=installation.environment(),
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    wait_for(lambda: installation.status() == 200, "an answer of the site", patience=90)
    wait_for(lambda: worker_listens(installation), "the worker at the broker")
    before = installation.pids("web_server")
    os.kill(min(before), signal.SIGKILL)
    wait_for(lambda: not installation.pids("web_server") & before, "the end of the web server")
    wait_for(lambda: installation.status() == 200, "an answer of the site", patience=90)
    assert installation.process.poll() is None
