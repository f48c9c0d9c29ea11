"""Scaling of counting: one changed rating, a backlog with one and two workers, and a burst.

    python benchmarks/bench_counting.py [--sizes 10000,100000,1000000] [--backlog 1000000]
    [--workers 1,2] [--burst 30]

    python tests/tools/with_services.py --postgres python benchmarks/bench_counting.py

The projects have 10^4 to 10^7 ratings. It uses the database of DATABASE_URL, which it does not
empty (each figure creates a project), else a temporary SQLite file. 10^7 runs only if --sizes asks
for it; 0 skips a part. The ratios compare figures of this run: one change with one change in the
smallest project, a backlog with reading the same rows into NumPy, two workers with one, and one
worker while the dashboard is requested all the time. Workers are independent processes. The burst
needs a broker (REDIS_URL, set by with_services.py).
"""

from __future__ import annotations

import argparse
import datetime
import json
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

RATINGS_PER_ITEM = 5
LABELS = 5
BATCH_SIZE = 100_000
RATINGS_PER_SECOND = 1_000  # ratings a second in the burst


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
    with large_project.open_database():
        if options.work:
            run_worker(options.work)
            return
        from django.db import connection

        print(
            f"{connection.vendor}: {RATINGS_PER_ITEM} ratings an item, k = {LABELS}, {options.raters} "
            "raters, "
            f"{options.days} days"
        )
        bench_growth(list(map(int, options.sizes.split(","))), options)
        if options.backlog:
            bench_backlogs(options.backlog, list(map(int, options.workers.split(","))), options)
        if options.burst:
            bench_burst(options.burst, options)


def get_processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


# --- one changed rating


def bench_growth(sizes: list[int], options: Any) -> None:
    from metrics.jobs import question_updates

    print(
        "\n| ratings | one recent change, ms | processor, ms | what the sweep adds, processor, ms "
        "| one change of any day, ms | recent / smallest |"
    )
    print("|---|---|---|---|---|---|")
    smallest = None
    for size in filter(None, sizes):
        question, last_items = create_project(size, options)
        question_updates.update_question(question.pk)
        question_updates.sweep_questions()
        vacuum_database()
        recent, processor, sweep_processor = measure_change(question, last_items, options.changes)
        any_day, _processor, _later = measure_change(question, None, options.changes)
        smallest = smallest or recent
        print(
            f"| {size:,} | {recent:.1f} | {processor:.1f} | {sweep_processor:.1f} | {any_day:.1f} | "
            f"{recent / smallest:.2f} |",
            flush=True,
        )


# --- a backlog


