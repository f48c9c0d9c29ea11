"""The server as its users meet it: requests a second and CPU a request, over HTTP, with the
counting switched on.

    python benchmarks/bench_http.py                       starts Concord itself: SQLite, then
    PostgreSQL python benchmarks/bench_http.py --url http://127.0.0.1:8000 --token TOKEN [--pid PID]
    python benchmarks/bench_http.py --url URL --path '/v1/projects/1/examples/{item}/categories' \
        --body '{"label": {label}}' --header 'Authorization: Token T' --labels 1,2,3 --items 1-20000
        [--pid PID]

The last form measures any other server by the same client: ``{item}``, ``{rater}`` and ``{label}``
in path and body are filled in. Then nothing is set up or verified. ``--pid`` names the root of a
server's process tree, for its CPU.

Prints one table for single ratings (1, 8 and 32 clients) and one for the rest. After each load the
stored ratings are read back: they must be exactly those that were acknowledged, each once.
PostgreSQL runs with fsync and synchronous_commit on, SQLite with synchronous=FULL. CPU comes from
/proc (Linux).
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
from http_site import Processes, Site, running

LABELS = ["none", "minor", "major", "critical"]


def main() -> None:
    options = arguments()
    print("| server | clients | requests/s | p50 ms | p95 ms | p99 ms | errors | reconnects | CPU ms a request: web "
          "| worker | database | all | client's own | stored = acknowledged | counted after, s |")  # fmt: skip
    print("|" + "---|" * 15, flush=True)
    if options.url:
        measure_url(options)
        return
    rest: list[str] = []
    for kind in options.databases.split(","):
        with running(kind, processes=options.processes, threads=options.threads) as site:
            for clients in numbers(options.clients):
                print(concord_row(site, clients, options.seconds), flush=True)
            if not options.only_single:
                rest += rest_rows(site, options)
    if rest:
        print(
            "\n| server | what | rows | seconds | rows/s | CPU s: web | database | web MB before | "
            "peak web MB |"
        )
        print("|" + "---|" * 9)
        print("\n".join(rest))


def arguments() -> argparse.Namespace:
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


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


# --- single ratings


def single(
    target: http_load.Target, path: str, items: list[str], rater: str
) -> Iterator[tuple[bytes, Any]]:
    """A client's requests: each item once; the mark is what must be stored."""
    for place, item in enumerate(items):
        label = LABELS[(place * 7 + len(rater)) % 4]
        body = json.dumps({"item": item, "rater": rater, "label": label}).encode()
        yield target.request("POST", path, body), (item, rater, label)


def concord_row(site: Site, clients: int, seconds: float) -> str:
    items = site.item_keys(20_000)
    raters = [f"c{clients}-{number}" for number in range(clients)]
    site.post("raters", [{"key": key} for key in raters])
    site.wait_until_counted()
    before = site.processes.cpu()
    path = site.at("ratings")
    done = http_load.run(
        site.target, [single(site.target, path, items, rater) for rater in raters], seconds=seconds
    )
    used = site.processes.cpu()
    counted = site.wait_until_counted()
    verdict = stored_verdict(site, raters, done)
    cpu = {name: used[name] - before[name] for name in used}
    return row(f"{site.name} | {clients}", done, cpu, said=f"{verdict} | {counted:.1f}")


def row(name: str, done: http_load.Result, cpu: dict[str, float], *, said: str) -> str:
    for error in sorted(set(done.errors))[:3]:
        print(f"error: {error}", file=sys.stderr)
    count = max(1, len(done.times))
    milliseconds = {key: 1000 * value / count for key, value in cpu.items()}
    parts = " | ".join(f"{milliseconds.get(key, 0.0):.2f}" for key in ("web", "worker", "database"))
    return (
        f"| {name} | {count / done.seconds:,.0f} | {done.percentile(0.5):.1f} | "
        f"{done.percentile(0.95):.1f} "
        f"| {done.percentile(0.99):.1f} | {len(done.errors)} | {done.reconnects} | {parts} "
        f"| {sum(milliseconds.values()):.2f} | {1000 * done.own_cpu / count:.2f} | {said} |"
    )


def stored_verdict(site: Site, raters: list[str], done: http_load.Result) -> str:
    """Reads every rating back: none lost, none twice, none that was never sent."""
    stored = [row for rater in raters for row in site.ratings(rater)]
    acknowledged, unknown = set(done.acknowledged), set(done.unknown)
    lost, foreign = acknowledged - set(stored), set(stored) - acknowledged - unknown
    doubled = len(stored) - len({(item, rater) for item, rater, _label in stored})
    if lost or foreign or doubled:
        return f"NO: {len(lost)} lost, {len(foreign)} foreign, {doubled} doubled"
    return f"yes ({len(stored):,})"


def measure_url(options: argparse.Namespace) -> None:
    parts = urlsplit(options.url)
    headers = dict(header.split(": ", 1) for header in options.header)
    if options.token:
        headers.setdefault("Authorization", f"Bearer {options.token}")
    target = http_load.Target(parts.hostname or "127.0.0.1", parts.port or 80, headers)
    processes = Processes(root=options.pid)
    if not options.path:
        site = Site(parts.netloc, target, processes)
        site.set_up()
        for clients in numbers(options.clients):
            print(concord_row(site, clients, options.seconds), flush=True)
        return
    first, last = numbers(options.items.replace("-", ","))
    share = (last - first + 1) // sum(numbers(options.clients))
    place = first
    for clients in numbers(options.clients):
        before, requests = processes.cpu(), []
        for number in range(clients):
            requests.append(rival(target, options, range(place, place + share), str(number)))
            place += share
        done = http_load.run(target, requests, seconds=options.seconds)
        used = {name: value - before[name] for name, value in processes.cpu().items()}
        print(row(f"{parts.netloc} | {clients}", done, used, said="not asked | "), flush=True)


