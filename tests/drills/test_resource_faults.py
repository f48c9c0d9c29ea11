"""`make drill`: resource faults, each once on each database where it applies, while clients rate.

The faults are disks that are full, a locked table, no free connection, a broker that
accepts nothing, an older worker, no memory. While a fault lasts, /healthz or `manage.py
status` reports it; after it, nothing acknowledged is lost or doubled, and all counts and
results are exact. DRILL_FAULT_SECONDS (6) is how long each lasts.
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
from tests.drills.history import compare_history
from tests.drills.site import DrillSite, RatingClients, run_site

SECONDS = float(os.environ.get("DRILL_FAULT_SECONDS", "6"))
CLIENTS, ITEMS, DISK_MEGABYTES = 4, 100, 400
CODE_FOLDERS = ("agreement_site", "events", "core", "metrics", "projects", "quality", "ratings")

pytestmark = [pytest.mark.drill, pytest.mark.timeout(600)]


@pytest.fixture(scope="module", params=["SQLite", "PostgreSQL"])
def site(request: pytest.FixtureRequest) -> Iterator[DrillSite]:
    with run_site(postgres=request.param == "PostgreSQL", disks=DISK_MEGABYTES) as running:
        yield running


@pytest.fixture(scope="module")
def clients(site: DrillSite) -> RatingClients:
    raters = [f"client{number}" for number in range(CLIENTS)]
    return RatingClients(site, raters=raters, items=site.create_project(raters=raters, items=ITEMS))


@pytest.fixture
def site_under_load(site: DrillSite, clients: RatingClients) -> Iterator[DrillSite]:
    """Yield a site on which clients rate before, during and after the fault.

    At the end all ratings are checked.
    """
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
        sys.stderr.write(site.read_output()[-8000:])  # pytest shows it with the failure
        raise
    verdict = compare_history(clients.read_history(), site.read_ratings("--counts"))
    site.run_manage("audit")
    assert not verdict.problems
    assert clients.read_history().count_outcomes()["ok"]


def build_health_check(site: DrillSite, status: int, state: str) -> Callable[[], bool]:
    return lambda: site.get_health() == (status, state)


@contextlib.contextmanager
def fill_disk(folder: Path) -> Iterator[None]:
    """Fill the disk of the folder, which is one of its own."""
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


def get_postgres_url(site: DrillSite) -> str:
    if site.postgres is None:
        pytest.skip("a fault of PostgreSQL")
    return site.postgres.url


# --- disks


def test_full_disk_of_the_data_folder_is_reported(site_under_load: DrillSite) -> None:
    with fill_disk(site_under_load.data_dir):
        time.sleep(SECONDS)
        if site_under_load.postgres:
            assert site_under_load.get_health() == (200, "ok")  # ratings need no room there
        else:
            wait_for(build_health_check(site_under_load, 503, "disk"), "a word of the full disk")
    wait_for(build_health_check(site_under_load, 200, "ok"), "readiness")
    problems = site_under_load.list_problems()
    assert any("left for DATA_DIR" in problem for problem in problems)  # less than 1 GB, as always


def test_full_disk_of_the_database_is_reported(site_under_load: DrillSite) -> None:
    get_postgres_url(site_under_load)
    server = site_under_load.postgres
    assert server is not None

    def is_noticed() -> bool:
        """Return True once /healthz reports the database.

        PostgreSQL goes on in log files that it created before; switching fills them quickly.
        """
        with (
            contextlib.suppress(psycopg.OperationalError),
            psycopg.connect(server.url) as connection,
        ):
            connection.execute("SELECT pg_switch_wal()")
        return site_under_load.get_health() == (503, "database")

    with fill_disk(server.folder):
        wait_for(is_noticed, "a word of the full disk")
        time.sleep(SECONDS)
    if server.process is not None and server.process.poll() is not None:
        server.start()  # it ended without room for its log; its service would restart it
    wait_for(build_health_check(site_under_load, 200, "ok"), "readiness")


# --- PostgreSQL


def test_locked_table_is_reported(site_under_load: DrillSite) -> None:
    with psycopg.connect(get_postgres_url(site_under_load)) as holder:
        holder.execute("LOCK TABLE ratings_rating IN ACCESS EXCLUSIVE MODE")
        started = time.monotonic()
        assert site_under_load.get_health() == (503, "database")
        assert time.monotonic() - started < 5  # two seconds, where the machine has time
        time.sleep(SECONDS)
    wait_for(build_health_check(site_under_load, 200, "ok"), "readiness")


def test_missing_connections_are_reported(site_under_load: DrillSite) -> None:
    url = get_postgres_url(site_under_load)
    others = "application_name LIKE 'concord%' AND pid <> pg_backend_pid()"
    with psycopg.connect(url, autocommit=True) as holder, contextlib.ExitStack() as connections:

        def take_all() -> None:
            with contextlib.suppress(psycopg.OperationalError):
                while True:
                    connections.enter_context(contextlib.closing(psycopg.connect(url)))

        take_all()
        holder.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
        take_all()
        wait_for(
            build_health_check(site_under_load, 503, "database"),
            "a word of the missing connections",
        )
        time.sleep(SECONDS)
    wait_for(build_health_check(site_under_load, 200, "ok"), "readiness")


# --- broker and workers


def test_full_broker_is_reported(site_under_load: DrillSite) -> None:
    with site_under_load.connect_to_broker() as client:
        client.config_set("maxmemory", "1")
        try:
            time.sleep(SECONDS)
            assert site_under_load.get_health() == (200, "ok")
            assert "The broker rejects writes" in site_under_load.list_problems()
        finally:
            client.config_set("maxmemory", "0")


def test_a_worker_of_an_older_release_refuses_to_start(
    site_under_load: DrillSite, tmp_path: Path
) -> None:
    """The worker runs from a copy of this checkout without the newest migration of metrics."""
    for name in (*CODE_FOLDERS, "locale", "manage.py", "pyproject.toml"):
        source = BASE_DIR / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, tmp_path / name)
    newest = max((tmp_path / "metrics" / "migrations").glob("0*.py"))
    newest.unlink()
    broker = f"redis+socket://{embedded_broker.get_broker_socket(site_under_load.data_dir)}"
    result = subprocess.run(
        [sys.executable, "-m", "agreement_site.server.worker"],
        cwd=tmp_path,
        env={**site_under_load.build_environment(), "REDIS_URL": broker},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert result.returncode != 0
    assert "The tables are of a newer release" in result.stdout + result.stderr


def test_worker_without_memory_recovers(site_under_load: DrillSite) -> None:
    """Each worker may use no more memory than it has.

    When the limit is lifted it goes on, or is started again.
    """
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    worker_pids = site_under_load.find_pids("celery")
    for pid in worker_pids:
        sizes = Path(f"/proc/{pid}/statm").read_text().split()
        current_bytes = int(sizes[0]) * resource.getpagesize()
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_AS, (current_bytes, resource.RLIM_INFINITY))
    time.sleep(SECONDS)
    assert site_under_load.get_health() == (200, "ok")
    for pid in worker_pids:
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_AS, unlimited)
