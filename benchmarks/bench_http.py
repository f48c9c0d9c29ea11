"""Throughput of the server over HTTP: requests per second and CPU per request, with counting on.

    python benchmarks/bench_http.py

It starts Concord itself, on SQLite and then on PostgreSQL. Or it measures a running Concord:

    python benchmarks/bench_http.py --url http://127.0.0.1:8000 --token TOKEN [--pid PID]

Or any other server, by the same client:

    python benchmarks/bench_http.py --url URL --path '/v1/projects/1/examples/{item}/categories'
        --body '{"label": {label}}' --header 'Authorization: Token T' --labels 1,2,3
        --items 1-20000 [--pid PID]

``{item}``, ``{rater}`` and ``{label}`` in path and body are then filled in, and nothing is set up
or verified. ``--pid`` is the root of a server's process tree, for its CPU.

It prints one table for single ratings (1, 8 and 32 clients) and one for the rest. After each load
the stored ratings are read back: they must be exactly the acknowledged ones, each once. PostgreSQL
runs with fsync and synchronous_commit on, SQLite with synchronous=FULL. CPU comes from /proc
(Linux).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import http_load
from http_site import BenchmarkSite, ServerProcesses, run_site

LABELS = ["none", "minor", "major", "critical"]


def main() -> None:
    options = parse_arguments()
    print("| server | clients | requests/s | p50 ms | p95 ms | p99 ms | errors | reconnects | CPU ms a request: web "
          "| worker | database | all | client's own | stored = acknowledged | counted after, s |")  # fmt: skip
    print("|" + "---|" * 15, flush=True)
    if options.url:
        measure_url(options)
        return
    other_rows: list[str] = []
    for kind in options.databases.split(","):
        with run_site(kind, processes=options.processes, threads=options.threads) as site:
            for clients in parse_numbers(options.clients):
                print(measure_concord(site, clients, options.seconds), flush=True)
            if not options.only_single:
                other_rows += measure_others(site, options)
    if other_rows:
        print(
            "\n| server | what | rows | seconds | rows/s | CPU s: web | database | web MB before | "
            "peak web MB |"
        )
        print("|" + "---|" * 9)
        print("\n".join(other_rows))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--databases", default="sqlite,postgresql")
    parser.add_argument("--clients", default="1,8,32")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each load")
    parser.add_argument(
        "--rows", type=int, default=100_000, help="of the bulk requests and the exports"
    )
    parser.add_argument("--bulk-clients", default="1,4", help="that send bulk requests at once")
    parser.add_argument(
        "--queue", type=int, default=1_000_000, help="items of the project whose next item is asked"
    )
    parser.add_argument("--only-single", action="store_true", help="single ratings alone")
    parser.add_argument("--processes", help="WEB_PROCESSES")
    parser.add_argument("--threads", help="WEB_THREADS")
    parser.add_argument("--url")
    parser.add_argument(
        "--token", help="of a superuser or of somebody who may create projects (Concord)"
    )
    parser.add_argument("--pid", type=int)
    parser.add_argument("--path")
    parser.add_argument("--body", default="")
    parser.add_argument("--header", action="append", default=[])
    parser.add_argument("--labels", default=",".join(LABELS))
    parser.add_argument("--items", default="1-20000")
    return parser.parse_args()


def parse_numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


# --- single ratings


def iter_single_ratings(
    target: http_load.Target, path: str, items: list[str], rater: str
) -> Iterator[tuple[bytes, Any]]:
    """Yield a client's requests, each item once; the mark is the rating that must be stored."""
    for index, item in enumerate(items):
        label = LABELS[(index * 7 + len(rater)) % 4]
        body = json.dumps({"item": item, "rater": rater, "label": label}).encode()
        yield target.build_request("POST", path, body), (item, rater, label)


def measure_concord(site: BenchmarkSite, clients: int, seconds: float) -> str:
    items = site.build_item_keys(20_000)
    raters = [f"c{clients}-{number}" for number in range(clients)]
    site.post("raters", [{"key": key} for key in raters])
    site.wait_until_counted()
    cpu_before = site.processes.get_cpu()
    path = site.get_path("ratings")
    result = http_load.run_load(
        site.target,
        [iter_single_ratings(site.target, path, items, rater) for rater in raters],
        seconds=seconds,
    )
    cpu_after = site.processes.get_cpu()
    count_seconds = site.wait_until_counted()
    verdict = verify_stored(site, raters, result)
    cpu = {name: cpu_after[name] - cpu_before[name] for name in cpu_after}
    return format_row(
        f"{site.name} | {clients}", result, cpu, suffix=f"{verdict} | {count_seconds:.1f}"
    )


