"""Count and refresh questions: from tasks, sweeps and commands.

Many small questions are updated in one transaction. Questions that need more (a backlog, models, a
changed scale, a failure) are processed one after the other.
"""

from __future__ import annotations

import datetime
import enum
import logging
import math
import time
from collections.abc import Mapping, Sequence
from itertools import takewhile

from django.db import connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from core.db import bulk
from metrics.counting import backlog, question_counting, rater_kinds, store
from metrics.counting import small_question_counting as counting
from metrics.models import (
    CountState,
    Diagnosis,
    PairTally,
    PatternTally,
    PeerTally,
    RaterResult,
    Result,
)
from metrics.results import question_results, rater_results, refresh
from metrics.results.headline.headline_computation import CountedRaters
from projects import locks
from projects.models import Question
from ratings.imports import leases
from ratings.models import NO_CODE, Rating
from ratings.services import uncounted_ratings

from . import hints

logger = logging.getLogger(__name__)

# In one transaction. On SQLite other writers wait for it, about 0.15 s.
QUESTIONS_AT_ONCE = 50
_SAVED_COLUMNS = (
    "version",
    "counted_at",
    "ratings",
    "n_people",
    "pair_sums",
    "cumulative_from",
    "refreshed_at",
)


def update_small_questions(*, excluded: set[int]) -> int:
    """Count and refresh some small pending questions, if there are two or more; return how many.

    ``excluded``: ids of the questions that imports are filling. If it fails, it changes nothing and
    returns 0.
    """
    try:
        candidates = counting.list_small_uncounted_questions(excluded)
        if len(candidates) < 2:
            return 0
        counting.create_missing_states(candidates)
        return _update_candidates(candidates)
    except Exception:
        logger.exception("counting small questions in a batch failed; each is counted separately")
        return 0


@transaction.atomic
def _update_candidates(candidates: list[int]) -> int:
    """Count and refresh the candidates that are still small and pending; return their number."""
    # On SQLite, another worker may have counted some while this transaction waited for its turn.
    still_uncounted = uncounted_ratings.get_question_ids().intersection(candidates)
    states = counting.lock_states_of_small_questions(still_uncounted, QUESTIONS_AT_ONCE)
    versions = {pk: state.version for pk, state in states.items()}
    groups, rows, notes = counting.count_uncounted_items(states)
    for batch in groups:
        _refresh_results(batch)
    changed = [pk for pk, state in states.items() if state.version > versions[pk]]
    _save_states([states[pk] for pk in changed])
    counting.mark_ratings_counted(rows, notes)
    return len(changed)


def _save_states(states: list[CountState]) -> None:
    """Write those columns of the states that counting and refreshing change, in one round trip."""
    adapt_datetime = connection.ops.adapt_datetimefield_value
    rows = [
        (
            state.pk,
            state.version,
            adapt_datetime(state.counted_at),
            state.ratings,
            state.n_people,
            store.encode_json(state.pair_sums),
            state.cumulative_from,
            adapt_datetime(state.refreshed_at),
        )
        for state in states
    ]
    bulk.update_rows_by_id("metrics_countstate", _SAVED_COLUMNS, rows, key="question_id")


def _refresh_results(batch: counting.SmallQuestionCounts) -> None:
    """Compute and store the results of those questions and raters of the batch that changed.

    Call it under the questions' locks, in the transaction of counting, which marks nothing stale.
    """
    scale = batch.scale
    if batch.changed_questions:
        rows = PatternTally.objects.filter(question__in=batch.changed_questions).order_by(
            "question", "day"
        )
        loaded = question_results.StoredPatterns.from_rows(list(rows), scale)
        raters_by_question = CountedRaters.from_states(
            [batch.states[pk] for pk in batch.changed_questions], scale
        )
        updates = []
        for pk, days in batch.days.items():
            state = batch.states[pk]
            deferred = (
                bool(days)
                and loaded.count_days_after(pk, min(days)) - len(days) > refresh.MAX_CUMULATIVE_DAYS
            )
            if deferred:
                state.cumulative_from = min(days)
            update = question_results.QuestionUpdate.from_patterns(
                loaded, state, raters_by_question[pk], days, deferred=deferred
            )
            updates.append(update)
        question_results.compute_and_store_results(updates, [batch.labels[pk] for pk in batch.days])
    rater_results.refresh_rater_results(batch.scope, batch.raters, scale)
    for pk in {*batch.changed_questions, *map(batch.scope.get_question_id, batch.raters)}:
        batch.states[pk].refreshed_at = timezone.now()
        batch.states[pk].version += 1


