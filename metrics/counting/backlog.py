"""Backlog of a question: ranges of items that workers on many machines count in parallel.

The workers communicate through database rows only. A worker claims a range (a row with its lease),
reads and tallies the items of the range without any lock, and then, in one transaction, marks the
ratings as counted and adds the tally to the counts. Adding is exact because no other worker counts
in the range while the row exists with the worker's lease: ordinary counting
(``question_counting.count_items``) does nothing while a backlog is open, a recount deletes all
ranges, and an expired range gets another lease, after which the late worker finds that its lease is
lost. Ratings may change meanwhile: *the code that was read* is stored as counted, as always, and so
a changed rating stays uncounted.
"""

from __future__ import annotations

import datetime
import time
from contextlib import suppress

import numpy as np
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from core.db.transactions import take_advisory_lock
from core.jobs.lease import (
    build_unclaimed_filter,
    generate_lease,
    get_leased_rows,
    release_lease,
    update_leased_row,
)
from metrics.models import BacklogRange, CountState
from metrics.question_scale import QuestionScale
from projects.models import Question
from ratings.services import uncounted_ratings

from . import question_counting, rating_rows
from .question_counting import CountChange
from .rater_kinds import RaterKinds

# Size of a range: uncounted ratings, and items at most. Large enough that adding its tally to the
# counts is a small part of the work; small enough that raters who want the same rows (on SQLite:
# any writer) wait only briefly.
RATINGS_PER_RANGE = {"sqlite": 20_000, "postgresql": 50_000}
MAX_ITEMS_PER_RANGE = 10_000
# After this time a worker counts as dead. If it is alive, its work is lost, but counts stay exact.
LEASE_DURATION = datetime.timedelta(seconds=15)
# Pause after writing, as a factor of the write time, for SQLite's other writers. They have no
# queue: they retry every 0.1 s.
SQLITE_PAUSE_FACTOR = 0.3

ADVISORY_LOCK_KEY = (
    0x736861  # first key of PostgreSQL's advisory locks; the second is the question's id
)


@transaction.atomic
def start_backlog(question_id: int) -> None:
    """Start a backlog: the question is counted in ranges until ``claim_range`` finds none left.

    Items that get their first uncounted rating later do not belong to it, so that it ends.
    """
    state = question_counting.lock_count_state(question_id)
    if state.backlog_from is not None:
        return
    state.backlog_from = state.backlog_done = 0
    state.backlog_to, state.backlog_total = uncounted_ratings.get_last_item_and_count(question_id)
    state.refreshed_at = timezone.now()
    state.save()


def count_ranges(question_id: int, *, seconds: float = 0.0) -> int | None:
    """Count ranges for about ``seconds``, at least one, and return the number of their items.

    Return None if no range can be claimed: all are counted, or other workers hold them.
    """
    deadline = time.monotonic() + seconds
    n_items = 0
    item_range = claim_range(question_id)
    if item_range is None:
        return None
    while item_range is not None:
        next_range = None
        try:
            change = tally_range(item_range)
            started = time.monotonic()
            if started < deadline:
                is_saved, next_range = save_and_claim_next(item_range, change)
            else:
                is_saved = add_counts_of_range(item_range, change)
        except BaseException:
            # If this fails, the lease expires by itself.
            with suppress(DatabaseError), transaction.atomic():
                release_lease(item_range)
            raise
        if is_saved:
            n_items += change.n_items
        if connection.vendor == "sqlite":
            time.sleep(SQLITE_PAUSE_FACTOR * (time.monotonic() - started))
        item_range = next_range
    return n_items


@transaction.atomic
def claim_range(question_id: int) -> BacklogRange | None:
    """Claim an expired range, or else the next one; return None if there is neither.

    Closes the backlog when all ranges are counted.
    """
    state = question_counting.lock_count_state(question_id)
    if state.backlog_from is None:
        return None
    lease_columns = {"lease": generate_lease(), "leased_until": timezone.now() + LEASE_DURATION}
    ranges = BacklogRange.objects.filter(question_id=question_id)
    # A worker that finishes an expired range has locked its row and waits for the lock that is held
    # here, so locked rows are skipped.
    expired = ranges.filter(build_unclaimed_filter()).select_for_update(skip_locked=True).first()
    if expired is not None:
        update_leased_row(expired, get_leased_rows(expired), **lease_columns)
        return expired
    items = _list_next_items(question_id, state.backlog_from, state.backlog_to)
    if items.size:
        first, last = int(items[0]), int(items[-1])
        state.backlog_from = last
        state.save(update_fields=["backlog_from"])
        return ranges.create(
            question_id=question_id, first_item_id=first, last_item_id=last, **lease_columns
        )
    if not ranges.exists():
        state.backlog_from = None
        state.save(update_fields=["backlog_from"])
    return None