def format_row(
    name: str, result: http_load.LoadResult, cpu: dict[str, float], *, suffix: str
) -> str:
    for error in sorted(set(result.errors))[:3]:
        print(f"error: {error}", file=sys.stderr)
    count = max(1, len(result.times))
    milliseconds = {key: 1000 * value / count for key, value in cpu.items()}
    cpu_cells = " | ".join(
        f"{milliseconds.get(key, 0.0):.2f}" for key in ("web", "worker", "database")
    )
    return (
        f"| {name} | {count / result.seconds:,.0f} | {result.get_percentile(0.5):.1f} | "
        f"{result.get_percentile(0.95):.1f} "
        f"| {result.get_percentile(0.99):.1f} | {len(result.errors)} | {result.reconnects} | {cpu_cells} "
        f"| {sum(milliseconds.values()):.2f} | {1000 * result.own_cpu / count:.2f} | {suffix} |"
    )


def verify_stored(site: BenchmarkSite, raters: list[str], result: http_load.LoadResult) -> str:
    """Read every rating back: none lost, none stored twice, none that was never sent."""
    stored = [rating for rater in raters for rating in site.fetch_ratings(rater)]
    acknowledged, unknown = set(result.acknowledged), set(result.unknown)
    missing, unexpected = acknowledged - set(stored), set(stored) - acknowledged - unknown
    doubled = len(stored) - len({(item, rater) for item, rater, _label in stored})
    if missing or unexpected or doubled:
        return f"NO: {len(missing)} lost, {len(unexpected)} foreign, {doubled} doubled"
    return f"yes ({len(stored):,})"


def measure_url(options: argparse.Namespace) -> None:
    parts = urlsplit(options.url)
    headers = dict(header.split(": ", 1) for header in options.header)
    if options.token:
        headers.setdefault("Authorization", f"Bearer {options.token}")
    target = http_load.Target(parts.hostname or "127.0.0.1", parts.port or 80, headers)
    processes = ServerProcesses(root=options.pid)
    if not options.path:
        site = BenchmarkSite(parts.netloc, target, processes)
        site.set_up()
        for clients in parse_numbers(options.clients):
            print(measure_concord(site, clients, options.seconds), flush=True)
        return
    first_item, last_item = parse_numbers(options.items.replace("-", ","))
    items_per_client = (last_item - first_item + 1) // sum(parse_numbers(options.clients))
    next_item_number = first_item
    for clients in parse_numbers(options.clients):
        cpu_before, requests = processes.get_cpu(), []
        for number in range(clients):
            requests.append(
                iter_other_requests(
                    target,
                    options,
                    range(next_item_number, next_item_number + items_per_client),
                    str(number),
                )
            )
            next_item_number += items_per_client
        result = http_load.run_load(target, requests, seconds=options.seconds)
        cpu = {name: value - cpu_before[name] for name, value in processes.get_cpu().items()}
        print(
            format_row(f"{parts.netloc} | {clients}", result, cpu, suffix="not asked | "),
            flush=True,
        )


def iter_other_requests(
    target: http_load.Target, options: argparse.Namespace, items: range, rater: str
) -> Iterator[Any]:
    labels = options.labels.split(",")
    for item in items:
        texts = [options.path, options.body]
        for name, value in (
            ("{item}", str(item)),
            ("{rater}", rater),
            ("{label}", labels[item % len(labels)]),
        ):
            texts = [text.replace(name, value) for text in texts]
        yield target.build_request("POST", texts[0], texts[1].encode()), (item, rater)


# --- bulk requests, exports, queue


def measure_others(site: BenchmarkSite, options: argparse.Namespace) -> list[str]:
    rows = []
    for clients in parse_numbers(options.bulk_clients):
        rows += [
            measure_bulk_items(site, options.rows, clients),
            measure_bulk_ratings(site, options.rows, clients),
        ]
        site.wait_until_counted()
    rows += [measure_export(site, kind, options.rows) for kind in ("csv", "jsonl", "parquet")]
    return [*rows, measure_next_item(site, options.queue)]


def measure_row(site: BenchmarkSite, name: str, rows: int, run: Any) -> str:
    cpu, peak = site.processes.get_cpu(), site.processes.get_memory("VmRSS")
    site.processes.reset_peak()
    started = time.perf_counter()
    run()
    seconds = time.perf_counter() - started
    cpu_after = site.processes.get_cpu()
    return (
        f"| {site.name} | {name} | {rows:,} | {seconds:.2f} | {rows / seconds:,.0f} | "
        f"{cpu_after['web'] - cpu['web']:.2f} "
        f"| {cpu_after['database'] - cpu['database']:.2f} | {peak:.0f} | "
        f"{site.processes.get_memory('VmHWM'):.0f} |"
    )


