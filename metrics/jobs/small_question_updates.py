"""Count and refresh many small questions in one transaction.

Questions that need more (a backlog, models, a changed scale, a failure) are left to
`metrics.jobs.question_updates`, which processes one question after the other.
"""

from __future__ import annotations

import logging

from django.db import connection, transaction
from django.utils import timezone

from core.db import bulk
from metrics.counting import small_question_counting as counting
from metrics.counting import store
from metrics.models import CountState, PatternTally
from metrics.results import question_results, rater_results
from metrics.results.headline.headline_computation import CountedRaters, HeadlineBuilder
from ratings.services import uncounted

logger = logging.getLogger(__name__)

# In one transaction. On SQLite other writers wait for it, about 0.15 s.
QUESTIONS_AT_ONCE = 50
# Days of cumulative results that are computed at once, as in results.refresh.
MAX_CUMULATIVE_DAYS = 62
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

    ``excluded``: the questions that imports are filling. A failure changes nothing.
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
    # On SQLite, another worker may have counted some while this transaction waited for its turn.
    still_uncounted = uncounted.get_question_ids().intersection(candidates)
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
    """Write the columns that counting and refreshing change, in one round trip."""
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
    """Compute and store the results of these questions that counting changed.

    Under the questions' locks and in the transaction of counting, which marks nothing stale.
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
            all_time, *items_by_day = loaded.select_question(pk)
            deferred = (
                bool(days)
                and int((items_by_day[0] > min(days)).sum()) - len(days) > MAX_CUMULATIVE_DAYS
            )
            if deferred:
                state.cumulative_from = min(days)
            builder = HeadlineBuilder(raters_by_question[pk], loaded.patterns, all_time, scale)
            update = question_results.QuestionUpdate.for_days(
                state, builder, days, (items_by_day[0], items_by_day[1]), deferred=deferred
            )
            updates.append(update)
        question_results.compute_and_store_results(
            updates, loaded.patterns, scale, [batch.labels[pk] for pk in batch.days]
        )
    rater_results.refresh_rater_results(batch.scope, batch.raters, scale)
    for pk in {*batch.changed_questions, *map(batch.scope.get_question_id, batch.raters)}:
        batch.states[pk].refreshed_at = timezone.now()
        batch.states[pk].version += 1
