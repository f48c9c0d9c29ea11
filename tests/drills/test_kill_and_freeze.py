"""`make drill`: kill and freeze everything while ratings arrive; then nothing may be missing.

DRILL_ROUNDS (2), DRILL_SECONDS of a round (20), DRILL_CLIENTS (8) and DRILL_SEED change the
drill. It prints a table with one line for each round, and the number of each fault. It
stops at the first round that failed, with the output of the site. Before a release, a
quarter of an hour for each database:

    DRILL_ROUNDS=20 make drill > drill.txt 2>&1
    # one database alone
    DRILL_ROUNDS=20 .venv/bin/python -m pytest tests/drills -m drill -k SQLite
    DRILL_ROUNDS=20 .venv/bin/python -m pytest tests/drills -m drill -k PostgreSQL
    # the same faults again
    DRILL_SEED=4711 make drill
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
from tests.drills.history import compare_history
from tests.drills.site import DrillSite, RatingClients, inject_faults, run_site

ROUNDS = int(os.environ.get("DRILL_ROUNDS", "2"))
SECONDS = float(os.environ.get("DRILL_SECONDS", "20"))
CLIENTS = int(os.environ.get("DRILL_CLIENTS", "8"))
SEED = int(os.environ.get("DRILL_SEED") or secrets.randbelow(10**6))
ITEMS = 300

pytestmark = [pytest.mark.drill, pytest.mark.timeout(300 + ROUNDS * (SECONDS + 120))]

TABLE_HEADER = (
    f"{'database':12}{'round':>6}{'faults':>7}"
    f"{'acknowledged':>13}{'unknown':>8}{'refused':>8}{'problems':>9}{'exact after':>13}"
)


@pytest.fixture(scope="module", params=["SQLite", "PostgreSQL"])
def site(request: pytest.FixtureRequest) -> Iterator[DrillSite]:
    with run_site(postgres=request.param == "PostgreSQL") as running:
        yield running


def list_faults(site: DrillSite, rng: random.Random) -> list[Any]:
    functions = [
        lambda: site.kill_process("web_server", rng),
        lambda: site.kill_process("celery", rng),
        lambda: site.kill_process("valkey-server", rng),
        lambda: site.freeze_broker(rng.uniform(0.5, 4)),
        site.flush_broker,
    ]
    if site.postgres:
        functions.append(lambda: site.stop_database(rng.uniform(0, 2)))
    return functions


def test_nothing_acknowledged_is_lost_and_counts_are_exact(
    site: DrillSite, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(SEED)
    raters = [f"client{number}" for number in range(CLIENTS)]
    clients = RatingClients(
        site, raters=raters, items=site.create_project(raters=raters, items=ITEMS)
    )
    with capsys.disabled():
        print_line(f"\nseed {SEED}\n{TABLE_HEADER}")
        fault_counts: Counter[str] = Counter()
        for number in range(1, ROUNDS + 1):
            print_line(run_round(site, clients, rng, f"{site.database:12}{number:6}", fault_counts))
        print_line(", ".join(f"{fault} {times} x" for fault, times in sorted(fault_counts.items())))


def print_line(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def run_round(
    site: DrillSite,
    clients: RatingClients,
    rng: random.Random,
    name: str,
    fault_counts: Counter[str],
) -> str:
    """Damage the site under load, let it settle and compare; return the line of the report.

    The faults are added to ``fault_counts``.
    """
    clients.start(rng.randrange(10**6))
    try:
        injected = inject_faults(list_faults(site, rng), rng, seconds=SECONDS)
    finally:
        clients.stop()
    fault_counts.update(injected)
    settling_since = time.monotonic()
    try:
        wait_for(site.is_quiet, f"everything to be counted after {Counter(injected)}")
    except AssertionError:
        sys.stderr.write(site.read_output()[-8000:])  # pytest shows it with the failure
        raise
    settling_seconds = time.monotonic() - settling_since
    history = clients.read_history()
    verdict = compare_history(history, site.read_ratings("--counts"))
    site.run_manage("audit")
    counts = history.count_outcomes()
    rejected = [
        message
        for name, message in history.messages.items()
        if history.outcomes[name] == "fail" and message[:1].isdigit()
    ]
    assert not verdict.problems, f"seed {SEED}: {verdict.problems}"
    assert not rejected, f"seed {SEED}: {rejected[:3]}"
    assert counts["ok"]
    return f"{name}{len(injected):7}{counts['ok']:13}{counts['unknown']:8}{counts['fail']:8}{0:9}{settling_seconds:11.0f} s"