def build_batches(rows: list[Any]) -> list[bytes]:
    return [
        json.dumps(rows[start : start + 10_000]).encode() for start in range(0, len(rows), 10_000)
    ]


def measure_bulk(site: BenchmarkSite, kind: str, rows: list[Any], clients: int) -> str:
    """Send the rows in batches; each client sends one batch after the other."""
    bodies, path = build_batches(rows), site.get_path(kind)
    client_requests = [
        ((site.target.build_request("POST", path, body), None) for body in bodies[n::clients])
        for n in range(clients)
    ]

    def send_all() -> None:
        result = http_load.run_load(site.target, client_requests, seconds=float("inf"))
        if result.errors:
            sys.exit(f"{kind}: {result.errors[0]}")

    name = f"{kind} in bulk, {clients} client{'s' if clients > 1 else ''}"
    return measure_row(site, name, len(rows), send_all)


def measure_bulk_items(site: BenchmarkSite, count: int, clients: int) -> str:
    site.create_project()
    rows = [{"key": f"i{n:07}", "body": {"text": f"Text {n} of a review"}} for n in range(count)]
    return measure_bulk(site, "items", rows, clients)


def measure_bulk_ratings(site: BenchmarkSite, count: int, clients: int) -> str:
    """Send five ratings per item. Exits when the stored ratings are not the ones sent."""
    raters = [f"b{n}" for n in range(5)]
    site.post("raters", [{"key": key} for key in raters])
    sent = [
        (f"i{n:07}", rater, LABELS[(n * 13 + rater_index) % 4])
        for n in range(count // 5)
        for rater_index, rater in enumerate(raters)
    ]
    rows = [dict(zip(("item", "rater", "label"), rating, strict=True)) for rating in sent]
    table_row = measure_bulk(site, "ratings", rows, clients)
    if sorted(rating for rater in raters for rating in site.fetch_ratings(rater)) != sorted(sent):
        sys.exit("ratings: what is stored is not what was sent")
    return table_row


def measure_export(site: BenchmarkSite, kind: str, rows: int) -> str:
    path = f"/projects/{site.project}/data/export.{kind}"
    cookie = f"sessionid={site.session}"
    answer: list[int] = []

    def download() -> None:
        status, size, _seconds = site.target.drain(path, Cookie=cookie)
        answer.extend((status, size))

    table_row = measure_row(site, f"export {kind}", rows, download)
    return (
        table_row if answer[0] == 200 else f"| {site.name} | export {kind} | answered {answer[0]} |"
    )


def measure_next_item(site: BenchmarkSite, count: int) -> str:
    """Skip an item and get the next one, as rate.js does."""
    site.fill_queue(count)
    target, headers = (
        site.target,
        {"Cookie": f"sessionid={site.session}; csrftoken={'c' * 32}", "X-Annotation": "sheet"},
    )
    headers["X-CSRFToken"] = "c" * 32
    form_headers = {"Content-Type": "application/x-www-form-urlencoded"}
    page = target.call("POST", f"/projects/{site.project}/rate/", b"-", **headers, **form_headers)
    times = []
    cpu = site.processes.get_cpu()
    for _turn in range(60):
        page = target.call("GET", f"/projects/{site.project}/rate/", **headers)
        times.append(page.seconds)
        item = page.body.split(b'data-item="', 1)[1].split(b'"', 1)[0].decode()
        skipped = target.call(
            "POST",
            f"/projects/{site.project}/rate/{item}/skip/",
            b"reason=x",
            **headers,
            **form_headers,
        )
        if skipped.status != 200:
            sys.exit(f"skip: {skipped.status} {skipped.body[:500]!r}")
    cpu_after = site.processes.get_cpu()
    median = sorted(times)[len(times) // 2]
    queue = site.measure_next_item()
    return (
        f"| {site.name} | next item of {count:,}: page {1000 * median:.1f} ms, of it the queue "
        f"{queue:.1f} ms | 60 "
        f"| {sum(times):.2f} | {60 / sum(times):.0f} | {cpu_after['web'] - cpu['web']:.2f} "
        f"| {cpu_after['database'] - cpu['database']:.2f} | | |"
    )


if __name__ == "__main__":
    main()
