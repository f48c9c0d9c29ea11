"""Many small questions at once: some of those that wait, counted and read in one transaction.

What is not as plain as most (a backlog, models, another scale, a failure) is left to
`metrics.jobs.question_updates`, which takes one question after the other.
"""

from __future__ import annotations

import logging

from django.db import connection, transaction

from core.db import bulk
from metrics import result_listeners
from metrics.counting import batch_counting as counting
from metrics.counting import store
from metrics.models import CountState
from metrics.results import batch_results as readings

logger = logging.getLogger(__name__)

# Of one transaction: SQLite's other writers wait for it.
AT_ONCE = {"postgresql": 50, "sqlite": 20}
_SAVED = (
    "version",
    "counted_at",
    "ratings",
    "n_people",
    "pair_sums",
    "cumulative_from",
    "read_at",
)


def work(*, besides: set[int]) -> int:
    """Bring some small questions up to date that wait, if two or more do; how many that were.
    ``besides``: those that imports are filling. A failure changes nothing."""
    try:
        candidates = counting.waiting_small(besides)
        found = _work(candidates) if len(candidates) > 1 else []
    except Exception:
        logger.exception("counting small questions together failed; each is counted by itself")
        return 0
    for question_id in found:
        result_listeners.announce(question_id)
    return len(found)


@transaction.atomic
def _work(candidates: list[int]) -> list[int]:
    states = counting.lock(candidates, AT_ONCE[connection.vendor])
    versions = {pk: state.version for pk, state in states.items()}
    groups, rows, notes = counting.add(states)
    for counted in groups:
        readings.make(counted)
    found = [pk for pk, state in states.items() if state.version > versions[pk]]
    _save([states[pk] for pk in found])
    counting.mark(rows, notes)
    return found


def _save(states: list[CountState]) -> None:
    """The columns that counting and reading change, on one journey."""
    changed = ", ".join(f"{name} = %s" for name in _SAVED)
    moment = connection.ops.adapt_datetimefield_value
    bulk.several(
        (
            f"UPDATE metrics_countstate SET {changed} WHERE question_id = %s",
            (
                state.version,
                moment(state.counted_at),
                state.ratings,
                state.n_people,
                store.json_text(state.pair_sums),
                state.cumulative_from,
                moment(state.read_at),
                state.pk,
            ),
        )
        for state in states
    )
