"""Delay until a change of an old day is final: counted, and every later cumulative point updated.

    python tests/tools/with_services.py [--postgres] python benchmarks/bench_old_days.py
    [--ratings 100000] [--raters 100] [--days 730] [--changes 20]

It uses the database of DATABASE_URL, else a temporary SQLite file, a broker (REDIS_URL, set by
with_services.py), and one Celery worker. Each change starts when the previous one is final, and
concerns an item of a day at least 62 days before the last one.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from typing import Any

import large_project
import numpy as np

OLD_DAYS = 62  # days after which the cumulative trend is not updated at once


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ratings", type=int, default=100_000)
    parser.add_argument("--raters", type=int, default=100)
    parser.add_argument("--days", type=int, default=730)
    parser.add_argument("--changes", type=int, default=20)
    options = parser.parse_args()
    with large_project.open_database():
        from django.db import connection

        project = large_project.get_or_create_project(
            ratings=options.ratings, raters=options.raters, days=options.days
        )
        question = project.questions.get()
        worker = subprocess.Popen(
            [sys.executable, "-m", "agreement_site.server.worker"],
            cwd=large_project.ROOT,
            stdout=subprocess.DEVNULL,
        )
        try:
            change_rating(question, get_newest_item(question))
            durations = [
                measure_change(question, item) for item in choose_old_items(question, options)
            ]
        finally:
            worker.terminate()
            worker.wait()
        figures = ", ".join(f"{np.percentile(durations, q):.2f}" for q in (50, 95, 100))
        print(f"{connection.vendor}: {options.ratings:,} ratings, {options.days} days\n")
        print("| changes of old days | final after p50, p95, max, s |")
        print("|---|---|")
        print(f"| {len(durations)} | {figures} |")


def choose_old_items(question: Any, options: Any) -> list[int]:
    from ratings.models import Rating

    ratings = Rating.objects.filter(question=question)
    last_day = ratings.order_by("-day").values_list("day", flat=True)[0]
    items = ratings.filter(day__lte=last_day - OLD_DAYS).values_list("item", flat=True).distinct()
    rng = np.random.default_rng(5)
    return [int(item) for item in rng.choice(list(items), options.changes, replace=False)]


def get_newest_item(question: Any) -> int:
    from ratings.models import Rating

    return int(Rating.objects.filter(question=question).order_by("-day")[0].item_id)


def measure_change(question: Any, item: int) -> float:
    """Return the seconds from the commit of a changed rating of the item until all is final."""
    started = time.perf_counter()
    change_rating(question, item)
    return time.perf_counter() - started


def change_rating(question: Any, item: int) -> None:
    """Change a rating of the item, and wait until all results are final."""
    from metrics.models import CountState
    from ratings.models import Rating
    from ratings.services.judgement import Judgement
    from ratings.services.record import record_ratings

    rating = Rating.objects.filter(question=question, item=item)[0]
    code = (rating.code + 1) % len(large_project.LABELS)
    judgement = Judgement(rating.item_id, rating.rater_id, code)
    record_ratings({question: [judgement]}, by=None, source="api")
    state = CountState.objects.filter(pk=question.pk, unrefreshed=0, cumulative_from=None)
    uncounted = Rating.objects.filter(question=question).uncounted()
    while uncounted.exists() or not state.exists():
        time.sleep(0.02)


if __name__ == "__main__":
    main()
