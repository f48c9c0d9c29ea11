"""Tests of `make run`'s supervisor with real processes: restarts, rejected starts, clean ends."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
import redis

from agreement_site.server import embedded_broker
from tests import database_templates
from tests.agreement_site.server.conftest import ServicesInstallation, wait_for

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def installation(new_installation: Callable[[], ServicesInstallation]) -> ServicesInstallation:
    """Return a running installation, which the tests of the module share."""
    shared_installation = new_installation()
    shared_installation.copy_database()  # tests/tools/smoke.py starts with an empty data folder
    shared_installation.start()
    return shared_installation


def is_worker_listening(installation: ServicesInstallation) -> bool:
    """Return whether a Celery worker waits for messages at the broker."""
    try:
        with redis.Redis(
            unix_socket_path=str(embedded_broker.get_broker_socket(installation.data_dir))
        ) as client:
            return any(connection["cmd"] == "brpop" for connection in client.client_list())
    except redis.ConnectionError:
        return False


def get_start_error(installation: ServicesInstallation) -> str:
    """Start the services, assert that they exit with 1, and return the error output."""
    process = subprocess.run(
        installation.build_command(),
        env=installation.build_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert process.returncode == 1
    return process.stderr


def test_start_prints_address_and_sign_in(installation: ServicesInstallation) -> None:
    wait_for(
        lambda: (
            f"Concord is at http://127.0.0.1:{installation.port}/" in installation.read_output()
        ),
        "the address",
    )
    assert "lead" in installation.read_output()
    assert "Traceback" not in installation.read_output(), installation.read_output()


@pytest.mark.parametrize("name", ["celery", "valkey-server", "web_server"])
def test_killed_program_is_restarted(installation: ServicesInstallation, name: str) -> None:
    wait_for(lambda: is_worker_listening(installation), "the worker at the broker")
    before = installation.find_pids(name)
    os.kill(installation.find_main_pid(name), signal.SIGKILL)

    wait_for(
        lambda: installation.find_pids(name) and not installation.find_pids(name) & before,
        f"new processes of {name}",
    )
    wait_for(lambda: installation.get_status() == 200, "an answer of the site")
    wait_for(lambda: is_worker_listening(installation), "the worker at the broker")


def test_killed_web_process_is_restarted(installation: ServicesInstallation) -> None:
    wait_for(
        lambda: len(installation.find_pids("web_server")) == 3,
        "the web server's parent and its two processes",
    )
    parent_pid = installation.find_main_pid("web_server")
    killed_pid = min(installation.find_pids("web_server") - {parent_pid})
    os.kill(killed_pid, signal.SIGKILL)

    wait_for(
        lambda: len(installation.find_pids("web_server") - {killed_pid}) == 3, "another web process"
    )
    assert parent_pid in installation.find_pids("web_server")
    assert installation.get_status() == 200


def test_second_start_on_the_data_folder_is_rejected(installation: ServicesInstallation) -> None:
    assert installation.process is not None
    message = get_start_error(installation)
    assert (
        f"already runs on {installation.data_dir} (process {installation.process.pid})" in message
    )
    assert installation.get_status() == 200


def test_port_in_use_is_rejected(
    installation: ServicesInstallation, new_installation: Callable[[], ServicesInstallation]
) -> None:
    second_installation = new_installation()
    second_installation.port = installation.port
    message = get_start_error(second_installation)
    assert f"port {installation.port}" in message
    assert "PORT=" in message
    assert not second_installation.list_processes()


@pytest.mark.parametrize("port", ["eighty", "-1", "65536", "8000.5"])
def test_invalid_port_is_rejected(
    new_installation: Callable[[], ServicesInstallation], port: str
) -> None:
    installation = new_installation()
    installation.port = port  # type: ignore[assignment] # a user may enter any text
    assert f"PORT={port}: a whole number from 0 to 65535 is needed." in get_start_error(
        installation
    )


def test_unusable_data_folder_is_rejected(
    new_installation: Callable[[], ServicesInstallation],
) -> None:
    installation = new_installation()
    file = installation.data_dir / "file"
    file.touch()
    installation.data_dir = file / "data"
    message = get_start_error(installation)
    assert str(installation.data_dir) in message
    assert "DATA_DIR" in message


def test_database_of_a_newer_release_is_rejected(
    new_installation: Callable[[], ServicesInstallation],
) -> None:
    installation = new_installation()
    installation.copy_database()
    path = installation.data_dir / "concord.sqlite3"
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('ratings', '9999_x', 0)"
        )
    assert "The tables are of a newer release" in get_start_error(installation)
    assert not installation.list_processes()
    with contextlib.closing(sqlite3.connect(path)) as database:
        assert not database.execute("SELECT * FROM ratings_datafolder").fetchall()


def read_program_names(database_url: str) -> set[str]:
    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT application_name FROM pg_stat_activity").fetchall()
    return {name for [name] in rows}


def test_metrics_have_web_server_and_worker(
    new_installation: Callable[[], ServicesInstallation],
) -> None:
    """Both are forks of one process, and count into files of their own."""
    installation = new_installation()
    installation.copy_database()
    installation.extra_environment = {"METRICS_TOKEN": "scraper"}
    installation.start()

    def scrape() -> str:
        request = urllib.request.Request(
            f"http://127.0.0.1:{installation.port}/metrics",
            headers={"Authorization": "Bearer scraper"},
        )
        with urllib.request.urlopen(request) as response:
            content: str = response.read().decode()
        return content

    wait_for(lambda: 'route="metrics"' in scrape(), "a request of the web server")
    sweep = 'concord_task_seconds_count{task="metrics.tasks.sweep_all"}'
    wait_for(lambda: sweep in scrape(), "the worker's sweep")


def test_configured_database_and_broker_are_used(
    new_installation: Callable[[], ServicesInstallation], broker_url: str
) -> None:
    postgres_url = os.environ.get("TEST_POSTGRES_URL")
    if not postgres_url:
        pytest.skip("no PostgreSQL: `make test` starts one")
    installation = new_installation()
    database_url = database_templates.create_database(postgres_url, "services")
    installation.extra_environment = {
        "DATABASE_URL": database_url,
        "REDIS_URL": broker_url,
    }
    installation.start()

    assert installation.get_status() == 200
    assert not installation.find_pids("valkey-server")
    assert not list(installation.data_dir.glob("*.sqlite3"))
    wait_for(
        lambda: read_program_names(database_url) >= {"concord web", "concord worker"},
        "connections of both programs",
    )
    assert installation.process is not None
    installation.process.terminate()
    assert installation.process.wait(timeout=60) == 0


def test_kill_9_of_the_supervisor_ends_all_and_allows_a_restart(
    installation: ServicesInstallation,
) -> None:
    assert installation.process is not None
    wait_for(lambda: is_worker_listening(installation), "the worker at the broker")
    installation.process.kill()
    installation.process.wait()

    wait_for(lambda: installation.list_processes() == {}, "the end of all processes")
    with socket.create_server(("127.0.0.1", installation.port)):
        pass  # the port is free again
    installation.start()
    wait_for(lambda: is_worker_listening(installation), "the worker at the broker")


def test_sigterm_stops_all(installation: ServicesInstallation) -> None:
    """This is the last test of the shared installation, because it ends it."""
    assert installation.process is not None
    installation.process.send_signal(signal.SIGTERM)

    assert installation.process.wait(timeout=60) == 0
    assert installation.list_processes() == {}
    assert installation.read_output().rstrip().endswith("Stopped.")


def test_unwritable_log_stops_nothing(
    new_installation: Callable[[], ServicesInstallation],
) -> None:
    """The disk of the log is full, as that of the data folder may be."""
    full_device = Path("/dev/full")
    if not full_device.exists():
        pytest.skip("no /dev/full here")
    installation = new_installation()
    installation.copy_database()
    with full_device.open("wb") as output:
        installation.process = subprocess.Popen(
            installation.build_command(),
            env=installation.build_environment(),
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    wait_for(lambda: installation.get_status() == 200, "an answer of the site", timeout=90)
    wait_for(lambda: is_worker_listening(installation), "the worker at the broker")
    before = installation.find_pids("web_server")
    os.kill(installation.find_main_pid("web_server"), signal.SIGKILL)
    wait_for(lambda: not installation.find_pids("web_server") & before, "the end of the web server")
    wait_for(lambda: installation.get_status() == 200, "an answer of the site", timeout=90)
    assert installation.process.poll() is None


def test_files_of_the_services_are_private(tmp_path: Path) -> None:
    """The broker and other programs that the supervisor starts create files by its umask."""
    program = (
        "import pathlib, subprocess, sys\n"
        "from agreement_site.server.launcher import lock_data_dir\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "lock = lock_data_dir(folder)\n"
        "subprocess.run(['mkdir', folder / 'broker'], check=True)\n"
        "subprocess.run(['touch', folder / 'broker' / 'file'], check=True)\n"
    )
    data_dir = tmp_path / "data"
    subprocess.run(
        [sys.executable, "-c", program, data_dir],
        check=True,
        cwd=Path(__file__).parents[3],
        umask=0o022,
    )
    for path in (data_dir / "services.lock", data_dir / "broker", data_dir / "broker" / "file"):
        assert path.stat().st_mode & 0o077 == 0, path
