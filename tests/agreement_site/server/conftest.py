"""A whole installation as real processes, on a data folder and a port of its own."""

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
PATIENCE = 40.0  # seconds; a machine under load may be slow, a broken supervisor never gets there


def wait_for(condition: Callable[[], object], what: str, *, patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for: {what}"
        time.sleep(0.05)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Installation:
    """The processes of one `manage.py services`, found by their data folder."""

    start_patience = PATIENCE

    def __init__(self, data_dir: Path, port: int) -> None:
        self.data_dir = data_dir
        self.port = port
        self.output = data_dir / "output.txt"
        self.more: dict[str, str] = {}  # environment beyond the usual
        self.process: subprocess.Popen[bytes] | None = None

    def environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in {"DATABASE_URL", "REDIS_URL"}
        }
        kept.pop("BROKER_PREFIX", None)
        return {
            **kept,
            "DATA_DIR": str(self.data_dir),
            "PORT": str(self.port),
            "HOST": "127.0.0.1",
            **self.more,
        }

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, str(BASE_DIR / "manage.py"), "services", *arguments]

    def bring_database(self) -> None:
        """A migrated one, in place of the ten seconds in which the first start makes it."""
        database_templates.copy_to(self.data_dir / "concord.sqlite3")

    def start(self) -> None:
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                self.command(),
                env=self.environment(),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        wait_for(self.is_up, "an answer of the site", patience=self.start_patience)

    def is_up(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.said()
        return self.status() == 200

    def said(self) -> str:
        return self.output.read_text(errors="replace")

    def status(self) -> int:
        """The HTTP status of /healthz; 0 when nobody answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()

    def processes(self) -> dict[int, str]:
        """Command lines of all living processes that were started for this data folder.

        Known by their environment or, as Valkey writes its title over its environment, by their
        command line.
        """
        mark = f"DATA_DIR={self.data_dir}".encode()
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                if (
                    mark in (folder / "environ").read_bytes().split(b"\0")
                    or f"{self.data_dir}/" in command
                ):
                    found[int(folder.name)] = command
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue  # ended meanwhile, or not ours
        return found

    def pids(self, word: str) -> set[int]:
        return {pid for pid, command in self.processes().items() if word in command}

    def kill_everything(self) -> None:
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if self.process is not None:
            self.process.wait()


@pytest.fixture(scope="module")
def new_installation() -> Iterator[Callable[[], Installation]]:
    """Makes installations; whatever they leave behind is killed at the end of the module."""
    if not Path("/proc/self/environ").exists():
        pytest.skip("processes are found through /proc, which this system has not")
    made: list[Installation] = []
    with tempfile.TemporaryDirectory(prefix="concord-", ignore_cleanup_errors=True) as folder:

        def make() -> Installation:
            data_dir = Path(folder).resolve() / str(len(made))
            data_dir.mkdir()
            made.append(Installation(data_dir, free_port()))
            return made[-1]

        yield make
        for installation in made:
            installation.kill_everything()
