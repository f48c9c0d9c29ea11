"""How counting grows: one changed rating, a backlog with one and two workers, and a burst, on
projects of 10^4 to 10^7.

    python benchmarks/bench_counting.py [--sizes 10000,100000,1000000] [--backlog 1000000]
    [--workers 1,2] [--burst 30] python tests/tools/with_services.py --postgres python
    benchmarks/bench_counting.py

Uses the database of DATABASE_URL (emptied of nothing: each figure makes a project of its own), else
a temporary SQLite file. 10^7 is asked for by --sizes; 0 leaves a part out. Three tables; the ratios
are within this run: one change against one change in the smallest project, a backlog against
reading the same rows into NumPy, two workers against one, and one while the dashboard is asked for
all the time. Workers are processes that know nothing of each other. The burst needs a broker
(REDIS_URL, as with_services.py gives).
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import queue
import resource
import statistics
import subprocess
import sys
import threading
import time
from typing import Any

import large_project
import numpy as np

PER_ITEM = 5
LABELS = 5
PORTION = 100_000
RATE = 1_000  # ratings a second in the burst


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--backlog", type=int, default=1_000_000)
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--burst", type=int, default=30, help="seconds")
    parser.add_argument("--raters", type=int, default=100)
    parser.add_argument("--days", type=int, default=730)
    parser.add_argument("--changes", type=int, default=15)
    # a worker of the backlog: the question
    parser.add_argument("--work", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    with large_project.database():
        if options.work:
            work(options.work)
            return
        from django.db import connection

        print(
            f"{connection.vendor}: {PER_ITEM} ratings an item, k = {LABELS}, {options.raters} "
            "raters, "
            f"{options.days} days"
        )
        growth(list(map(int, options.sizes.split(","))), options)
        if options.backlog:
            backlogs(options.backlog, list(map(int, options.workers.split(","))), options)
        if options.burst:
            burst(options.burst, options)


def processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


# --- one changed rating


def growth(sizes: list[int], options: Any) -> None:
    from metrics.jobs import question_updates

    print(
        "\n| ratings | one recent change, ms | processor, ms | what the sweep adds, processor, ms "
        "| one change of any day, ms | recent / smallest |"
    )
    print("|---|---|---|---|---|---|")
    smallest = None
    for size in filter(None, sizes):
        question, last_items = make_project(size, options)
        question_updates.bring_up_to_date(question.pk)
        question_updates.sweep()
        tidy_up()
        recent, processor, later = one_change(question, last_items, options.changes)
        anywhere, _processor, _later = one_change(question, None, options.changes)
        smallest = smallest or recent
        print(
            f"| {size:,} | {recent:.1f} | {processor:.1f} | {later:.1f} | {anywhere:.1f} | "
            f"{recent / smallest:.2f} |",
            flush=True,
        )


# --- a backlog


def backlogs(size: int, workers: list[int], options: Any) -> None:
    print(
        "\n| backlog | workers | read into NumPy, s | count + readings, s | ratings/s | count / "
        "read "
        "| processor of workers / of reading | one worker / this | peak MB a worker | page "
        "meanwhile p50, p95, ms |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    first = None
    # Who looks at pages takes a good part of a core: that is a run of its own.
    for number, looked_at in [*((number, False) for number in workers), (workers[0], True)]:
        row = backlog(size, number, options, looked_at=looked_at)
        pages = "{:.0f}, {:.0f}".format(*np.percentile(row["pages"], [50, 95])) if looked_at else ""
        first = first or row["count"]
        print(
            f"| {size:,} | {number} | {row['read']:.2f} | {row['count']:.2f} | "
            f"{size / row['count']:,.0f} "
            f"| {row['count'] / row['read']:.1f} | {row['processor']:.1f} | "
            f"{first / row['count']:.2f} "
            f"| {row['peak']:.0f} | {pages} |",
            flush=True,
        )


def backlog(size: int, workers: int, options: Any, *, looked_at: bool) -> dict[str, Any]:
    question, _items = make_project(size, options)
    before, started = processor_time(), time.perf_counter()
    read_rows(question)
    read, processor = time.perf_counter() - started, processor_time() - before
    command = [sys.executable, __file__, "--work", str(question.pk)]
    pipe = subprocess.PIPE
    running = [
        subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _number in range(workers)
    ]
    for process in running:
        assert process.stdout
        process.stdout.readline()  # ready
    started = time.perf_counter()
    for process in running:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    pages = look_at_pages(question, running) if looked_at else []
    said = [json.loads(process.communicate()[0]) for process in running]
    return {
        "read": read,
        "count": max(one["ended"] for one in said) - started,
        "processor": sum(one["processor"] for one in said) / processor,
        "peak": max(one["peak"] for one in said),
        "pages": pages,
    }


def work(question_id: int) -> None:
    """A worker: a process of its own."""
    from metrics.jobs import question_updates

    print("ready", flush=True)
    sys.stdin.readline()
    before = processor_time()
    question_updates.bring_up_to_date(question_id)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    # perf_counter is the machine's clock on Linux: the same for all processes.
    print(
        json.dumps(
            {"ended": time.perf_counter(), "processor": processor_time() - before, "peak": peak}
        )
    )


def look_at_pages(question: Any, running: list[Any]) -> list[float]:
    """Milliseconds of the dashboard, asked for again and again until the workers are done."""
    from django.contrib.auth.models import User
    from django.test import Client

    from projects.models import Member

    user, _new = User.objects.get_or_create(username="bench")
    Member.objects.get_or_create(
        project=question.project, user=user, defaults={"role": Member.Role.LEAD}
    )
    client = Client()
    client.force_login(user)
    spent = []
    while any(process.poll() is None for process in running):
        started = time.perf_counter()
        assert client.get(f"/projects/{question.project_id}/").status_code == 200
        spent.append((time.perf_counter() - started) * 1000)
        time.sleep(0.3)
    return spent


# --- a burst


def burst(seconds: int, options: Any) -> None:
    """RATE ratings a second, a Celery worker that counts them, and how long it takes until they are
    in the readings."""
    from django.conf import settings

    if not settings.REDIS_URL:
        print("\nNo burst without a broker: run it under tests/tools/with_services.py.")
        return
    from metrics.jobs import question_updates

    question, _items = make_project(10_000, options)
    question_updates.bring_up_to_date(question.pk)
    command = [
        sys.executable,
        "-m",
        "celery",
        "--app",
        "agreement_site.celery",
        "--quiet",
        "worker",
    ]
    command += ["--pool", "threads", "--concurrency", "2", "--loglevel", "ERROR"]
    command += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    worker = subprocess.Popen(
        command, cwd=large_project.ROOT, env={**os.environ, "BROKER_SOCKET_TIMEOUT": "30"}
    )
    try:
        wait_for_the_worker(question)
        probes: queue.Queue[Any] = queue.Queue()
        fresh: list[float] = []
        watching = threading.Thread(target=watch, args=(question.pk, probes, fresh))
        watching.start()
        written, took, lengths = write_for(seconds, question, probes)
        probes.put(None)
        watching.join()
    finally:
        worker.terminate()
        worker.wait()
    print("\n| burst | written | freshness p50, p95, max, s | messages waiting, max |")
    print("|---|---|---|---|")
    figures = ", ".join(f"{np.percentile(fresh, q):.2f}" for q in (50, 95, 100))
    print(
        f"| {RATE}/s for {seconds} s | {written / took:,.0f}/s | {figures} ({len(fresh)} probes) | "
        f"{max(lengths)} |"
    )


def write_for(
    seconds: int, question: Any, probes: queue.Queue[Any]
) -> tuple[int, float, list[int]]:
    """Rate new items, PER_ITEM times each, a tenth of RATE ten times a second; how many ratings
    that were, in how many seconds, and the queue's length meanwhile."""
    from metrics.jobs import hints
    from projects.models import Item
    from ratings.services.judgement import Judgement
    from ratings.services.record import record

    rng = np.random.default_rng(7)
    some = RATE // 10 // PER_ITEM
    project = question.project
    keys = [f"new {number}" for number in range(some * seconds * 10)]
    made = Item.objects.bulk_create(
        (Item(project=project, key=key, body={}) for key in keys), batch_size=500
    )
    raters = list(project.raters.order_by("id").values_list("id", flat=True))
    written, lengths, started = 0, [], time.perf_counter()
    for turn in range(seconds * 10):
        rows = [
            Judgement(item.pk, raters[rater], int(rng.integers(LABELS)))
            for item in made[turn * some : (turn + 1) * some]
            for rater in rng.choice(len(raters), PER_ITEM, replace=False).tolist()
        ]
        record({question: rows}, by=None, source="api")
        written += len(rows)
        if turn % 3 == 0:
            probes.put((rows[-1], time.time()))
            lengths.append(hints.client().llen(f"{settings_prefix()}celery"))
        time.sleep(max(0.0, started + (turn + 1) / 10 - time.perf_counter()))
    return written, time.perf_counter() - started, lengths


