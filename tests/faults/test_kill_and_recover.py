"""Killing the worker and the broker in the middle of an import and of live rating loses nothing.

The short brother of the drills (tests/drills), in every test run.
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
from tests.drills.history import judge
from tests.drills.site import LABELS, Clients, running_site

pytestmark = pytest.mark.services

RATERS = ["ann", "bob", "cem"]
IMPORTED = ["old 1", "old 2", "old 3", "old 4"]
IMPORTED_ITEMS = 4000


def write_file(path: Path) -> dict[tuple[str, str], str]:
    """A CSV file; (item, rater) -> label of its rows."""
    chance = random.Random(1)
    rows = {
        (f"item {item}", rater): chance.choice(LABELS)
        for item, rater in itertools.product(range(IMPORTED_ITEMS), IMPORTED)
    }
    lines = [
        "item,rater,label",
        *(f"{item},{rater},{label}" for (item, rater), label in rows.items()),
    ]
    path.write_text("\n".join(lines) + "\n")
    return rows


def test_nothing_is_lost_and_all_is_counted_soon_after(tmp_path: Path) -> None:
    chance = random.Random(2)
    with running_site(postgres=False) as site:
        clients = Clients(site, raters=RATERS, items=site.set_up(raters=RATERS, items=60))
        rows = write_file(tmp_path / "ratings.csv")
        clients.start(3)
        file = str(tmp_path / "ratings.csv")
        importing = threading.Thread(
            target=site.python, args=["-m", "tests.drills.start_import", file]
        )
        importing.start()
        try:
            wait_for(lambda: site.import_run()[0] == "checking", "the check of the file")
            site.kill("celery", chance)
            wait_for(lambda: site.import_run()[1] > 0, "the first rows of the import")
            site.kill("celery", chance)
            unfinished = site.import_run()[1] < len(rows)
            site.kill("valkey-server", chance)
            wait_for(lambda: site.import_run()[0] == "done", "the end of the import")
            site.kill("valkey-server", chance)
            importing.join()
            time.sleep(1)  # of rating without a broker
        finally:
            clients.stop()
        wait_for(site.is_quiet, "everything to be imported and counted")
        stored = site.stored("--counts")
        history = clients.history()

    imported = {key: stored.pop(key) for key in list(stored) if key[1] in IMPORTED}
    assert unfinished, "the import was over before anything was killed: make the file longer"
    assert {key: rating.label for key, rating in imported.items()} == rows
    assert {len(rating.history) for rating in imported.values()} == {1}
    assert history.counts()["ok"] > len(RATERS)
    assert judge(history, stored).problems == {}


def test_a_worker_counts_without_any_broker() -> None:
    """Nobody listens at the address of its broker; its sweep needs none."""
    with running_site(postgres=False, REDIS_URL="redis://127.0.0.1:1/0", SWEEP_SECONDS="1") as site:
        site.set_up(raters=["ann"], items=1)
        assert site.call(
            "POST", site.at("ratings"), {"item": "item 0", "rater": "ann", "label": "minor"}
        )
        wait_for(site.is_quiet, "the sweep")
        assert site.stored("--counts")["item 0", "ann"].label == "minor"


def test_a_worker_survives_a_broker_that_restarts_while_a_task_is_in_its_hands() -> None:
    """With late acknowledgement Celery 5.7 exits here; with its early one it goes on, and needs no
    sweep for that."""
    with running_site(postgres=False, SWEEP_SECONDS="3600") as site:
        site.set_up(raters=["ann"], items=1)
        wait_for(site.worker_listens, "the worker at the broker")
        (worker,), (broker,) = site.pids("celery"), site.pids("valkey-server")
        with site.database_held():  # the task waits for it
            site.send_hint()
            wait_for(lambda: not site.messages(), "the task in the worker's hands")
            os.kill(broker, signal.SIGKILL)
            wait_for(lambda: site.pids("valkey-server") - {broker}, "the broker")
        wait_for(site.worker_listens, "the worker at the broker")
        site.call("POST", site.at("ratings"), {"item": "item 0", "rater": "ann", "label": "major"})
        wait_for(
            lambda: site.call("GET", "/healthz")["uncounted"] == 0,
            "the rating to be counted by its hint",
        )
        assert site.pids("celery") == {worker}
