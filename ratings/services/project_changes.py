"""Reactions to changes of a project: recomputation, and backfill of the days of its ratings.

A new time zone moves the days. The change itself creates a TimezoneBackfill row and runs the first
step, which is enough for a small project; the worker's sweep runs the others while ratings keep
being written. Every step reads the current zone under the row's lock; another change restarts the
backfill. A rating that is written meanwhile already uses the current zone, so no step has to go
back.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import Q

from core.db import bulk
from projects.models import Project, Question
from ratings.models import Rating, TimezoneBackfill
from ratings.services import record

from .rating_timestamps import day_number

RATINGS_PER_STEP = 5_000  # ratings of one step, which is one transaction
PAUSE_SECONDS = 0.005  # between two steps, for SQLite's other writers


def start_backfill(project_id: int) -> None:
    """Start the backfill in the transaction that changes the time zone, with the first step.

    Further steps follow until RATINGS_PER_STEP ratings are done. The transaction blocks all writers
    of ratings until it ends.
    """
    TimezoneBackfill.objects.update_or_create(
        project_id=project_id,
        defaults={"last_question_id": 0, "last_item_id": 0, "last_rater_id": 0},
    )
    n_processed: int | None = 0
    n_remaining = RATINGS_PER_STEP
    while n_remaining > 0 and (n_processed := run_backfill_step(project_id)) is not None:
        n_remaining -= n_processed


def run_pending_backfills() -> int:
    """Run the remaining steps of all backfills; return the number of projects that had any."""
    project_ids = list(TimezoneBackfill.objects.values_list("pk", flat=True))
    for project_id in project_ids:
        while run_backfill_step(project_id) is not None:
            time.sleep(PAUSE_SECONDS)
    return len(project_ids)


@transaction.atomic
def run_backfill_step(project_id: int) -> int | None:
    """Move up to RATINGS_PER_STEP ratings of one question to their days in the new time zone.

    Returns the number of ratings that were checked, or None if the backfill is finished.
    """
    backfill = TimezoneBackfill.objects.select_for_update().filter(project=project_id).first()
    if backfill is None:
        return None
    questions = Question.objects.filter(project=project_id, pk__gte=backfill.last_question_id)
    question_id = questions.order_by("pk").values_list("pk", flat=True).first()
    if question_id is None:
        backfill.delete()
        return None
    if question_id != backfill.last_question_id:
        backfill.last_question_id, backfill.last_item_id, backfill.last_rater_id = question_id, 0, 0
    rows = _get_next_rows(backfill)
    if len(rows) < RATINGS_PER_STEP:
        backfill.last_question_id = question_id + 1
        backfill.last_item_id = backfill.last_rater_id = 0
    else:
        _pk, backfill.last_item_id, backfill.last_rater_id, *_ = rows[-1]
    backfill.save()
    zone = ZoneInfo(Project.objects.values_list("time_zone", flat=True).get(pk=project_id))
    moved = []
    for pk, _item, _rater, rated_at, day in rows:
        new_day = day_number(rated_at, zone)
        if new_day != day:
            moved.append((pk, new_day))
    if moved:
        bulk.update_rows_by_id("ratings_rating", ["day"], moved)
        record.RATINGS_CHANGED.notify_on_commit(question_id)
    return len(rows)


def _get_next_rows(backfill: TimezoneBackfill) -> list[tuple]:
    """Return the next rows (id, item, rater, rated_at, day), locked in the order of all writers."""
    following = Rating.objects.filter(
        question=backfill.last_question_id, item__gte=backfill.last_item_id
    )
    following = following.exclude(
        item=backfill.last_item_id, rater__lte=backfill.last_rater_id
    ).order_by("item_id", "rater_id")
    locked = following.select_for_update(of=("self",), no_key=True)
    rows = locked.values_list("id", "item_id", "rater_id", "rated_at", "day")
    return list(rows[:RATINGS_PER_STEP])


def count_ratings_by_code(question_id: int, codes: Iterable[int]) -> dict[int, int]:
    """Return code -> number of ratings that have this code or are counted under it.

    Codes without any are left out.
    """
    requested_codes = set(codes)
    if not requested_codes:
        return {}
    rows = Rating.objects.filter(
        Q(code__in=requested_codes) | Q(counted__in=requested_codes), question=question_id
    )
    counts: Counter[int] = Counter()
    for code, counted in rows.values_list("code", "counted").iterator(chunk_size=5000):
        counts.update({code, counted} & requested_codes)
    return dict(counts)


def start_backfill_after_zone_change(project_id: int) -> None:
    """Start to move the project's ratings to the days of its new time zone."""
    start_backfill(project_id)
    for question_id in (
        Question.objects.filter(project=project_id).order_by("pk").values_list("pk", flat=True)
    ):
        record.RATINGS_CHANGED.notify_on_commit(question_id)


def notify_after_scale_change(question_id: int) -> None:
    """Notify listeners, after the commit, that the question's results have to be recomputed."""
    record.RATINGS_CHANGED.notify_on_commit(question_id)