def wait_for_the_worker(question: Any) -> None:
    """Until it has counted a change."""
    from ratings.models import Rating
    from ratings.services.judgement import Judgement
    from ratings.services.record import record

    rating = Rating.objects.filter(question=question)[0]
    new = Judgement(rating.item_id, rating.rater_id, (rating.code + 1) % LABELS)
    record({question: [new]}, by=None, source="api")
    while Rating.objects.filter(question=question).uncounted().exists():
        time.sleep(0.1)


def settings_prefix() -> str:
    from django.conf import settings

    return str(settings.CELERY_BROKER_TRANSPORT_OPTIONS["global_keyprefix"])


def watch(question_id: int, probes: queue.Queue[Any], fresh: list[float]) -> None:
    """Note for each probe the seconds from its commit until it was counted and the readings made
    after that."""
    from django.db import connection

    from metrics.models import CountState
    from ratings.models import Rating

    while (probe := probes.get()) is not None:
        new, written = probe
        rating = Rating.objects.filter(
            question_id=question_id, item_id=new.item_id, rater_id=new.rater_id
        )
        while rating.uncounted().exists():
            time.sleep(0.02)
        # The readings of what was counted are made when nothing is left unread, or by a later step
        # than this one.
        version = CountState.objects.values_list("version", flat=True).get(pk=question_id)
        state = CountState.objects.filter(pk=question_id)
        while state.filter(unread__gt=0, version=version).exists():
            time.sleep(0.02)
        fresh.append(time.time() - written)
    connection.close()


