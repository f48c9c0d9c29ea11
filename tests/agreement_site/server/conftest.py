"""A complete installation as real processes, with its own data folder and port."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import database_templates

BASE_DIR = Path(__file__).resolve().parents[3]
# A loaded machine may be slow; a broken supervisor never gets there.
TIMEOUT_SECONDS = 40.0


def wait_for(
    condition: Callable[[], object], description: str, *, timeout: float = TIMEOUT_SECONDS
) -> None:
    """Wait until the condition holds; fail after the timeout."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for: {description}"
        time.sleep(0.05)


def find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def get_parent_pid(pid: int) -> int:
    """Return the parent of a process; process numbers start again, so the order says nothing."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("PPid:")[1].split()[0])


class ServicesInstallation:
    """Processes of one `manage.py services`, found by their data folder."""

    start_timeout = TIMEOUT_SECONDS

    def __init__(self, data_dir: Path, port: int) -> None:
        self.data_dir = data_dir
        self.port = port
        self.output = data_dir / "output.txt"
        self.extra_environment: dict[str, str] = {}  # additional environment variables
        self.process: subprocess.Popen[bytes] | None = None

    def build_environment(self) -> dict[str, str]:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name not in {"DATABASE_URL", "REDIS_URL"}
        }
        inherited.pop("BROKER_PREFIX", None)
        return {
            **inherited,
            "DATA_DIR": str(self.data_dir),
            "PORT": str(self.port),
            "HOST": "127.0.0.1",
            **self.extra_environment,
        }

    def build_command(self, *arguments: str) -> list[str]:
        return [sys.executable, str(BASE_DIR / "manage.py"), "services", *arguments]

    def copy_database(self) -> None:
        """Copy a migrated database, which saves the ten seconds in which the first start creates
        it."""
        database_templates.copy_sqlite_template(self.data_dir / "concord.sqlite3")

    def start(self) -> None:
        """Start the services and wait until the site responds."""
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                self.build_command(),
                env=self.build_environment(),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        wait_for(self.is_up, "an answer of the site", timeout=self.start_timeout)

    def is_up(self) -> bool:
        """Return whether the site is ready; fail when the process has ended."""
        assert self.process is not None
        assert self.process.poll() is None, self.read_output()
        return self.get_status() == 200

    def read_output(self) -> str:
        return self.output.read_text(errors="replace")

    def get_status(self) -> int:
        """Return the HTTP status of /healthz, or 0 when the site does not respond."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()

    def list_processes(self) -> dict[int, str]:
        """Return pid -> command line of all living processes started for this data folder.

        They are recognized by their environment or by their command line, because Valkey writes its
        title over its environment.
        """
        data_dir_setting = f"DATA_DIR={self.data_dir}".encode()
        commands = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                if (
                    data_dir_setting in (folder / "environ").read_bytes().split(b"\0")
                    or f"{self.data_dir}/" in command
                ):
                    commands[int(folder.name)] = command
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue  # has ended, or belongs to another user
        return commands

    def find_pids(self, word: str) -> set[int]:
        return {pid for pid, command in self.list_processes().items() if word in command}

    def find_main_pid(self, word: str) -> int:
        """Return the program that the supervisor started itself; others are its children."""
        assert self.process is not None
        [main_pid] = [
            pid for pid in self.find_pids(word) if get_parent_pid(pid) == self.process.pid
        ]
        return main_pid

    def kill_all(self) -> None:
        for pid in self.list_processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if self.process is not None:
            self.process.wait()


@pytest.fixture(scope="module")
def new_installation() -> Iterator[Callable[[], ServicesInstallation]]:
    """Return a function that creates installations; they are killed at the end of the module."""
    if not Path("/proc/self/environ").exists():
        pytest.skip("processes are found through /proc, which this system has not")
    installations: list[ServicesInstallation] = []
    with tempfile.TemporaryDirectory(prefix="concord-", ignore_cleanup_errors=True) as folder:

        def create_installation() -> ServicesInstallation:
            data_dir = Path(folder).resolve() / str(len(installations))
            data_dir.mkdir()
            installations.append(ServicesInstallation(data_dir, find_free_port()))
            return installations[-1]

        yield create_installation
        for installation in installations:
            installation.kill_all()