def rival(
    target: http_load.Target, options: argparse.Namespace, items: range, rater: str
) -> Iterator[Any]:
    labels = options.labels.split(",")
    for item in items:
        filled = [options.path, options.body]
        for name, value in (
            ("{item}", str(item)),
            ("{rater}", rater),
            ("{label}", labels[item % len(labels)]),
        ):
            filled = [text.replace(name, value) for text in filled]
        yield target.request("POST", filled[0], filled[1].encode()), (item, rater)


# --- the rest


def rest_rows(site: Site, options: argparse.Namespace) -> list[str]:
    rows = []
    for clients in numbers(options.bulk_clients):
        rows += [bulk_items(site, options.rows, clients), bulk_ratings(site, options.rows, clients)]
        site.wait_until_counted()
    rows += [export(site, kind, options.rows) for kind in ("csv", "jsonl", "parquet")]
    return [*rows, next_item(site, options.queue)]


def timed_row(site: Site, what: str, rows: int, work: Any) -> str:
    cpu, peak = site.processes.cpu(), site.processes.memory("VmRSS")
    site.processes.forget_peak()
    started = time.perf_counter()
    work()
    seconds = time.perf_counter() - started
    used = site.processes.cpu()
    return (
        f"| {site.name} | {what} | {rows:,} | {seconds:.2f} | {rows / seconds:,.0f} | "
        f"{used['web'] - cpu['web']:.2f} "
        f"| {used['database'] - cpu['database']:.2f} | {peak:.0f} | "
        f"{site.processes.memory('VmHWM'):.0f} |"
    )


def batches(rows: list[Any]) -> list[bytes]:
    return [
        json.dumps(rows[start : start + 10_000]).encode() for start in range(0, len(rows), 10_000)
    ]


def sent_in_bulk(site: Site, what: str, rows: list[Any], clients: int) -> str:
    """Each client sends one body after the other."""
    bodies, path = batches(rows), site.at(what)
    dealt = [
        ((site.target.request("POST", path, body), None) for body in bodies[n::clients])
        for n in range(clients)
    ]

    def send() -> None:
        done = http_load.run(site.target, dealt, seconds=float("inf"))
        if done.errors:
            sys.exit(f"{what}: {done.errors[0]}")

    name = f"{what} in bulk, {clients} client{'s' if clients > 1 else ''}"
    return timed_row(site, name, len(rows), send)


def bulk_items(site: Site, count: int, clients: int) -> str:
    site.new_project()
    rows = [{"key": f"i{n:07}", "body": {"text": f"Text {n} of a review"}} for n in range(count)]
    return sent_in_bulk(site, "items", rows, clients)


def bulk_ratings(site: Site, count: int, clients: int) -> str:
    """Five raters an item. Exits when what is stored afterwards is not what was sent."""
    raters = [f"b{n}" for n in range(5)]
    site.post("raters", [{"key": key} for key in raters])
    sent = [
        (f"i{n:07}", rater, LABELS[(n * 13 + place) % 4])
        for n in range(count // 5)
        for place, rater in enumerate(raters)
    ]
    rows = [dict(zip(("item", "rater", "label"), said, strict=True)) for said in sent]
    line = sent_in_bulk(site, "ratings", rows, clients)
    if sorted(said for rater in raters for said in site.ratings(rater)) != sorted(sent):
        sys.exit("ratings: what is stored is not what was sent")
    return line


def export(site: Site, kind: str, rows: int) -> str:
    path = f"/projects/{site.project}/data/export.{kind}"
    cookie = f"sessionid={site.session}"
    said: list[int] = []

    def get() -> None:
        status, size, _seconds = site.target.drain(path, Cookie=cookie)
        said.extend((status, size))

    line = timed_row(site, f"export {kind}", rows, get)
    return line if said[0] == 200 else f"| {site.name} | export {kind} | answered {said[0]} |"


def next_item(site: Site, count: int) -> str:
    """Skip an item and be given the next one: what rate.js does."""
    site.fill_queue(count)
    target, cookie = (
        site.target,
        {"Cookie": f"sessionid={site.session}; csrftoken={'c' * 32}", "X-Desk": "sheet"},
    )
    cookie["X-CSRFToken"] = "c" * 32
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    shown = target.call("POST", f"/projects/{site.project}/rate/", b"-", **cookie, **form)
    times = []
    cpu = site.processes.cpu()
    for _turn in range(60):
        shown = target.call("GET", f"/projects/{site.project}/rate/", **cookie)
        times.append(shown.seconds)
        item = shown.body.split(b'data-item="', 1)[1].split(b'"', 1)[0].decode()
        skipped = target.call(
            "POST", f"/projects/{site.project}/rate/{item}/skip/", b"reason=x", **cookie, **form
        )
        if skipped.status != 200:
            sys.exit(f"skip: {skipped.status} {skipped.body[:500]!r}")
    used = site.processes.cpu()
    middle = sorted(times)[len(times) // 2]
    queue = site.time_next_item()
    return (
        f"| {site.name} | next item of {count:,}: page {1000 * middle:.1f} ms, of it the queue "
        f"{queue:.1f} ms | 60 "
        f"| {sum(times):.2f} | {60 / sum(times):.0f} | {used['web'] - cpu['web']:.2f} "
        f"| {used['database'] - cpu['database']:.2f} | | |"
    )


if __name__ == "__main__":
    main()
