"""tests/tools/with_services.py: what the command gets, and that its exit status stays."""

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

QUESTIONS = """
import os, psycopg, redis
print(psycopg.connect(os.environ["DATABASE_URL"]).execute("select 6 * 7").fetchone()[0])
print(redis.Redis(unix_socket_path=os.environ["REDIS_URL"].removeprefix("redis+socket://")).ping())
raise SystemExit(5)
"""


def without_urls() -> dict[str, str]:
    urls = {"DATABASE_URL", "REDIS_URL", "TEST_POSTGRES_URL"}
    return {name: value for name, value in os.environ.items() if name not in urls}


def test_command_gets_real_services_and_its_status_is_kept() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "tests/tools/with_services.py",
            "--postgres",
            sys.executable,
            "-c",
            QUESTIONS,
        ],
        cwd=BASE_DIR,
        env=without_urls(),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.stdout.split() == ["42", "True"], done.stderr
    assert done.returncode == 5


def test_kill_9_ends_the_services_too(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    command = f"echo $REDIS_URL $TEST_POSTGRES_URL > {ready}; exec sleep 100"
    process = subprocess.Popen(
        [sys.executable, "tests/tools/with_services.py", "/bin/sh", "-c", command],
        cwd=BASE_DIR,
        env=without_urls(),
    )
    wait_for(lambda: ready.exists() and ready.read_text().endswith("\n"), "the services")
    folder = ready.read_text().removeprefix("redis+socket://").split("/valkey/")[0]
    assert len(processes_naming(folder)) >= 2
    process.kill()
    process.wait()
    wait_for(lambda: not processes_naming(folder), "the end of the services")
    shutil.rmtree(folder, ignore_errors=True)


def processes_naming(folder: str) -> list[str]:
    """Command lines that name the folder: PostgreSQL's and Valkey's do."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if folder in command and not command.startswith("/bin/sh"):
            found.append(command)
    return found


def test_broker_of_the_fixture_answers(broker_url: str) -> None:
    assert redis.Redis(unix_socket_path=broker_url.removeprefix("redis+socket://")).ping()
