"""The days of a project's ratings follow its time zone when that changes: a few at a time, whoever
writes meanwhile.

The change itself leaves a row (DayMove) and makes the first step, which is all of a small project;
the worker's sweep makes the others. Every step reads the zone of now, under the row's lock; another
change takes the row back to the beginning. Who writes a rating meanwhile puts it on its day by the
zone of now too, so no step has to come back.
"""

from __future__ import annotations

import time
from zoneinfo import ZoneInfo

from django.db import transaction

from core.db import bulk
from projects.models import Project, Question
from ratings import changes
from ratings.models import DayMove, Rating

from .days import day_of

RATINGS_A_STEP = 5_000  # a step is a transaction
PAUSE_SECONDS = 0.005  # between two, for SQLite's other writers


def begin(project_id: int) -> None:
    """In the transaction that changes the zone, which keeps everybody from writing ratings until it
    ends."""
    DayMove.objects.update_or_create(
        project_id=project_id, defaults={"question": 0, "item": 0, "rater": 0}
    )
    seen: int | None = 0
    left = RATINGS_A_STEP
    while left > 0 and (seen := step(project_id)) is not None:
        left -= seen


def sweep() -> int:
    """Make all steps that are left; how many projects waited for some."""
    waiting = list(DayMove.objects.values_list("pk", flat=True))
    for project_id in waiting:
        while step(project_id) is not None:
            time.sleep(PAUSE_SECONDS)
    return len(waiting)


@transaction.atomic
def step(project_id: int) -> int | None:
    """Put up to RATINGS_A_STEP ratings of one question on their days; how many were looked at, None
    when nothing is left."""
    move = DayMove.objects.select_for_update().filter(project=project_id).first()
    if move is None:
        return None
    questions = Question.objects.filter(project=project_id, pk__gte=move.question)
    question_id = questions.order_by("pk").values_list("pk", flat=True).first()
    if question_id is None:
        move.delete()
        return None
    if question_id != move.question:
        move.question, move.item, move.rater = question_id, 0, 0
    rows = _next_rows(move)
    if len(rows) < RATINGS_A_STEP:
        move.question, move.item, move.rater = question_id + 1, 0, 0
    else:
        _pk, move.item, move.rater, *_ = rows[-1]
    move.save()
    zone = ZoneInfo(Project.objects.values_list("time_zone", flat=True).get(pk=project_id))
    moved = []
    for pk, _item, _rater, rated_at, day in rows:
        new_day = day_of(rated_at, zone)
        if new_day != day:
            moved.append((pk, new_day))
    if moved:
        bulk.update_by_id("ratings_rating", ["day"], moved)
        changes.announce(question_id)
    return len(rows)


def _next_rows(move: DayMove) -> list[tuple]:
    """(id, item, rater, rated_at, day), locked in the order in which others lock them."""
    after = Rating.objects.filter(question=move.question, item__gte=move.item)
    after = after.exclude(item=move.item, rater__lte=move.rater).order_by("item_id", "rater_id")
    locked = after.select_for_update(of=("self",), no_key=True)
    rows = locked.values_list("id", "item_id", "rater_id", "rated_at", "day")
    return list(rows[:RATINGS_A_STEP])
