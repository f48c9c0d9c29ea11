"""Bringing the numbers up to date: from a task, from the sweep, or from a command."""

from __future__ import annotations

import logging
import time

from django.db import connection, transaction
from django.db.models import F, Q

from projects import locks
from projects.models import Question
from ratings.importing import leases
from ratings.models import NOTHING, Rating

from . import counting, readings
from .models import CountState, PairTally, PatternTally, PeerTally, RaterReading, Reading

logger = logging.getLogger(__name__)

BREATH = 0.25  # of a portion's time, left to SQLite's other writers, who have no queue: they ask again every 0.1 s


def bring_up_to_date(question_id: int) -> int:
    """Count everything uncounted of a question, then refresh its readings. Returns the number of items counted."""
    items = 0
    while True:
        started = time.monotonic()
        progress = counting.count_some(question_id)
        items += progress.items
        if not progress.more:
            break
        if connection.vendor == "sqlite":
            time.sleep(BREATH * (time.monotonic() - started))
    readings.refresh(question_id)
    return items


def waiting_questions() -> list[int]:
    """Ids of the questions with uncounted ratings, stale counts, readings of an older scale, or some put off.

    A question that an import is filling just now waits until it is over.
    """
    uncounted = Rating.objects.uncounted().order_by().values_list("question_id", flat=True).distinct()
    stale = [
        model.objects.filter(stale=True).order_by().values_list("question_id", flat=True).distinct()
        for model in (PatternTally, PeerTally)
    ]
    behind = ~Q(scale_version=F("question__scale_version")) | Q(cumulative_from__isnull=False) | Q(unread__gt=0)
    rescaled = CountState.objects.filter(behind).values_list("pk", flat=True)
    return sorted(set().union(uncounted, *stale, rescaled) - leases.questions_being_filled())


def waiting_ratings(question: Question, state: CountState | None) -> int:
    """Ratings that changed and are not in the question's readings: uncounted, or counted and not read since."""
    return Rating.objects.filter(question=question).uncounted().count() + (state.unread if state else 0)


def sweep() -> int:
    """Bring every waiting question up to date; a failure of one does not keep the others waiting."""
    waiting = waiting_questions()
    for question_id in waiting:
        try:
            bring_up_to_date(question_id)
            readings.finish(question_id)
        except Exception:
            logger.exception("counting question %s failed; the next sweep tries again", question_id)
    return len(waiting)


@transaction.atomic
def recount(question: Question) -> None:
    """Forget all counts and readings of a question; its ratings are uncounted then and the ordinary way counts them."""
    # Writers of ratings wait: else one that holds a row of this question and wants another could wait in a circle.
    locks.change_categories(question.pk)
    state = counting.lock(question.pk)
    Rating.objects.filter(question=question).exclude(counted=NOTHING, code__gte=0).update(counted=NOTHING)
    for model in (PatternTally, PairTally, PeerTally, Reading, RaterReading):
        model.objects.filter(question=question).delete()
    state.ratings = 0
    state.pair_sums = {}
    state.cumulative_from = None
    state.unread = 0
    state.version += 1
    state.save()
