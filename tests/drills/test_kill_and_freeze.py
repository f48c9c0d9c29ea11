"""`make drill`: everything is killed and frozen while ratings arrive, and then nothing may be
missing.

DRILL_ROUNDS (2), DRILL_SECONDS of a round (20), DRILL_CLIENTS (8) and DRILL_SEED change the drill;
it prints a table, a line a round, and what was hurt how often. It stops at the first round that
failed, with what the site said. Before a release, a quarter of an hour for each database:

    DRILL_ROUNDS=20 make drill > drill.txt 2>&1 DRILL_ROUNDS=20 .venv/bin/python -m pytest
    tests/drills -m drill -k SQLite        # one database alone DRILL_ROUNDS=20 .venv/bin/python -m
    pytest tests/drills -m drill -k PostgreSQL DRILL_SEED=4711 make drill
    # the same faults again
"""

from __future__ import annotations

import os
import random
import secrets
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.agreement_site.server.conftest import wait_for
from tests.drills.history import judge
from tests.drills.site import Clients, Site, hurt, running_site

ROUNDS = int(os.environ.get("DRILL_ROUNDS", "2"))
SECONDS = float(os.environ.get("DRILL_SECONDS", "20"))
CLIENTS = int(os.environ.get("DRILL_CLIENTS", "8"))
SEED = int(os.environ.get("DRILL_SEED") or secrets.randbelow(10**6))
ITEMS = 300

pytestmark = [pytest.mark.drill, pytest.mark.timeout(300 + ROUNDS * (SECONDS + 120))]

HEAD = (
    f"{'database':12}{'round':>6}{'faults':>7}"
    f"{'acknowledged':>13}{'unknown':>8}{'refused':>8}{'problems':>9}{'exact after':>13}"
)


@pytest.fixture(scope="module", params=["SQLite", "PostgreSQL"])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    with running_site(postgres=request.param == "PostgreSQL") as running:
        yield running


def faults(site: Site, chance: random.Random) -> list[Any]:
    chosen = [
        lambda: site.kill("web_server", chance),
        lambda: site.kill("celery", chance),
        lambda: site.kill("valkey-server", chance),
        lambda: site.freeze_broker(chance.uniform(0.5, 4)),
        site.flush_broker,
    ]
    if site.postgres:
        chosen.append(lambda: site.stop_database(chance.uniform(0, 2)))
    return chosen


def test_nothing_acknowledged_is_lost_and_counts_are_exact(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(SEED)
    raters = [f"client{number}" for number in range(CLIENTS)]
    clients = Clients(site, raters=raters, items=site.set_up(raters=raters, items=ITEMS))
    database = "PostgreSQL" if site.postgres else "SQLite"
    with capsys.disabled():
        say(f"\nseed {SEED}\n{HEAD}")
        done: Counter[str] = Counter()
        for number in range(1, ROUNDS + 1):
            say(one_round(site, clients, chance, f"{database:12}{number:6}", done))
        say(", ".join(f"{what} {times} x" for what, times in sorted(done.items())))


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def one_round(
    site: Site, clients: Clients, chance: random.Random, name: str, all_done: Counter[str]
) -> str:
    """Hurt the site under load, let it rest, judge. The line of the report; what was done is added
    to ``all_done``."""
    clients.start(chance.randrange(10**6))
    try:
        done = hurt(faults(site, chance), chance, seconds=SECONDS)
    finally:
        clients.stop()
    all_done.update(done)
    quiet = time.monotonic()
    try:
        wait_for(site.is_quiet, f"everything to be counted after {Counter(done)}")
    except AssertionError:
        sys.stderr.write(site.said()[-8000:])  # pytest shows it with the failure
        raise
    waited = time.monotonic() - quiet
    history = clients.history()
    verdict = judge(history, site.stored("--counts"))
    site.manage("audit")
    counts = history.counts()
    refused = [
        said
        for name, said in history.said.items()
        if history.outcome[name] == "fail" and said[:1].isdigit()
    ]
    assert not verdict.problems, f"seed {SEED}: {verdict.problems}"
    assert not refused, f"seed {SEED}: {refused[:3]}"
    assert counts["ok"]
    return f"{name}{len(done):7}{counts['ok']:13}{counts['unknown']:8}{counts['fail']:8}{0:9}{waited:11.0f} s"
