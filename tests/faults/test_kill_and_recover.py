"""Killing the worker and the broker during an import and live rating loses nothing.

The short version of the drills (tests/drills), in every test run.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.agreement_site.server.conftest import wait_for
from tests.drills.history import compare_history
from tests.drills.site import LABELS, RatingClients, run_site

pytestmark = pytest.mark.services

RATERS = ["ann", "bob", "cem"]
IMPORTED_RATERS = ["old 1", "old 2", "old 3", "old 4"]
N_IMPORTED_ITEMS = 4000


def write_import_file(path: Path) -> dict[tuple[str, str], str]:
    """Write a CSV file; return {(item, rater): label} of its rows."""
    rng = random.Random(1)
    rows = {
        (f"item {item}", rater): rng.choice(LABELS)
        for item, rater in itertools.product(range(N_IMPORTED_ITEMS), IMPORTED_RATERS)
    }
    lines = [
        "item,rater,label",
        *(f"{item},{rater},{label}" for (item, rater), label in rows.items()),
    ]
    path.write_text("\n".join(lines) + "\n")
    return rows


def test_nothing_is_lost_and_all_is_counted_soon_after(tmp_path: Path) -> None:
    rng = random.Random(2)
    with run_site(postgres=False) as site:
        clients = RatingClients(
            site, raters=RATERS, items=site.create_project(raters=RATERS, items=60)
        )
        rows = write_import_file(tmp_path / "ratings.csv")
        clients.start(3)
        file = str(tmp_path / "ratings.csv")
        import_thread = threading.Thread(
            target=site.run_python, args=["-m", "tests.drills.start_import", file]
        )
        import_thread.start()
        try:
            wait_for(lambda: site.get_import_progress()[0] == "checking", "the check of the file")
            site.kill_process("celery", rng)
            wait_for(lambda: site.get_import_progress()[1] > 0, "the first rows of the import")
            site.kill_process("celery", rng)
            unfinished = site.get_import_progress()[1] < len(rows)
            site.kill_process("valkey-server", rng)
            wait_for(lambda: site.get_import_progress()[0] == "done", "the end of the import")
            site.kill_process("valkey-server", rng)
            import_thread.join()
            time.sleep(1)  # of rating without a broker
        finally:
            clients.stop()
        wait_for(site.is_quiet, "everything to be imported and counted")
        stored = site.read_ratings("--counts")
        history = clients.read_history()

    imported = {key: stored.pop(key) for key in list(stored) if key[1] in IMPORTED_RATERS}
    assert unfinished, "the import was over before anything was killed: make the file longer"
    assert {key: rating.label for key, rating in imported.items()} == rows
    assert {len(rating.history) for rating in imported.values()} == {1}
    assert history.count_outcomes()["ok"] > len(RATERS)
    assert compare_history(history, stored).problems == {}


def test_a_worker_counts_without_any_broker() -> None:
    """Nothing listens at the address of its broker; its sweep needs none."""
    with run_site(postgres=False, REDIS_URL="redis://127.0.0.1:1/0", SWEEP_SECONDS="1") as site:
        site.create_project(raters=["ann"], items=1)
        assert site.call_api(
            "POST", site.build_path("ratings"), {"item": "item 0", "rater": "ann", "label": "minor"}
        )
        wait_for(site.is_quiet, "the sweep")
        assert site.read_ratings("--counts")["item 0", "ann"].label == "minor"


def test_worker_survives_a_broker_restart_during_a_task() -> None:
    """With late acknowledgement Celery 5.7 exits here; with early acknowledgement it goes on.

    It needs no sweep for that.
    """
    with run_site(postgres=False, SWEEP_SECONDS="3600") as site:
        site.create_project(raters=["ann"], items=1)
        wait_for(site.is_worker_listening, "the worker at the broker")
        (worker,), (broker,) = site.find_pids("celery"), site.find_pids("valkey-server")
        with site.lock_database():  # the task waits for it
            site.send_hint()
            wait_for(lambda: not site.count_messages(), "the task in the worker's hands")
            os.kill(broker, signal.SIGKILL)
            wait_for(lambda: site.find_pids("valkey-server") - {broker}, "the broker")
        wait_for(site.is_worker_listening, "the worker at the broker")
        site.call_api(
            "POST", site.build_path("ratings"), {"item": "item 0", "rater": "ann", "label": "major"}
        )
        wait_for(
            lambda: site.call_api("GET", "/healthz")["uncounted"] == 0,
            "the rating to be counted by its hint",
        )
        assert site.find_pids("celery") == {worker}