def bench_backlogs(size: int, workers: list[int], options: Any) -> None:
    print(
        "\n| backlog | workers | read into NumPy, s | count + readings, s | ratings/s | count / "
        "read "
        "| processor of workers / of reading | one worker / this | peak MB a worker | page "
        "meanwhile p50, p95, ms |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    first_seconds = None
    # Requesting pages takes a good part of a core, so that is a run of its own.
    for number, with_pages in [*((number, False) for number in workers), (workers[0], True)]:
        row = measure_backlog(size, number, options, with_pages=with_pages)
        pages = (
            "{:.0f}, {:.0f}".format(*np.percentile(row["pages"], [50, 95])) if with_pages else ""
        )
        first_seconds = first_seconds or row["count"]
        print(
            f"| {size:,} | {number} | {row['read']:.2f} | {row['count']:.2f} | "
            f"{size / row['count']:,.0f} "
            f"| {row['count'] / row['read']:.1f} | {row['processor']:.1f} | "
            f"{first_seconds / row['count']:.2f} "
            f"| {row['peak']:.0f} | {pages} |",
            flush=True,
        )


def measure_backlog(size: int, workers: int, options: Any, *, with_pages: bool) -> dict[str, Any]:
    question, _items = create_project(size, options)
    before, started = get_processor_time(), time.perf_counter()
    read_rows(question)
    read_seconds, processor = time.perf_counter() - started, get_processor_time() - before
    command = [sys.executable, __file__, "--work", str(question.pk)]
    pipe = subprocess.PIPE
    processes = [
        subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _number in range(workers)
    ]
    for process in processes:
        assert process.stdout
        process.stdout.readline()  # ready
    started = time.perf_counter()
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    pages = request_pages(question, processes) if with_pages else []
    outputs = [json.loads(process.communicate()[0]) for process in processes]
    return {
        "read": read_seconds,
        "count": max(output["ended"] for output in outputs) - started,
        "processor": sum(output["processor"] for output in outputs) / processor,
        "peak": max(output["peak"] for output in outputs),
        "pages": pages,
    }


def run_worker(question_id: int) -> None:
    """Count the backlog as a worker process."""
    from metrics.jobs import question_updates

    print("ready", flush=True)
    sys.stdin.readline()
    before = get_processor_time()
    question_updates.update_question(question_id)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    # perf_counter is the machine's clock on Linux: the same for all processes.
    print(
        json.dumps(
            {"ended": time.perf_counter(), "processor": get_processor_time() - before, "peak": peak}
        )
    )


def request_pages(question: Any, processes: list[Any]) -> list[float]:
    """Return the milliseconds of the dashboard, requested repeatedly until the workers are done."""
    from django.contrib.auth.models import User
    from django.test import Client

    from projects.models import Member

    user, _new = User.objects.get_or_create(username="bench")
    Member.objects.get_or_create(
        project=question.project, user=user, defaults={"role": Member.Role.LEAD}
    )
    client = Client()
    client.force_login(user)
    durations = []
    while any(process.poll() is None for process in processes):
        started = time.perf_counter()
        assert client.get(f"/projects/{question.project_id}/").status_code == 200
        durations.append((time.perf_counter() - started) * 1000)
        time.sleep(0.3)
    return durations


# --- a burst


def bench_burst(seconds: int, options: Any) -> None:
    """Write RATINGS_PER_SECOND while a Celery worker counts; print the delay until the results."""
    from django.conf import settings

    if not settings.REDIS_URL:
        print("\nNo burst without a broker: run it under tests/tools/with_services.py.")
        return
    from metrics.jobs import question_updates

    question, _items = create_project(10_000, options)
    question_updates.update_question(question.pk)
    worker = subprocess.Popen(
        [sys.executable, "-m", "agreement_site.server.worker"],
        cwd=large_project.ROOT,
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_for_worker(question)
        probes: queue.Queue[Any] = queue.Queue()
        delays: list[float] = []
        watcher = threading.Thread(target=measure_delays, args=(question.pk, probes, delays))
        watcher.start()
        n_written, duration, lengths = write_ratings(seconds, question, probes)
        probes.put(None)
        watcher.join()
    finally:
        worker.terminate()
        worker.wait()
    print("\n| burst | written | freshness p50, p95, max, s | messages waiting, max |")
    print("|---|---|---|---|")
    figures = ", ".join(f"{np.percentile(delays, q):.2f}" for q in (50, 95, 100))
    print(
        f"| {RATINGS_PER_SECOND}/s for {seconds} s | {n_written / duration:,.0f}/s | {figures} ({len(delays)} probes) | "
        f"{max(lengths)} |"
    )


def write_ratings(
    seconds: int, question: Any, probes: queue.Queue[Any]
) -> tuple[int, float, list[int]]:
    """Rate new items for some seconds, a tenth of RATINGS_PER_SECOND ten times a second.

    Return the number of ratings, the seconds they took, and the queue's lengths meanwhile.
    """
    from core.jobs import dispatch
    from projects.models import Item
    from ratings.services.judgement import Judgement
    from ratings.services.record import record_ratings

    rng = np.random.default_rng(7)
    items_per_turn = RATINGS_PER_SECOND // 10 // RATINGS_PER_ITEM
    project = question.project
    keys = [f"new {number}" for number in range(items_per_turn * seconds * 10)]
    items = Item.objects.bulk_create(
        (Item(project=project, key=key, body={}) for key in keys), batch_size=500
    )
    raters = list(project.raters.order_by("id").values_list("id", flat=True))
    n_written, lengths, started = 0, [], time.perf_counter()
    for turn in range(seconds * 10):
        rows = [
            Judgement(item.pk, raters[rater], int(rng.integers(LABELS)))
            for item in items[turn * items_per_turn : (turn + 1) * items_per_turn]
            for rater in rng.choice(len(raters), RATINGS_PER_ITEM, replace=False).tolist()
        ]
        record_ratings({question: rows}, by=None, source="api")
        n_written += len(rows)
        if turn % 3 == 0:
            probes.put((rows[-1], time.time()))
            lengths.append(dispatch.get_redis_client().llen(f"{get_broker_prefix()}celery"))
        time.sleep(max(0.0, started + (turn + 1) / 10 - time.perf_counter()))
    return n_written, time.perf_counter() - started, lengths


def wait_for_worker(question: Any) -> None:
    """Wait until the worker has counted a change."""
    from ratings.models import Rating
    from ratings.services.judgement import Judgement
    from ratings.services.record import record_ratings

    rating = Rating.objects.filter(question=question)[0]
    judgement = Judgement(rating.item_id, rating.rater_id, (rating.code + 1) % LABELS)
    record_ratings({question: [judgement]}, by=None, source="api")
    while Rating.objects.filter(question=question).uncounted().exists():
        time.sleep(0.1)


def get_broker_prefix() -> str:
    from django.conf import settings

    return str(settings.CELERY_BROKER_TRANSPORT_OPTIONS["global_keyprefix"])


def measure_delays(question_id: int, probes: queue.Queue[Any], delays: list[float]) -> None:
    """Append for each probe the seconds from its commit until it is counted and in the results."""
    from django.db import connection

    from metrics.models import CountState
    from ratings.models import Rating

    while (probe := probes.get()) is not None:
        judgement, written_at = probe
        rating = Rating.objects.filter(
            question_id=question_id, item_id=judgement.item_id, rater_id=judgement.rater_id
        )
        while rating.uncounted().exists():
            time.sleep(0.02)
        # The results include what was counted when nothing is stale, or after a later version.
        version = CountState.objects.values_list("version", flat=True).get(pk=question_id)
        state = CountState.objects.filter(pk=question_id)
        while state.filter(unrefreshed__gt=0, version=version).exists():
            time.sleep(0.02)
        delays.append(time.time() - written_at)
    connection.close()


# --- a project


def create_project(size: int, options: Any) -> tuple[Any, list[int]]:
    """Create a project with ``size`` uncounted ratings over ``options.days`` days.

    Returns the question and the ids of the last 100 items.
    """
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
    n_items = size // RATINGS_PER_ITEM
    adapt = connection.ops.adapt_datetimefield_value
    created_at = adapt(get_day_time(0))
    for start in range(0, n_items, BATCH_SIZE):
        item_rows = [
            (project.pk, f"i{number:08}", "{}", "{}", created_at)
            for number in range(start, min(start + BATCH_SIZE, n_items))
        ]
        with transaction.atomic():
            columns = ("project_id", "key", "body", "attributes", "created_at")
            bulk.upsert("projects_item", columns, item_rows, key=("project_id", "key"))
    items = np.fromiter(
        Item.objects.filter(project=project).order_by("id").values_list("id", flat=True), np.int64
    )
    times = [adapt(get_day_time(day)) for day in range(options.days)]
    columns_of_rating = (
        "question_id", "item_id", "rater_id", "code", "rated_at", "changed_at", "day", "comment", "counted",
        "counted_day",
    )  # fmt: skip
    for start in range(0, n_items, BATCH_SIZE // RATINGS_PER_ITEM):
        batch = items[start : start + BATCH_SIZE // RATINGS_PER_ITEM]
        offsets = (
            rng.integers(0, len(raters), len(batch))[:, None] + np.arange(RATINGS_PER_ITEM) * 7
        )
        batch_raters = raters[offsets % len(raters)]
        truth = rng.integers(0, LABELS, len(batch))[:, None]
        codes = np.clip(
            truth + rng.choice([-1, 0, 0, 0, 1], (len(batch), RATINGS_PER_ITEM)), 0, LABELS - 1
        )
        day = (np.arange(start, start + len(batch)) * options.days // n_items).tolist()
        rows = [
            (
                question.pk,
                item,
                rater,
                code,
                times[day[i]],
                times[day[i]],
                FIRST_DAY + day[i],
                "",
                -1,
                0,
            )
            for i, item in enumerate(batch.tolist())
            for rater, code in zip(batch_raters[i].tolist(), codes[i].tolist(), strict=True)
        ]
        with transaction.atomic():
            bulk.upsert(
                "ratings_rating",
                columns_of_rating,
                rows,
                key=("question_id", "item_id", "rater_id"),
            )
    vacuum_database()
    return question, items[-100:].tolist()


def vacuum_database() -> None:
    """Vacuum as autovacuum would; databases for tests run without it."""
    from django.db import connection

    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")


FIRST_DAY = 19_000  # 2022-01-08


def get_day_time(day: int) -> Any:
    return datetime.datetime.fromtimestamp((FIRST_DAY + day) * 86_400 + 43_200, datetime.UTC)


def read_rows(question: Any) -> np.ndarray:
    """Read the rows (M,) that counting reads, in one go: the reference of a backlog."""
    from metrics.counting.rating_rows import ROW
    from ratings.models import Rating

    columns = ("id", "item_id", "rater_id", "code", "counted", "day", "counted_day")
    rows = Rating.objects.filter(question=question).values_list(*columns)
    return np.fromiter(rows.iterator(chunk_size=20_000), dtype=ROW)


def measure_change(
    question: Any, items: list[int] | None, times: int
) -> tuple[float, float, float]:
    """Return three median milliseconds of a changed rating: elapsed, processor, and the sweep's.

    The first two are until its counts and results; the sweep's part is paid once for all changes
    since the last one.
    """
    from metrics.jobs import question_updates
    from projects.models import Item
    from ratings.models import Rating
    from ratings.services.judgement import Judgement
    from ratings.services.record import record_ratings

    rng = np.random.default_rng(1)
    first_item, last_item = (
        Item.objects.filter(project=question.project_id)
        .order_by("id")
        .values_list("id", flat=True)[:1][0],
        None,
    )
    last_item = (
        Item.objects.filter(project=question.project_id)
        .order_by("-id")
        .values_list("id", flat=True)[:1][0]
    )
    elapsed, processor, sweep_processor = [], [], []
    for _ in range(times):
        item = int(rng.choice(items)) if items else int(rng.integers(first_item, last_item + 1))
        rating = Rating.objects.filter(question=question, item=item)[
            int(rng.integers(RATINGS_PER_ITEM))
        ]
        record_ratings(
            {question: [Judgement(item, rating.rater_id, (rating.code + 1) % LABELS)]},
            by=None,
            source="api",
        )
        before, started = get_processor_time(), time.perf_counter()
        question_updates.update_question_for_seconds(question.pk)  # like the task
        elapsed.append((time.perf_counter() - started) * 1000)
        counted_at = get_processor_time()
        processor.append((counted_at - before) * 1000)
        question_updates.sweep_questions()
        sweep_processor.append((get_processor_time() - counted_at) * 1000)
    return (
        statistics.median(elapsed),
        statistics.median(processor),
        statistics.median(sweep_processor),
    )


if __name__ == "__main__":
    main()
