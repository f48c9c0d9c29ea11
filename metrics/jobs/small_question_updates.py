"""Count and refresh many small questions in one transaction.

Questions that need more (a backlog, models, a changed scale, a failure) are left to
`metrics.jobs.question_updates`, which processes one question after the other.
"""

from __future__ import annotations

import logging

from django.db import connection, transaction

from core.db import bulk
from metrics import result_listeners
from metrics.counting import small_question_counting as counting
from metrics.counting import store
from metrics.models import CountState
from metrics.results import small_question_results

logger = logging.getLogger(__name__)

# In one transaction. On SQLite, other writers wait for it.
QUESTIONS_AT_ONCE = {"postgresql": 50, "sqlite": 20}
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
        updated = _update_candidates(candidates) if len(candidates) > 1 else []
    except Exception:
        logger.exception("counting small questions in a batch failed; each is counted separately")
        return 0
    for question_id in updated:
        result_listeners.RESULTS_CHANGED.notify_on_commit(question_id)
    return len(updated)


@transaction.atomic
def _update_candidates(candidates: list[int]) -> list[int]:
    states = counting.lock_small_count_states(candidates, QUESTIONS_AT_ONCE[connection.vendor])
    versions = {pk: state.version for pk, state in states.items()}
    groups, rows, notes = counting.count_uncounted_items(states)
    for batch in groups:
        small_question_results.compute_small_question_results(batch)
    changed = [pk for pk, state in states.items() if state.version > versions[pk]]
    _save_states([states[pk] for pk in changed])
    counting.mark_ratings_counted(rows, notes)
    return changed


def _save_states(states: list[CountState]) -> None:
    """Write the columns that counting and refreshing change, in one round trip."""
    assignments = ", ".join(f"{name} = %s" for name in _SAVED_COLUMNS)
    adapt_datetime = connection.ops.adapt_datetimefield_value
    bulk.execute_statements(
        (
            f"UPDATE metrics_countstate SET {assignments} WHERE question_id = %s",
            (
                state.version,
                adapt_datetime(state.counted_at),
                state.ratings,
                state.n_people,
                store.encode_json(state.pair_sums),
                state.cumulative_from,
                adapt_datetime(state.refreshed_at),
                state.pk,
            ),
        )
        for state in states
    )