def _list_next_items(question_id: int, after: int, last: int) -> np.ndarray:
    """Return the ids (n,) of the items of the next range, ascending.

    They are items with an uncounted rating, above ``after`` and up to ``last``, and as many as one
    range may have.
    """
    pairs = uncounted_ratings.list_next_items(
        question_id, after=after, last=last, limit=MAX_ITEMS_PER_RANGE
    )
    items, ratings = np.array(pairs, np.int64).reshape(-1, 2).T
    n_before = np.searchsorted(ratings.cumsum(), RATINGS_PER_RANGE[connection.vendor])
    return items[: n_before + 1]


def tally_range(item_range: BacklogRange) -> CountChange:
    """Return the change of counts by the range's items, read without any lock."""
    noted = uncounted_ratings.get_batch(
        item_range.question_id, first=item_range.first_item_id, last=item_range.last_item_id
    )
    rows = rating_rows.load_ratings_of_items(item_range.question_id, noted.item_ids)
    # Read after the rows, so that the scale has every code in them.
    scale = QuestionScale.for_question(Question.objects.get(pk=item_range.question_id))
    state = CountState.objects.get(pk=item_range.question_id)
    return CountChange.from_rows(
        item_range.question_id,
        rows,
        noted.note_ids,
        width=scale.width,
        kinds=RaterKinds.from_rows(state, rows),
    )


@transaction.atomic
def add_counts_of_range(item_range: BacklogRange, change: CountChange) -> bool:
    """Add a range's counts to the stored counts and mark its ratings; return whether that was done.

    Return False, and change nothing, if this worker no longer holds the lease of the range. The
    ratings are marked before the question's lock is acquired, so that workers mark in parallel and
    hold the lock only while they add the counts.
    """
    lock_ranges_shared(item_range.question_id)
    leased = get_leased_rows(item_range)
    if not leased.select_for_update().exists():
        return False
    question_counting.mark_change_counted(change)
    state = question_counting.lock_count_state(item_range.question_id)
    state.backlog_done += int(question_counting.build_uncounted_mask(change.rows).sum())
    scale = QuestionScale.for_question(Question.objects.get(pk=item_range.question_id))
    question_counting.add_change(
        state, change.adapt_to(scale.width, RaterKinds.from_rows(state, change.rows)), scale
    )
    leased.delete()
    return True


@transaction.atomic
def save_and_claim_next(
    item_range: BacklogRange, change: CountChange
) -> tuple[bool, BacklogRange | None]:
    """Add the counts of a range and claim the next one, holding the question's lock only once.

    Returns whether the counts were added (`add_counts_of_range`), and the next range or None.
    """
    return add_counts_of_range(item_range, change), claim_range(item_range.question_id)


def get_progress(state: CountState) -> dict[str, int] | None:
    """Return the approximate progress of an open backlog in ratings; None when there is none."""
    if state.backlog_from is None:
        return None
    return {"done": min(state.backlog_done, state.backlog_total), "total": state.backlog_total}


def get_progress_by_question() -> dict[int, dict[str, int]]:
    """Return question id -> progress of its backlog, for all open backlogs."""
    by_question = {}
    for state in CountState.objects.filter(backlog_from__isnull=False).order_by("pk"):
        progress = get_progress(state)
        if progress is not None:
            by_question[state.pk] = progress
    return by_question


def lock_ranges_shared(question_id: int) -> None:
    """Prevent the question's ranges from being deleted until the transaction ends.

    It is a shared lock, which several workers that save a range can hold at once.
    """
    take_advisory_lock(ADVISORY_LOCK_KEY, question_id, shared=True)


def lock_ranges_exclusive(question_id: int) -> None:
    """Prevent workers from saving a range of the question until the transaction ends.

    Call it before the question's lock is acquired, in transactions that lock ratings too: a worker
    that saves a range holds ratings while it waits for the question's lock.
    """
    take_advisory_lock(ADVISORY_LOCK_KEY, question_id)


def discard_backlog(state: CountState) -> None:
    """Close the backlog and delete its ranges; workers that are tallying one lose their work.

    Call it under the question's lock, in a transaction that called `lock_ranges_exclusive`.
    """
    BacklogRange.objects.filter(question_id=state.question_id).delete()
    state.backlog_from = None
