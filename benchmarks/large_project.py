"""Generator of a large project with a fixed seed, for the benchmarks of pages and storage.

A thousand raters do not all work every day: each works on about DAYS_A_RATER days, and an item's
five ratings come from five of the raters of that day. So a rater meets most, not all, of the
others, on a few items each, as in a labelling team of that size. Ratings are written by the
same service as an import's, so each has its revision. Not a script.
"""

from __future__ import annotations

import datetime
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# As `manage.py services` does: BLAS threads that wait for small matrices would count as work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np  # imported late: it reads the environment

ROOT = Path(__file__).resolve().parent.parent
RATINGS_PER_ITEM = 5
SPARSE_RATINGS_PER_ITEM = 4
DAYS_PER_RATER = 40
LABELS = ("none", "minor", "major", "critical", "unusable")
LANGUAGES = ("de", "es", "fr", "it")
FIRST_DAY = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC)
TEXT = "The parcel left the warehouse on Tuesday and should reach you within three working days, weather permitting."
BATCH_SIZE = 10_000


@contextmanager
def open_database() -> Iterator[None]:
    """Set up Django on a migrated database.

    It is that of DATABASE_URL, or of DATA_DIR, or a temporary SQLite file.
    """
    with tempfile.TemporaryDirectory(prefix="concord-bench-") as folder:
        os.environ.setdefault("DATA_DIR", folder)
        os.environ["DJANGO_SETTINGS_MODULE"] = "agreement_site.settings"
        os.environ["ALLOWED_HOSTS"] = "testserver,localhost"
        os.environ.setdefault("LOG_LEVEL", "WARNING")
        sys.path.insert(0, str(ROOT))
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        yield


def get_or_create_project(
    *, ratings: int, raters: int, days: int, sparse: bool = False, report: Any = None
) -> Any:
    """Return the counted project of this size.

    It is one from an earlier run on the same database, or a new one.
    """
    from metrics.jobs import question_updates
    from metrics.results import refresh
    from projects.models import Project, Question

    name = f"{ratings:,} ratings, {raters:,} raters, {days} days" + ", sparse" * sparse
    project = Project.objects.filter(name=name).first()
    if project is None:
        report = report or (lambda text: None)
        project = create_large_project(
            name, ratings=ratings, raters=raters, days=days, sparse=sparse, report=report
        )
    for question in Question.objects.filter(project=project):
        question_updates.update_question(question.pk)
        refresh.recompute_deferred_cumulative_results(question.pk)
    return project


def create_large_project(
    name: str, *, ratings: int, raters: int, days: int, report: Any, sparse: bool = False
) -> Any:
    """Create a project with ``ratings`` uncounted ratings of ``raters`` over ``days`` days.

    Its lead is the user "bench". ``sparse``: SPARSE_RATINGS_PER_ITEM ratings per item, by any rater
    on any day, so that hardly two raters meet twice.
    """
    from django.contrib.auth.models import User

    from projects.models import Item, Rater
    from projects.services.projects import create_project
    from projects.services.question_validation import NewCategory, NewQuestion
    from ratings.services.judgement import Judgement
    from ratings.services.record import record_ratings

    rng = np.random.default_rng(ratings)
    per_item = SPARSE_RATINGS_PER_ITEM if sparse else RATINGS_PER_ITEM
    lead, _new = User.objects.get_or_create(username="bench")
    categories = [NewCategory(label, value=float(code)) for code, label in enumerate(LABELS)]
    question = NewQuestion(
        key="severity",
        text="How severe?",
        scale="ordinal",
        weights="quadratic",
        categories=categories,
    )
    project = create_project(by=lead, name=name, overlap=per_item, questions=[question])
    Rater.objects.bulk_create(
        Rater(project=project, key=f"r{number:04}") for number in range(raters)
    )
    rater_ids = np.array(list(project.raters.order_by("id").values_list("id", flat=True)))
    accuracy = rng.uniform(0.6, 0.95, raters)
    n_items = ratings // per_item
    for start in range(0, n_items, BATCH_SIZE):
        Item.objects.bulk_create(
            (
                Item(
                    project=project,
                    key=f"seg-{number:07}",
                    body={"text": f"{number}: {TEXT}"},
                    attributes={"language": LANGUAGES[number % len(LANGUAGES)]},
                )
                for number in range(start, min(start + BATCH_SIZE, n_items))
            ),
            batch_size=1_000,
        )
    items = list(project.items.order_by("id").values_list("id", flat=True))
    question_row = project.questions.get()
    pending: list[Judgement] = []
    for day in range(days):
        items_of_day = items[day * n_items // days : (day + 1) * n_items // days]
        share = min(1.0, max(DAYS_PER_RATER / days, 2 * per_item / raters))
        at_work = np.flatnonzero(sparse | (rng.random(raters) < share))
        if len(at_work) < per_item:
            at_work = np.arange(raters)
        for item in items_of_day:
            truth = int(rng.choice(len(LABELS), p=(0.5, 0.25, 0.13, 0.08, 0.04)))
            for rater_index in rng.choice(at_work, size=per_item, replace=False):
                is_wrong = rng.random() > accuracy[rater_index]
                code = (
                    min(max(truth + int(rng.choice((-1, 1))), 0), len(LABELS) - 1)
                    if is_wrong
                    else truth
                )
                rated_at = FIRST_DAY + datetime.timedelta(
                    days=day, seconds=int(rng.integers(20_000))
                )
                pending.append(
                    Judgement(
                        item, int(rater_ids[rater_index]), code, rated_at=rated_at, seconds=8.0
                    )
                )
        while len(pending) >= BATCH_SIZE or (day == days - 1 and pending):
            record_ratings({question_row: pending[:BATCH_SIZE]}, by=lead, source="import")
            del pending[:BATCH_SIZE]
        if day % 100 == 99:
            report(f"day {day + 1} of {days}")
    return project