# --- a project


def make_project(size: int, options: Any) -> tuple[Any, list[int]]:
    """A project with ``size`` uncounted ratings over ``days`` days; the ids of its last 100
    items."""
    from django.db import connection, transaction

    from core.db import bulk
    from projects.models import Category, Item, Project, Question, Rater

    rng = np.random.default_rng(size)
    project = Project.objects.create(name=f"{size:,} ratings")
    question = Question.objects.create(project=project, key="q", text="Which?", scale="ordinal")
    for code in range(LABELS):
        Category.objects.create(
            question=question, code=code, label=str(code), position=code, value=code
        )
    Rater.objects.bulk_create(
        Rater(project=project, key=f"r{number:04}") for number in range(options.raters)
    )
    raters = np.array(list(project.raters.order_by("id").values_list("id", flat=True)))
    n_items = size // PER_ITEM
    now = connection.ops.adapt_datetimefield_value
    stamp = now(time_of(0))
    for start in range(0, n_items, PORTION):
        new = [
            (project.pk, f"i{number:08}", "{}", "{}", stamp)
            for number in range(start, min(start + PORTION, n_items))
        ]
        with transaction.atomic():
            columns = ("project_id", "key", "body", "attributes", "created_at")
            bulk.upsert("projects_item", columns, new, key=("project_id", "key"))
    items = np.fromiter(
        Item.objects.filter(project=project).order_by("id").values_list("id", flat=True), np.int64
    )
    moments = [now(time_of(day)) for day in range(options.days)]
    names = (
        "question_id", "item_id", "rater_id", "code", "rated_at", "changed_at", "day", "comment", "counted",
        "counted_day",
    )  # fmt: skip
    for start in range(0, n_items, PORTION // PER_ITEM):
        some = items[start : start + PORTION // PER_ITEM]
        offsets = rng.integers(0, len(raters), len(some))[:, None] + np.arange(PER_ITEM) * 7
        who = raters[offsets % len(raters)]
        truth = rng.integers(0, LABELS, len(some))[:, None]
        codes = np.clip(truth + rng.choice([-1, 0, 0, 0, 1], (len(some), PER_ITEM)), 0, LABELS - 1)
        day = (np.arange(start, start + len(some)) * options.days // n_items).tolist()
        rows = [
            (
                question.pk,
                item,
                rater,
                code,
                moments[day[i]],
                moments[day[i]],
                DAY0 + day[i],
                "",
                -1,
                0,
            )
            for i, item in enumerate(some.tolist())
            for rater, code in zip(who[i].tolist(), codes[i].tolist(), strict=True)
        ]
        with transaction.atomic():
            bulk.upsert("ratings_rating", names, rows, key=("question_id", "item_id", "rater_id"))
    tidy_up()
    return question, items[-100:].tolist()


def tidy_up() -> None:
    """As autovacuum would have, which databases for tests go without."""
    from django.db import connection

    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")


DAY0 = 19_000  # 2022-01-08


def time_of(day: int) -> Any:
    return datetime.datetime.fromtimestamp((DAY0 + day) * 86_400 + 43_200, datetime.UTC)


def read_rows(question: Any) -> np.ndarray:
    """The rows that counting reads, in one go: what a backlog is measured against."""
    from metrics.counting.rating_rows import ROW
    from ratings.models import Rating

    columns = ("id", "item_id", "rater_id", "code", "counted", "day", "counted_day")
    rows = Rating.objects.filter(question=question).values_list(*columns)
    return np.fromiter(rows.iterator(chunk_size=20_000), dtype=ROW)


def one_change(question: Any, items: list[int] | None, times: int) -> tuple[float, float, float]:
    """Median milliseconds, and of the processor, from a changed rating to its counts and readings;
    and of the processor for what the sweep makes of them a moment later, once for all changes since
    the last."""
    from metrics.jobs import question_updates
    from projects.models import Item
    from ratings.models import Rating
    from ratings.services.judgement import Judgement
    from ratings.services.record import record

    rng = np.random.default_rng(1)
    first, last = (
        Item.objects.filter(project=question.project_id)
        .order_by("id")
        .values_list("id", flat=True)[:1][0],
        None,
    )
    last = (
        Item.objects.filter(project=question.project_id)
        .order_by("-id")
        .values_list("id", flat=True)[:1][0]
    )
    spent, processor, later = [], [], []
    for _ in range(times):
        item = int(rng.choice(items)) if items else int(rng.integers(first, last + 1))
        rating = Rating.objects.filter(question=question, item=item)[int(rng.integers(PER_ITEM))]
        record(
            {question: [Judgement(item, rating.rater_id, (rating.code + 1) % LABELS)]},
            by=None,
            source="api",
        )
        before, started = processor_time(), time.perf_counter()
        question_updates.work_on(question.pk)  # as the task does
        spent.append((time.perf_counter() - started) * 1000)
        counted = processor_time()
        processor.append((counted - before) * 1000)
        question_updates.sweep()
        later.append((processor_time() - counted) * 1000)
    return statistics.median(spent), statistics.median(processor), statistics.median(later)


if __name__ == "__main__":
    main()