TURN_SECONDS = 2.0  # for one question while others may be pending
POLL_SECONDS = 0.1  # between two checks whether other workers have finished
REFRESH_INTERVAL = datetime.timedelta(seconds=60)  # while a backlog is counted


class RemainingWork(enum.Enum):
    """Work left on a question when the time of a worker is over, and who does it."""

    NOTHING = "nothing"
    MORE = "more"  # the time was up
    # Other workers count the last ranges of a backlog, and will do the rest.
    OTHER_WORKERS = "others"


def update_question(question_id: int) -> int:
    """Count all uncounted ratings of a question, then refresh its results.

    Waits for workers that count a range of it. Returns the number of items counted here.
    """
    n_items = 0
    while True:
        n_counted, remaining = update_question_for_seconds(question_id)
        n_items += n_counted
        if remaining is RemainingWork.NOTHING:
            refresh.recompute_deferred_results(question_id)
            return n_items
        time.sleep(POLL_SECONDS)


def update_question_for_seconds(
    question_id: int, *, seconds: float = math.inf
) -> tuple[int, RemainingWork]:
    """Count and refresh a question for about ``seconds``.

    Returns the number of items counted and the remaining work.
    """
    deadline = time.monotonic() + seconds
    n_items, in_parallel = 0, False
    if rater_kinds.check_and_store_rater_kinds(question_id):
        delete_counts_and_results(Question.objects.get(pk=question_id))
    while True:
        progress = question_counting.count_items(question_id)
        n_items += progress.n_items
        if not progress.has_more:
            break
        in_parallel = True
        backlog.start_backlog(question_id)
        hints.send_hint(question_id)  # a free worker helps, and hints the next one
        while True:
            counted = backlog.count_ranges(question_id, seconds=min(TURN_SECONDS, seconds))
            if counted is None:
                break
            n_items += counted
            _refresh_if_due(question_id)
            if time.monotonic() > deadline:
                return n_items, RemainingWork.MORE
        if CountState.objects.filter(pk=question_id, backlog_from__isnull=False).exists():
            return n_items, RemainingWork.OTHER_WORKERS
    if in_parallel:
        hints.send_hint(question_id)  # other workers help to refresh the results, too
    refresh.refresh_results(question_id)
    return n_items, RemainingWork.NOTHING


def _refresh_if_due(question_id: int) -> None:
    """Refresh results older than REFRESH_INTERVAL, so that pages show a backlog's progress."""
    if CountState.objects.filter(
        pk=question_id, refreshed_at__lt=timezone.now() - REFRESH_INTERVAL
    ).exists():
        refresh.refresh_results(question_id)


def has_pending_work(question_id: int) -> bool:
    """Return True if the question has uncounted ratings or stale results; two short queries."""
    if uncounted_ratings.has_uncounted(question_id):
        return True
    return CountState.objects.filter(_build_stale_results_filter(), pk=question_id).exists()


def _build_stale_results_filter() -> Q:
    """Return a filter of CountState rows whose results are stale, even if no rating changed."""
    return (
        ~Q(scale_version=F("question__scale_version"))
        | Q(cumulative_from__isnull=False)
        | Q(unrefreshed__gt=0)
        | Q(backlog_from__isnull=False)
        | rater_kinds.build_kinds_stale_filter()
    )


def list_pending_questions() -> list[int]:
    """Return ids of questions with uncounted ratings, stale counts, or stale or deferred results.

    Questions that an import is filling are left out until it is over.
    """
    question_ids = uncounted_ratings.get_question_ids()
    for model in (PatternTally, PeerTally):
        stale = model.objects.filter(stale=True).order_by()
        question_ids = question_ids.union(stale.values_list("question_id", flat=True).distinct())
    question_ids = question_ids.union(
        CountState.objects.filter(_build_stale_results_filter()).values_list("pk", flat=True)
    )
    if not question_ids:
        return []
    return sorted(question_ids - leases.get_question_ids_being_written())


