"""How counting grows: one changed rating, and a backlog, in projects of 10^4 to 10^7 ratings.

    python benchmarks/bench_counting.py [--sizes 10000,100000,1000000] [--days 730] [--raters 100]

Uses the database of DATABASE_URL (emptied of nothing: each size makes a project of its own), else a temporary SQLite
file. Prints one table; every time is the median of its runs, and the last columns are ratios within this run: a backlog
against reading the same rows into NumPy, and one change against one change in the smallest project.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
PER_ITEM = 5
LABELS = 5
PORTION = 100_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--raters", type=int, default=100)
    parser.add_argument("--days", type=int, default=730)
    parser.add_argument("--changes", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="concord-bench-") as folder:
        os.environ["DATA_DIR"] = folder
        os.environ["DJANGO_SETTINGS_MODULE"] = "agreement_site.settings"
        sys.path.insert(0, str(ROOT))
        import django

        django.setup()
        from django.core.management import call_command
        from django.db import connection

        call_command("migrate", verbosity=0)
        print(
            f"{connection.vendor}: {PER_ITEM} ratings an item, k = {LABELS}, "
            f"{options.raters} raters, {options.days} days\n"
        )
        print(
            "| ratings | read into NumPy, s | count + readings, s | ratings/s | count / read | peak MB "
            "| one recent change, ms | one change of any day, ms | recent / smallest |"
        )
        print("|---|---|---|---|---|---|---|---|---|")
        smallest = None
        for size in map(int, options.sizes.split(",")):
            row = measure(size, options)
            smallest = smallest or row["recent"]
            print(
                f"| {size:,} | {row['read']:.2f} | {row['count']:.2f} | {size / row['count']:,.0f} "
                f"| {row['count'] / row['read']:.1f} | {row['peak']:.0f} | {row['recent']:.1f} | {row['any']:.1f} "
                f"| {row['recent'] / smallest:.2f} |",
                flush=True,
            )


def measure(size: int, options: Any) -> dict[str, float]:
    from metrics import actions

    question, last_items = make_project(size, options)
    started = time.perf_counter()
    read_rows(question)
    read = time.perf_counter() - started
    started = time.perf_counter()
    actions.bring_up_to_date(question.pk)
    count = time.perf_counter() - started
    actions.sweep()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    recent = one_change(question, last_items, options.changes)
    anywhere = one_change(question, None, options.changes)
    return {"read": read, "count": count, "peak": peak, "recent": recent, "any": anywhere}


def make_project(size: int, options: Any) -> tuple[Any, list[int]]:
    """A project with ``size`` uncounted ratings over ``days`` days; the ids of its last 100 items."""
    from django.db import connection, transaction

    from projects import bulk
    from projects.models import Category, Item, Project, Question, Rater

    rng = np.random.default_rng(size)
    project = Project.objects.create(name=f"{size:,} ratings")
    question = Question.objects.create(project=project, key="q", text="Which?", scale="ordinal")
    for code in range(LABELS):
        Category.objects.create(question=question, code=code, label=str(code), position=code, value=code)
    Rater.objects.bulk_create(Rater(project=project, key=f"r{number:04}") for number in range(options.raters))
    raters = np.array(list(project.raters.order_by("id").values_list("id", flat=True)))
    n_items = size // PER_ITEM
    now = connection.ops.adapt_datetimefield_value
    stamp = now(time_of(0))
    for start in range(0, n_items, PORTION):
        rows = [
            (project.pk, f"i{number:08}", "{}", "{}", stamp) for number in range(start, min(start + PORTION, n_items))
        ]
        with transaction.atomic():
            columns = ("project_id", "key", "body", "attributes", "created_at")
            bulk.upsert("projects_item", columns, rows, key=("project_id", "key"))
    items = np.fromiter(Item.objects.filter(project=project).order_by("id").values_list("id", flat=True), np.int64)
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
            (question.pk, item, rater, code, moments[day[i]], stamp, DAY0 + day[i], "", -1, 0)
            for i, item in enumerate(some.tolist())
            for rater, code in zip(who[i].tolist(), codes[i].tolist(), strict=True)
        ]
        with transaction.atomic():
            bulk.upsert("ratings_rating", names, rows, key=("question_id", "item_id", "rater_id"))
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
    return question, items[-100:].tolist()


DAY0 = 19_000  # 2022-01-08


def time_of(day: int) -> Any:
    import datetime

    return datetime.datetime.fromtimestamp((DAY0 + day) * 86_400 + 43_200, datetime.UTC)


def read_rows(question: Any) -> np.ndarray:
    """The rows that counting reads, in one go: what a backlog is measured against."""
    from metrics.counting import ROW
    from ratings.models import Rating

    columns = ("id", "item_id", "rater_id", "code", "counted", "day", "counted_day")
    rows = Rating.objects.filter(question=question).values_list(*columns)
    return np.fromiter(rows.iterator(chunk_size=20_000), dtype=ROW)


def one_change(question: Any, items: list[int] | None, times: int) -> float:
    """Median milliseconds from a changed rating to its counts and readings."""
    from metrics import actions
    from projects.models import Item
    from ratings.actions import NewRating, record
    from ratings.models import Rating

    rng = np.random.default_rng(1)
    first, last = (
        Item.objects.filter(project=question.project_id).order_by("id").values_list("id", flat=True)[:1][0],
        None,
    )
    last = Item.objects.filter(project=question.project_id).order_by("-id").values_list("id", flat=True)[:1][0]
    spent = []
    for _ in range(times):
        item = int(rng.choice(items)) if items else int(rng.integers(first, last + 1))
        rating = Rating.objects.filter(question=question, item=item)[int(rng.integers(PER_ITEM))]
        record(
            question=question,
            ratings=[NewRating(item, rating.rater_id, (rating.code + 1) % LABELS)],
            by=None,
            source="api",
        )
        started = time.perf_counter()
        actions.bring_up_to_date(question.pk)
        spent.append((time.perf_counter() - started) * 1000)
        actions.sweep()
    return statistics.median(spent)


if __name__ == "__main__":
    main()
