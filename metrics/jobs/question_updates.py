"""Bringing the numbers up to date: from a task, from the sweep, or from a command."""

from __future__ import annotations

import datetime
import enum
import logging
import math
import time
from collections.abc import Mapping, Sequence
from itertools import takewhile

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from metrics.counting import backlog, question_counting, rater_kinds
from metrics.models import (
    CountState,
    Diagnosis,
    PairTally,
    PatternTally,
    PeerTally,
    RaterReading,
    Reading,
)
from metrics.results import deferred_results, refresh
from projects import locks
from projects.models import Question
from ratings.imports import leases
from ratings.models import NOTHING, Rating
from ratings.services import uncounted

from . import batch_jobs, hints

logger = logging.getLogger(__name__)

TURN_SECONDS = 2.0  # for one question while others may be waiting
LOOK_SECONDS = 0.1  # between two looks at what other workers have in hand
READ_EVERY = datetime.timedelta(seconds=60)  # while a backlog is counted


class Left(enum.Enum):
    """What a worker leaves of a question."""

    NOTHING = "nothing"
    MORE = "more"  # its time was over
    # the last shares of a backlog are in the hands of other workers, who do the rest
    OTHERS = "others"


def bring_up_to_date(question_id: int) -> int:
    """Count everything uncounted of a question, then refresh its readings; waits for workers who
    count a share of it.

    Returns the number of items counted here.
    """
    items = 0
    while True:
        more, left = work_on(question_id)
        items += more
        if left is Left.NOTHING:
            deferred_results.renew(question_id)
            return items
        time.sleep(LOOK_SECONDS)


def work_on(question_id: int, *, seconds: float = math.inf) -> tuple[int, Left]:
    """Do a question's work for about so many seconds; the number of items counted, and what is
    left."""
    until = time.monotonic() + seconds
    items, shared = 0, False
    if rater_kinds.needs_recount(question_id):
        recount(Question.objects.get(pk=question_id))
    while True:
        progress = question_counting.count_some(question_id)
        items += progress.items
        if not progress.more:
            break
        shared = True
        backlog.open_for(question_id)
        hints.send(question_id)  # whoever is free helps, and calls the next one
        while True:
            counted = backlog.count_shares(question_id, seconds=min(TURN_SECONDS, seconds))
            if counted is None:
                break
            items += counted
            _read_now_and_then(question_id)
            if time.monotonic() > until:
                return items, Left.MORE
        if CountState.objects.filter(pk=question_id, backlog_from__isnull=False).exists():
            return items, Left.OTHERS
    if shared:
        hints.send(question_id)  # for the readings too
    refresh.refresh(question_id)
    return items, Left.NOTHING


def _read_now_and_then(question_id: int) -> None:
    """A backlog of many minutes shows where it stands."""
    if CountState.objects.filter(pk=question_id, read_at__lt=timezone.now() - READ_EVERY).exists():
        refresh.refresh(question_id)


def is_waiting(question_id: int) -> bool:
    """Whether the question has uncounted ratings, or readings to be made: two short queries."""
    if uncounted.some(question_id):
        return True
    return CountState.objects.filter(_behind(), pk=question_id).exists()


def _behind() -> Q:
    """Of CountState: readings are to be made, whatever is counted."""
    return (
        ~Q(scale_version=F("question__scale_version"))
        | Q(cumulative_from__isnull=False)
        | Q(unread__gt=0)
        | Q(backlog_from__isnull=False)
        | rater_kinds.behind()
    )


def waiting_questions() -> list[int]:
    """Ids of the questions with uncounted ratings, stale counts, readings of an older scale, or
    some put off.

    A question that an import is filling just now waits until it is over.
    """
    found = uncounted.questions()
    for model in (PatternTally, PeerTally):
        stale = model.objects.filter(stale=True).order_by()
        found = found.union(stale.values_list("question_id", flat=True).distinct())
    found = found.union(CountState.objects.filter(_behind()).values_list("pk", flat=True))
    return sorted(found - leases.questions_being_filled())


def waiting_ratings(question: Question, state: CountState | None) -> int:
    """Ratings that changed and are not in the question's readings: uncounted, or counted and not
    read since.

    0 only when every reading of the question is final; 1 where none waits, but readings are still
    to be made.
    """
    return waiting_together([question], {} if state is None else {question.pk: state})


def waiting_together(questions: Sequence[Question], states: Mapping[int, CountState]) -> int:
    """The same of several questions, whose states are at hand; one query."""
    waits, behind, looked_at = 0, False, []
    for question in questions:
        state = states.get(question.pk)
        if state is not None and (progress := backlog.progress(state)) is not None:
            # To count a million for each look at a page takes too long.
            waits += max(1, progress["total"] - progress["done"])
        else:
            looked_at.append(question.pk)
        if state is not None:
            waits += state.unread
            behind |= state.cumulative_from is not None
            behind |= state.scale_version != question.scale_version
    if looked_at:
        waits += uncounted.ratings(looked_at).count()
    return waits or int(behind)


def sweep() -> int:
    """Bring every waiting question up to date, then make what follows the readings; how many
    questions waited."""
    found = count_waiting()
    deferred_results.sweep(seconds=TURN_SECONDS)
    return found


def count_waiting() -> int:
    """Count and read every waiting question, small ones together; neither a failure nor a backlog
    of one keeps the others waiting."""
    found = turn = waiting_questions()
    if any(list(takewhile(bool, (_work_together() for _each in found[1:])))):
        turn = waiting_questions()
    while turn:
        # Who has not finished gets another turn, after all others.
        turn = [question_id for question_id in turn if _sweep_one(question_id) is Left.MORE]
    return len(found)


def _work_together() -> int:
    # Asked each time: an import may have begun since.
    return batch_jobs.work(besides=leases.questions_being_filled())


def _sweep_one(question_id: int) -> Left:
    try:
        _items, left = work_on(question_id, seconds=TURN_SECONDS)
        if left is Left.NOTHING:
            refresh.finish(question_id)
    except Exception:
        logger.exception("counting question %s failed; the next sweep tries again", question_id)
        return Left.OTHERS
    return left


@transaction.atomic
def recount(question: Question) -> None:
    """Forget all counts and readings of a question; its ratings are uncounted then and the ordinary
    way counts them."""
    # Writers of ratings wait: else one that holds a row of this question and wants another could
    # wait in a circle.
    locks.change_categories(question.pk)
    backlog.wait_for_shares(question.pk)
    state = question_counting.lock(question.pk)
    backlog.drop(state)
    Rating.objects.filter(question=question).exclude(counted=NOTHING, code__gte=0).update(
        counted=NOTHING
    )
    uncounted.note_all(question.pk)
    for model in (PatternTally, PairTally, PeerTally, Reading, RaterReading, Diagnosis):
        model.objects.filter(question=question).delete()
    rater_kinds.begin(state, question)
    state.ratings = 0
    state.pair_sums = {}
    state.cumulative_from = None
    state.unread = 0
    state.version += 1
    state.save()
