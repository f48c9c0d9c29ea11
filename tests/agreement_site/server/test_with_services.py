"""Tests of tests/tools/with_services.py: environment and exit status of the command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import redis

from tests.agreement_site.server.conftest import BASE_DIR, wait_for

pytestmark = pytest.mark.services

QUERY_SCRIPT = """
import os, psycopg, redis
print(psycopg.connect(os.environ["DATABASE_URL"]).execute("select 6 * 7").fetchone()[0])
print(redis.Redis(unix_socket_path=os.environ["REDIS_URL"].removeprefix("redis+socket://")).ping())
raise SystemExit(5)
"""


def build_environment() -> dict[str, str]:
    """Return the environment without URLs of services."""
    urls = {"DATABASE_URL", "REDIS_URL", "TEST_POSTGRES_URL"}
    return {name: value for name, value in os.environ.items() if name not in urls}


def test_command_gets_real_services_and_keeps_its_status() -> None:
    process = subprocess.run(
        [
            sys.executable,
            "tests/tools/with_services.py",
            "--postgres",
            sys.executable,
            "-c",
            QUERY_SCRIPT,
        ],
        cwd=BASE_DIR,
        env=build_environment(),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert process.stdout.split() == ["42", "True"], process.stderr
    assert process.returncode == 5


def test_kill_9_ends_the_services_too(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    command = f"echo $REDIS_URL $TEST_POSTGRES_URL > {ready}; exec sleep 100"
    process = subprocess.Popen(
        [sys.executable, "tests/tools/with_services.py", "/bin/sh", "-c", command],
        cwd=BASE_DIR,
        env=build_environment(),
    )
    wait_for(lambda: ready.exists() and ready.read_text().endswith("\n"), "the services")
    folder = ready.read_text().removeprefix("redis+socket://").split("/valkey/")[0]
    assert len(list_commands_with(folder)) >= 2
    process.kill()
    process.wait()
    wait_for(lambda: not list_commands_with(folder), "the end of the services")
    shutil.rmtree(folder, ignore_errors=True)


def list_commands_with(folder: str) -> list[str]:
    """Return command lines that contain the folder, as those of PostgreSQL and Valkey do."""
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if folder in command and not command.startswith("/bin/sh"):
            commands.append(command)
    return commands


def test_broker_fixture_responds(broker_url: str) -> None:
    assert redis.Redis(unix_socket_path=broker_url.removeprefix("redis+socket://")).ping()
