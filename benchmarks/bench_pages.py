"""Cost of the result pages and API in a large project: time, processor time, queries, size.

    python benchmarks/bench_pages.py [--ratings 1000000] [--raters 1000] [--days 730] [--times 30]
    [--only pairs]

It uses the database of DATABASE_URL, else that of DATA_DIR, else a temporary SQLite file; a
project of this size from an earlier run is reused. Under `python tests/tools/with_services.py
--postgres` it has a PostgreSQL of its own. Requests are made in this process, one after the other,
signed in as a lead: it measures site and database without the network. "CPU" is this process's
and, on PostgreSQL, that of the connection's server process; on a busy machine it says more than
the clock.
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

NamedUrl = tuple[str, str]


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
    with large_project.open_database():
        size = {"ratings": options.ratings, "raters": options.raters, "days": options.days}
        project = large_project.get_or_create_project(**size, report=print_progress)
        print_report(project, options)


def print_progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def print_report(project: Any, options: Any) -> None:
    from django.db import connection

    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
    print(f"{connection.vendor}: {describe_project(project)}; {options.times} requests each\n")
    print("| page | queries | kB | median, ms | p95, ms | CPU, ms |")
    print("|---|---|---|---|---|---|")
    session, api = create_clients(project)
    gc.freeze()  # as the web server does: existing objects are not scanned again
    for name, url in list_urls(project):
        if options.only in name:
            row = measure_url(api if url.startswith("/api/") else session, url, options.times)
            print(
                f"| {name} | {row[0]} | {row[1]:.0f} | {row[2]:.0f} | {row[3]:.0f} | {row[4]:.0f} |",
                flush=True,
            )


def describe_project(project: Any) -> str:
    from metrics.models import PairTally
    from ratings.models import Rating

    question = project.questions.get()
    raters = project.raters.count()
    n_pairs = PairTally.objects.filter(question=question).count()
    return (
        f"{Rating.objects.filter(question=question).count():,} ratings, {project.items.count():,} "
        "items, "
        f"{raters:,} raters, {n_pairs:,} of {raters * (raters - 1) // 2:,} pairs met"
    )


def create_clients(project: Any) -> tuple[Any, Any]:
    """Return a client signed in as the project's lead, and one with an API token."""
    from django.test import Client

    from projects.services import tokens

    lead = project.members.get(role="lead").user
    session = Client()
    session.force_login(lead)
    return session, Client(headers={"Authorization": f"Bearer {tokens.create_token(user=lead)}"})


def list_urls(project: Any) -> list[NamedUrl]:
    from metrics.models import PairTally
    from metrics.results.pair_results import MAX_LISTED_PAIRS
    from metrics.views.common.live_updates import Freshness
    from metrics.views.pairs import PAIRS_PER_PAGE

    pairs = PairTally.objects.filter(question__project=project).select_related("rater_a", "rater_b")
    largest_pair = pairs.order_by("-n_items", "rater_a", "rater_b")[0]
    a, b = largest_pair.rater_a.key, largest_pair.rater_b.key
    page, api = f"/projects/{project.pk}/", f"/api/v1/projects/{project.pk}/agreement/"
    last_page = -(-min(pairs.count(), MAX_LISTED_PAIRS) // PAIRS_PER_PAGE)
    middle = project.items.order_by("id").values_list("id", flat=True)[project.items.count() // 2]
    rater = f"{page}raters/{a}/"
    freshness = Freshness.for_question(project.questions.get())
    return [
        ("projects", "/"),
        ("dashboard", page),
        ("dashboard, live", f"{page} asks 0.0 trend-{min(project.raters.count(), 40)}"),
        ("dashboard, live, nothing new", f"{page} asks {freshness.version} -"),
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
        ("pairs, last page", f"{page}pairs/?sort=kappa&page={last_page}"),
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


def measure_url(client: Any, url: str, times: int) -> tuple[int, float, float, float, float]:
    """Return queries, kB, median and 95th percentile in ms, mean CPU in ms."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    if url.endswith(" next"):
        url = get_second_page(client, url.removesuffix(" next"))
    url, *live_state = url.split(" ")
    # an open page sends what it shows (metrics/views/common/live_updates.py)
    headers = {"X-Shown-Version": live_state[1], "X-Fragments": live_state[2]} if live_state else {}
    with CaptureQueriesContext(connection) as queries:
        response = client.get(url, headers=headers)
    n_queries = len(queries)  # now: the next request resets them
    if response.status_code not in (200, 204):
        sys.exit(f"{url}: {response.status_code}")
    gc.collect()
    gc.freeze()  # as the web server does before it forks
    server = get_server_pid()
    durations = []
    cpu_start, server_cpu_start = time.process_time(), read_cpu_seconds(server)
    for _ in range(times):
        started = time.perf_counter()
        client.get(url, headers=headers)
        durations.append((time.perf_counter() - started) * 1000)
    cpu = (
        (time.process_time() - cpu_start + read_cpu_seconds(server) - server_cpu_start)
        * 1000
        / times
    )
    durations.sort()
    return (
        n_queries,
        len(response.content) / 1024,
        durations[times // 2],
        durations[int(times * 0.95)],
        cpu,
    )


def get_second_page(client: Any, path: str) -> str:
    """Return the path of the second page of a list."""
    url = urlsplit(client.get(path).json()["next"])
    assert dict(parse_qsl(url.query))["cursor"]
    return f"{url.path}?{url.query}"


def get_server_pid() -> int | None:
    """Return the PostgreSQL process of this connection, if it runs on this machine."""
    from django.db import connection

    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid: int = cursor.fetchone()[0]
    return pid if Path(f"/proc/{pid}/stat").exists() else None


def read_cpu_seconds(pid: int | None) -> float:
    if pid is None:
        return 0.0
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
