"""How long the pages and the API of results take in a large project: time, processor time, queries
and size.

    python benchmarks/bench_pages.py [--ratings 1000000] [--raters 1000] [--days 730] [--times 30]
    [--only pairs]

Uses the database of DATABASE_URL, else that of DATA_DIR, else a temporary SQLite file; a project of
this size that an earlier run left there is taken as it is. After `python tests/tools/with_services.py
--postgres` it runs on a PostgreSQL of its own. Requests are made in this process, one after the
other, signed in as a lead: what is measured is the site and the database without the network. "CPU"
is this process's and, on PostgreSQL, that of the connection's own server process; on a busy machine
it says more than the clock.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import large_project

Address = tuple[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ratings", type=int, default=1_000_000)
    parser.add_argument("--raters", type=int, default=1_000)
    parser.add_argument("--days", type=int, default=730)
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--only", default="", help="only addresses whose name holds this text")
    options = parser.parse_args()
    with large_project.database():
        size = {"ratings": options.ratings, "raters": options.raters, "days": options.days}
        project = large_project.find_or_make(**size, say=tell)
        report(project, options)


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def report(project: Any, options: Any) -> None:
    from django.db import connection

    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
    print(f"{connection.vendor}: {describe(project)}; {options.times} requests each\n")
    print("| page | queries | kB | median, ms | p95, ms | CPU, ms |")
    print("|---|---|---|---|---|---|")
    session, api = clients(project)
    gc.collect()
    gc.freeze()  # as the web server does: what was there before is not looked through again
    for name, address in addresses(project):
        if options.only in name:
            row = measure(api if address.startswith("/api/") else session, address, options.times)
            print(
                f"| {name} | {row[0]} | {row[1]:.0f} | {row[2]:.0f} | {row[3]:.0f} | {row[4]:.0f} |",
                flush=True,
            )


def describe(project: Any) -> str:
    from metrics.models import PairTally
    from ratings.models import Rating

    question = project.questions.get()
    raters = project.raters.count()
    met = PairTally.objects.filter(question=question).count()
    return (
        f"{Rating.objects.filter(question=question).count():,} ratings, {project.items.count():,} "
        "items, "
        f"{raters:,} raters, {met:,} of {raters * (raters - 1) // 2:,} pairs met"
    )


def clients(project: Any) -> tuple[Any, Any]:
    """A client signed in as the project's lead, and one with a token."""
    from django.test import Client

    from projects import authentication

    lead = project.members.get(role="lead").user
    session = Client()
    session.force_login(lead)
    return session, Client(headers={"Authorization": f"Bearer {authentication.create(user=lead)}"})


def addresses(project: Any) -> list[Address]:
    from metrics.models import PairTally
    from metrics.results.pairs.pair_results import LISTED
    from metrics.views.common.freshness import Freshness
    from metrics.views.raters.views import PAIRS_A_PAGE

    pair = PairTally.objects.filter(question__project=project).select_related("rater_a", "rater_b")
    first = pair.order_by("-n_items", "rater_a", "rater_b")[0]
    a, b = first.rater_a.key, first.rater_b.key
    page, api = f"/projects/{project.pk}/", f"/api/v1/projects/{project.pk}/agreement/"
    last = -(-min(pair.count(), LISTED) // PAIRS_A_PAGE)
    middle = project.items.order_by("id").values_list("id", flat=True)[project.items.count() // 2]
    rater = f"{page}raters/{a}/"
    fresh = Freshness.of(project.questions.get())
    return [
        ("projects", "/"),
        ("dashboard", page),
        ("dashboard, live", f"{page} asks 0.0 trend-{min(project.raters.count(), 40)}"),
        ("dashboard, live, nothing new", f"{page} asks {fresh.version} -"),
        *[
            (f"dashboard, by {sort}", f"{page}?sort={sort}")
            for sort in ("vs_peers", "pairwise", "bias")
        ],
        *[
            (f"dashboard, {period}", f"{page}?period={period}")
            for period in ("day", "week", "month")
        ],
        ("chart: trend", f"{page}charts/trend.json"),
        ("chart: heat map", f"{page}charts/pairs.json"),
        ("chart: rater's trend", f"{page}charts/rater-trend.json?rater={a}"),
        ("pairs, by items", f"{page}pairs/"),
        ("pairs, by kappa", f"{page}pairs/?sort=kappa"),
        ("pairs, last page", f"{page}pairs/?sort=kappa&page={last}"),
        ("pair", f"{page}pairs/?a={a}&b={b}"),
        ("rater", rater),
        ("items", f"{page}items/"),
        ("items, middle", f"{page}items/?after={middle}"),
        ("items, search", f"{page}items/?search=seg-0000123"),
        ("items, search nothing", f"{page}items/?search=nowhere"),
        ("items, 5 ratings", f"{page}items/?ratings=5"),
        ("items, 2 ratings", f"{page}items/?ratings=2"),
        ("item", f"{page}items/seg-0000123/"),
        ("change", f"{page}change/"),
        ("healthz", "/healthz"),
        ("API: agreement", api),
        ("API: pairs", f"{api}pairs/"),
        ("API: pairs, page of 1000", f"{api}pairs/?page_size=1000"),
        ("API: pairs, next page", f"{api}pairs/ next"),
        ("API: raters", f"{api}raters/"),
        ("API: raters, page of 1000", f"{api}raters/?page_size=1000"),
        *[
            (f"API: trend, {period}", f"{api}trend/?period={period}")
            for period in ("day", "week", "month")
        ],
        ("API: rater's trend", f"{api}raters/{a}/trend/?period=day"),
    ]


def measure(client: Any, address: str, times: int) -> tuple[int, float, float, float, float]:
    """Queries, kB, median and 95th percentile in ms, mean CPU in ms."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    if address.endswith(" next"):
        address = following(client, address.removesuffix(" next"))
    address, *asks = address.split(" ")
    # an open page says what it shows (metrics/views/common/live_updates.py)
    headers = {"X-Shown": asks[1], "X-Places": asks[2]} if asks else {}
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(address, headers=headers)
    n_queries = len(queries)  # now: the next request forgets them
    if answer.status_code not in (200, 204):
        sys.exit(f"{address}: {answer.status_code}")
    server = database_process()
    spent = []
    begun, there = time.process_time(), cpu_of(server)
    for _ in range(times):
        started = time.perf_counter()
        client.get(address, headers=headers)
        spent.append((time.perf_counter() - started) * 1000)
    cpu = (time.process_time() - begun + cpu_of(server) - there) * 1000 / times
    spent.sort()
    return n_queries, len(answer.content) / 1024, spent[times // 2], spent[int(times * 0.95)], cpu


def following(client: Any, address: str) -> str:
    """The second page of a list, as a path."""
    url = urlsplit(client.get(address).json()["next"])
    assert dict(parse_qsl(url.query))["cursor"]
    return f"{url.path}?{url.query}"


def database_process() -> int | None:
    """The process of PostgreSQL that serves this connection, where it runs on this machine."""
    from django.db import connection

    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid: int = cursor.fetchone()[0]
    return pid if Path(f"/proc/{pid}/stat").exists() else None


def cpu_of(pid: int | None) -> float:
    if pid is None:
        return 0.0
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
