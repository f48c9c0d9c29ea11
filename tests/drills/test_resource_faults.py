"""`make drill`: disks that are full, a locked table, no connection left, a broker that takes nothing,
an older worker, no memory. Each once on each database where it applies, while clients rate.

Of each fault: what /healthz or `manage.py status` says of it while it lasts; and when it is over,
that nothing acknowledged is lost, nothing doubled, and all counts and readings are exact.
DRILL_FAULT_SECONDS (6) is how long each lasts.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from agreement_site.server import embedded_broker
from tests.agreement_site.server.conftest import BASE_DIR, wait_for
from tests.drills.history import judge
from tests.drills.site import Clients, Site, running_site

SECONDS = float(os.environ.get("DRILL_FAULT_SECONDS", "6"))
CLIENTS, ITEMS, DISK = 4, 100, 400
CODE = ("agreement_site", "events", "core", "metrics", "projects", "quality", "ratings")

pytestmark = [pytest.mark.drill, pytest.mark.timeout(600)]


@pytest.fixture(scope="module", params=["SQLite", "PostgreSQL"])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    with running_site(postgres=request.param == "PostgreSQL", disks=DISK) as running:
        yield running


@pytest.fixture(scope="module")
def clients(site: Site) -> Clients:
    raters = [f"client{number}" for number in range(CLIENTS)]
    return Clients(site, raters=raters, items=site.set_up(raters=raters, items=ITEMS))


@pytest.fixture
def under_load(site: Site, clients: Clients) -> Iterator[Site]:
    """Clients rate from before the fault until after it; then all is judged."""
    clients.start(random.randrange(10**6))
    try:
        time.sleep(2)
        yield site
        time.sleep(1)
    finally:
        clients.stop()
    try:
        wait_for(site.is_quiet, "everything to be counted")
    except AssertionError:
        sys.stderr.write(site.said()[-8000:])  # pytest shows it with the failure
        raise
    verdict = judge(clients.history(), site.stored("--counts"))
    site.manage("audit")
    assert not verdict.problems
    assert clients.history().counts()["ok"]


def says(site: Site, status: int, words: str) -> Callable[[], bool]:
    return lambda: site.health() == (status, words)


@contextlib.contextmanager
def full(folder: Path) -> Iterator[None]:
    """No room on the disk of the folder, which is one of its own."""
    if not folder.is_mount():
        pytest.skip("only root can make a small disk (tmpfs) here")
    with (folder / "filled").open("wb", buffering=0) as file:
        with contextlib.suppress(OSError):
            while file.write(bytes(1 << 16)):
                pass
        with contextlib.suppress(OSError):
            while file.write(bytes(64)):
                pass
    try:
        yield
    finally:
        (folder / "filled").unlink()


def postgres_of(site: Site) -> str:
    if site.postgres is None:
        pytest.skip("a fault of PostgreSQL")
    return site.postgres.url


# --- disks


def test_the_disk_of_the_data_folder_is_full(under_load: Site) -> None:
    with full(under_load.data_dir):
        time.sleep(SECONDS)
        if under_load.postgres:
            assert under_load.health() == (200, "ok")  # ratings need no room there
        else:
            wait_for(says(under_load, 503, "disk"), "a word of the full disk")
    wait_for(says(under_load, 200, "ok"), "readiness")
    problems = under_load.problems()
    assert any("the disk of DATA_DIR has" in one for one in problems)  # less than 1 GB, as always


def test_the_disk_of_the_database_is_full(under_load: Site) -> None:
    postgres_of(under_load)
    server = under_load.postgres
    assert server is not None

    def is_noticed() -> bool:
        """PostgreSQL goes on in files of its log that it has made before; a night fills them."""
        with contextlib.suppress(psycopg.OperationalError), psycopg.connect(server.url) as other:
            other.execute("SELECT pg_switch_wal()")
        return under_load.health() == (503, "database")

    with full(server.folder):
        wait_for(is_noticed, "a word of the full disk")
        time.sleep(SECONDS)
    if server.process is not None and server.process.poll() is not None:
        server.start()  # it ended when it could not write its log, as its service would be restarted
    wait_for(says(under_load, 200, "ok"), "readiness")


# --- PostgreSQL


def test_a_table_is_locked(under_load: Site) -> None:
    with psycopg.connect(postgres_of(under_load)) as holder:
        holder.execute("LOCK TABLE ratings_rating IN ACCESS EXCLUSIVE MODE")
        started = time.monotonic()
        assert under_load.health() == (503, "database")
        assert time.monotonic() - started < 5  # two seconds, where the machine has time
        time.sleep(SECONDS)
    wait_for(says(under_load, 200, "ok"), "readiness")


def test_no_connection_is_left(under_load: Site) -> None:
    url = postgres_of(under_load)
    others = "application_name LIKE 'concord%' AND pid <> pg_backend_pid()"
    with psycopg.connect(url, autocommit=True) as holder, contextlib.ExitStack() as held:

        def take_all() -> None:
            with contextlib.suppress(psycopg.OperationalError):
                while True:
                    held.enter_context(contextlib.closing(psycopg.connect(url)))

        take_all()
        holder.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
        take_all()
        wait_for(says(under_load, 503, "database"), "a word of the missing connections")
        time.sleep(SECONDS)
    wait_for(says(under_load, 200, "ok"), "readiness")


# --- broker and workers


def test_the_broker_takes_nothing(under_load: Site) -> None:
    with under_load.broker() as client:
        client.config_set("maxmemory", "1")
        try:
            time.sleep(SECONDS)
            assert under_load.health() == (200, "ok")
            assert "the broker answers, but takes nothing" in under_load.problems()
        finally:
            client.config_set("maxmemory", "0")


def test_a_worker_of_an_older_release_refuses_to_start(under_load: Site, tmp_path: Path) -> None:
    """Of a copy of this checkout that lacks the newest migration of metrics."""
    for name in (*CODE, "locale", "manage.py", "pyproject.toml"):
        source = BASE_DIR / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, tmp_path / name)
    newest = max((tmp_path / "metrics" / "migrations").glob("0*.py"))
    newest.unlink()
    broker = f"redis+socket://{embedded_broker.get_broker_socket(under_load.data_dir)}"
    done = subprocess.run(
        [sys.executable, "-m", "celery", "--app", "agreement_site.celery", "worker"],
        cwd=tmp_path,
        env={**under_load.environment(), "REDIS_URL": broker},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode != 0
    assert "The tables are of a newer release" in done.stdout + done.stderr


def test_the_worker_has_no_memory_left(under_load: Site) -> None:
    """Each worker may have no more than it has; when the limit is lifted it goes on, or is started
    again."""
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    limited = under_load.pids("celery")
    for pid in limited:
        sizes = Path(f"/proc/{pid}/statm").read_text().split()
        now = int(sizes[0]) * resource.getpagesize()
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_AS, (now, resource.RLIM_INFINITY))
    time.sleep(SECONDS)
    assert under_load.health() == (200, "ok")
    for pid in limited:
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_AS, unlimited)
