"""A complete Concord installation for bench_http.py, and the CPU and memory of its processes."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from http_load import Target

from tests.agreement_site.server.conftest import ServicesInstallation, find_free_port
from tests.tools import with_services

ROOT = Path(__file__).resolve().parent.parent
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
# Like a production database: acknowledged data is on disk.
DURABLE = ["fsync=on", "synchronous_commit=on", "max_connections=200", "listen_addresses="]


class ServerProcesses:
    """CPU and memory of a server's processes.

    They are those of a data folder, or below a root process; a database has another root.
    """

    def __init__(
        self,
        *,
        installation: ServicesInstallation | None = None,
        root: int | None = None,
        database: int | None = None,
    ) -> None:
        self.installation = installation
        self.root = root
        self.database = database

    def get_pids(self) -> dict[str, list[int]]:
        pids: dict[str, list[int]] = {"web": [], "worker": [], "database": []}
        if self.installation is not None:
            for pid, command in self.installation.list_processes().items():
                kind = "worker" if "celery" in command or "valkey" in command else "web"
                if "web_server" in command or kind == "worker":
                    pids[kind].append(pid)
        if self.root:
            pids["web"] = list_process_tree(self.root)
        if self.database:
            pids["database"] = list_process_tree(self.database)
        return pids

    def get_cpu(self) -> dict[str, float]:
        """Return the seconds of user and system time so far, including ended children."""
        return {kind: sum(map(read_cpu_seconds, pids)) for kind, pids in self.get_pids().items()}

    def get_memory(self, name: str) -> float:
        """Return VmRSS or VmHWM of the largest web process in MB."""
        return max((read_status(pid, name) / 1024 for pid in self.get_pids()["web"]), default=0.0)

    def reset_peak(self) -> None:
        for pid in self.get_pids()["web"]:
            with contextlib.suppress(OSError):
                Path(f"/proc/{pid}/clear_refs").write_text("5")


def list_process_tree(root: int) -> list[int]:
    """Return the process and all its descendants."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            parents.setdefault(parent, []).append(int(folder.name))
    pids, pending = [], [root]
    while pending:
        pid = pending.pop()
        pids.append(pid)
        pending += parents.get(pid, [])
    return pids


def read_cpu_seconds(pid: int) -> float:
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(map(int, fields[11:15])) / TICKS_PER_SECOND
    return 0.0


def read_status(pid: int, name: str) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1])
    return 0


class BenchmarkSite:
    """A running Concord."""

    def __init__(self, name: str, target: Target, processes: ServerProcesses) -> None:
        self.name = name
        self.target = target
        self.processes = processes
        self.project = 0
        self.session = ""
        self.environment: dict[str, str] = {}

    def set_up(self) -> None:
        """Create a project with 20,000 items."""
        self.create_project()
        self.post(
            "items", [{"key": key, "body": {"text": key}} for key in self.build_item_keys(10_000)]
        )
        self.post(
            "items",
            [{"key": key, "body": {"text": key}} for key in self.build_item_keys(20_000)[10_000:]],
        )

    def build_item_keys(self, count: int) -> list[str]:
        return [f"item {number}" for number in range(count)]

    def create_project(self) -> None:
        labels = ("none", "minor", "major", "critical")
        categories = [{"label": label, "value": position} for position, label in enumerate(labels)]
        question = {
            "key": "severity",
            "text": "How severe?",
            "scale": "ordinal",
            "categories": categories,
        }
        body = {"name": "Benchmark", "overlap": 3, "questions": [question]}
        response = self.target.call("POST", "/api/v1/projects/", body)
        self.project = json.loads(response.body)["id"]

    def get_path(self, resource: str) -> str:
        return f"/api/v1/projects/{self.project}/{resource}/"

    def post(self, resource: str, rows: Any) -> None:
        response = self.target.call("POST", self.get_path(resource), rows)
        if response.status != 200:
            sys.exit(f"{resource}: {response.status} {response.body[:500]!r}")

    def fetch_ratings(self, rater: str) -> list[tuple[str, str, str]]:
        """Return (item, rater, label) of the stored ratings."""
        path, ratings = f"{self.get_path('ratings')}?rater={rater}&page_size=1000", []
        while path:
            page = json.loads(self.target.call("GET", path).body)
            ratings += [(row["item"], row["rater"], row["label"]) for row in page["results"]]
            path = page["next"] and page["next"].split(f":{self.target.port}", 1)[1]
        return ratings

    def wait_until_counted(self) -> float:
        """Wait until nothing is left to count; return the seconds."""
        started = time.monotonic()
        while json.loads(self.target.call("GET", "/healthz").body)["uncounted"]:
            if time.monotonic() - started > 300:
                sys.exit("counting did not finish")
            time.sleep(0.1)
        return time.monotonic() - started

    def run_step(self, *arguments: str) -> str:
        """Run a step of http_setup.py in the environment of the site; return what it prints."""
        command = [sys.executable, str(ROOT / "benchmarks/http_setup.py"), *arguments]
        return subprocess.run(
            command, env=self.environment, cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout

    def fill_queue(self, count: int) -> None:
        self.create_project()
        self.run_step("fill-queue", str(self.project), str(count))

    def measure_next_item(self) -> float:
        """Return the median milliseconds in which the queue alone returns an item."""
        return float(self.run_step("time-next-item", str(self.project)))


@contextlib.contextmanager
def run_site(kind: str, *, processes: str | None, threads: str | None) -> Iterator[BenchmarkSite]:
    """Run Concord on ``kind`` (sqlite or postgresql), and remove it afterwards.

    It has a project with 20,000 items.
    """
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="concord-bench-")))
        folder.chmod(0o711)  # PostgreSQL's own user passes through
        for name in ("data", "postgres"):
            (folder / name).mkdir(mode=0o700)
        installation = ServicesInstallation((folder / "data").resolve(), find_free_port())
        database = None
        if kind == "postgresql":
            url = stack.enter_context(
                with_services.run_postgres(folder / "postgres", settings=DURABLE)
            )
            installation.extra_environment["DATABASE_URL"] = url
            database = int((folder / "postgres" / "data" / "postmaster.pid").read_text().split()[0])
        installation.extra_environment |= {"WEB_PROCESSES": processes} if processes else {}
        installation.extra_environment |= {"WEB_THREADS": threads} if threads else {}
        stack.callback(installation.kill_all)
        installation.start()
        environment = {
            **installation.build_environment(),
            "DJANGO_SETTINGS_MODULE": "agreement_site.settings",
        }
        site = BenchmarkSite(
            kind,
            Target("127.0.0.1", installation.port, {}),
            ServerProcesses(installation=installation),
        )
        site.processes.database = database
        site.environment = environment
        token, site.session = site.run_step("sign-in").split()
        site.target.headers["Authorization"] = f"Bearer {token}"
        site.set_up()
        yield site