def count_pending_ratings(question: Question, state: CountState | None) -> int:
    """Return the number of changed ratings that are not in the question's results yet.

    They are uncounted, or were counted after the last refresh. The number is 0 only when every
    result of the question is final; 1 where no rating is pending, but a result is. ``state``: None
    for a question that was never counted.
    """
    return count_pending_ratings_of_questions(
        [question], {} if state is None else {question.pk: state}
    )


def count_pending_ratings_of_questions(
    questions: Sequence[Question], states: Mapping[int, CountState]
) -> int:
    """Return the sum of `count_pending_ratings` over questions with their states; one query."""
    n_pending, is_stale, without_backlog = 0, False, []
    for question in questions:
        state = states.get(question.pk)
        if state is not None and (progress := backlog.get_progress(state)) is not None:
            # Counting a million rows at each page view takes too long.
            n_pending += max(1, progress["total"] - progress["done"])
        else:
            without_backlog.append(question.pk)
        if state is not None:
            n_pending += state.unrefreshed
            is_stale |= state.cumulative_from is not None
            is_stale |= state.scale_version != question.scale_version
    if without_backlog:
        n_pending += uncounted_ratings.get_ratings(without_backlog).count()
    return n_pending or int(is_stale)


def sweep_questions() -> int:
    """Count and refresh every pending question, then compute deferred results.

    Returns how many questions were pending.
    """
    n_questions = update_pending_questions()
    refresh.refresh_deferred_results(seconds=TURN_SECONDS)
    return n_questions


def update_pending_questions() -> int:
    """Count and refresh every pending question, small ones together; return how many there were.

    Neither a failure nor a backlog of one question delays the others.
    """
    pending = question_ids = list_pending_questions()
    if any(list(takewhile(bool, (_update_small_questions() for _question in pending[1:])))):
        question_ids = list_pending_questions()
    while question_ids:
        # A question that is not finished gets another turn after all others.
        question_ids = [
            question_id
            for question_id in question_ids
            if _update_with_time_limit(question_id) is RemainingWork.MORE
        ]
    return len(pending)


def _update_small_questions() -> int:
    """Count and refresh a batch of small questions that no import is filling; return how many."""
    # Read each time, because an import may have begun since.
    return update_small_questions(excluded=leases.get_question_ids_being_written())


def _update_with_time_limit(question_id: int) -> RemainingWork:
    """Count and refresh a question for TURN_SECONDS; return the work that remains.

    A failure is logged, and the question left to the next sweep.
    """
    try:
        _n_items, remaining = update_question_for_seconds(question_id, seconds=TURN_SECONDS)
        if remaining is RemainingWork.NOTHING:
            refresh.recompute_deferred_cumulative_results(question_id)
    except Exception:
        logger.exception("counting question %s failed; the next sweep will retry", question_id)
        return RemainingWork.OTHER_WORKERS
    return remaining


@transaction.atomic
def delete_counts_and_results(question: Question) -> None:
    """Delete all counts and results of a question.

    Its ratings become uncounted, so that workers count them again.
    """
    # Writers of ratings wait. Otherwise one that holds a row of this question and wants another
    # could deadlock.
    locks.lock_categories(question.pk)
    backlog.lock_ranges_exclusive(question.pk)
    state = question_counting.lock_count_state(question.pk)
    backlog.discard_backlog(state)
    Rating.objects.filter(question=question).exclude(counted=NO_CODE, code__gte=0).update(
        counted=NO_CODE
    )
    uncounted_ratings.rebuild_notes(question.pk)
    for model in (PatternTally, PairTally, PeerTally, Result, RaterResult, Diagnosis):
        model.objects.filter(question=question).delete()
    rater_kinds.reset_kinds(state, question)
    state.ratings = 0
    state.pair_sums = {}
    state.cumulative_from = None
    state.unrefreshed = 0
    state.version += 1
    state.save()
