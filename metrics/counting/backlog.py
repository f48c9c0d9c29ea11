"""A backlog is counted in shares: ranges of items that any number of workers on any number of
machines read and tally side by side. Between them there are only rows.

A worker takes a share (a row with its lease), reads and tallies the range without any lock, and
then, in one transaction, marks the ratings as counted and adds the tally to the counts. Adding is
exact because nobody else counts in the range while the row stands with the worker's lease: the
ordinary counting (``counting.count_some``) does nothing while a backlog is open, a recount removes
all shares, and a share whose time is over gets another lease, after which the late worker finds
that it holds nothing. What is read may change meanwhile: it is marked with *the code that was
read*, as ever, and so stays uncounted.
"""

from __future__ import annotations

import datetime
import time
from contextlib import suppress

import numpy as np
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from core.jobs.lease import free, give_back, held, keep_lease, new_lease
from metrics.models import CountState, Share
from metrics.scale import QuestionScale
from projects.models import Question
from ratings.services import uncounted

from . import question_counting, rating_rows
from .question_counting import Change
from .rater_kinds import Kinds

# One share: so many uncounted ratings, of so many items at most. Large enough that adding its tally
# to the counts is little beside the rest; small enough that raters who want the same rows (on
# SQLite: to write at all) wait briefly.
RATINGS = {"sqlite": 20_000, "postgresql": 50_000}
ITEMS = 10_000
# then the worker counts as gone; wrong, it costs the work, not exactness
PATIENCE = datetime.timedelta(seconds=15)
# Part of the time of writing that is left to SQLite's other writers. They have no queue: they ask
# again every 0.1 s.
BREATH_FACTOR = 0.3

SHARING = 0x736861  # first key of the advisory locks of PostgreSQL; the second is the question's id


@transaction.atomic
def open_for(question_id: int) -> None:
    """From now on, and until ``take`` finds nothing left, the question is counted in shares.

    Items that get their first uncounted rating later do not belong to it, so that it comes to an
    end.
    """
    state = question_counting.lock(question_id)
    if state.backlog_from is not None:
        return
    state.backlog_from = state.backlog_done = 0
    state.backlog_to, state.backlog_total = uncounted.extent(question_id)
    state.read_at = timezone.now()
    state.save()


def count_shares(question_id: int, *, seconds: float = 0.0) -> int | None:
    """Count shares for about so many seconds, one at least; the number of their items. None when
    there is none to take: all are counted, or in the hands of other workers."""
    until = time.monotonic() + seconds
    items = 0
    share = take(question_id)
    if share is None:
        return None
    while share is not None:
        following = None
        try:
            change = read(share)
            started = time.monotonic()
            if started < until:
                done, following = finish_and_take(share, change)
            else:
                done = finish(share, change)
        except BaseException:
            with suppress(DatabaseError), transaction.atomic():  # else its time runs out
                give_back(share)
            raise
        if done:
            items += change.items
        if connection.vendor == "sqlite":
            time.sleep(BREATH_FACTOR * (time.monotonic() - started))
        share = following
    return items


@transaction.atomic
def take(question_id: int) -> Share | None:
    """The next share, or one whose worker is gone. Closes the backlog when all are counted."""
    state = question_counting.lock(question_id)
    if state.backlog_from is None:
        return None
    taken = {"lease": new_lease(), "leased_until": timezone.now() + PATIENCE}
    shares = Share.objects.filter(question_id=question_id)
    # Who finishes one late holds it, and waits for the lock that we have: that one is passed over.
    late = shares.filter(free()).select_for_update(skip_locked=True).first()
    if late is not None:
        keep_lease(late, held(late), **taken)
        return late
    items = _next_items(question_id, state.backlog_from, state.backlog_to)
    if items.size:
        first, last = int(items[0]), int(items[-1])
        state.backlog_from = last
        state.save(update_fields=["backlog_from"])
        return shares.create(question_id=question_id, first=first, last=last, **taken)
    if not shares.exists():
        state.backlog_from = None
        state.save(update_fields=["backlog_from"])
    return None


def _next_items(question_id: int, after: int, last: int) -> np.ndarray:
    """The items of the next share, ascending."""
    each = uncounted.next_items(question_id, after=after, last=last, items=ITEMS)
    items, ratings = np.array(each, np.int64).reshape(-1, 2).T
    enough = np.searchsorted(ratings.cumsum(), RATINGS[connection.vendor])
    return items[: enough + 1]


def read(share: Share) -> Change:
    """The tally of the share's items as they are now, without any lock."""
    found = uncounted.noted(share.question_id, first=share.first, last=share.last)
    rows = rating_rows.of_items(share.question_id, found.items)
    # After the rows: the categories know every code in them.
    scale = QuestionScale.of(Question.objects.get(pk=share.question_id))
    state = CountState.objects.get(pk=share.question_id)
    return Change.of(
        share.question_id, rows, found.notes, width=scale.width, kinds=Kinds.of(state, rows)
    )


@transaction.atomic
def finish(share: Share, change: Change) -> bool:
    """Mark what was read as counted and add it to the counts; False, having done nothing, without
    the lease.

    The ratings are marked before the question's lock is taken: so workers mark side by side, and
    take turns only with what is short.
    """
    hold_shares(share.question_id)
    mine = held(share)
    if not mine.select_for_update().exists():
        return False
    question_counting.mark_counted(change)
    state = question_counting.lock(share.question_id)
    state.backlog_done += int(question_counting.moved(change.rows).sum())
    scale = QuestionScale.of(Question.objects.get(pk=share.question_id))
    question_counting.add(state, change.fitting(scale.width, Kinds.of(state, change.rows)), scale)
    mine.delete()
    return True


@transaction.atomic
def finish_and_take(share: Share, change: Change) -> tuple[bool, Share | None]:
    """``finish``, and ``take`` the next one with the question's lock in hand, for which others
    stand in line."""
    return finish(share, change), take(share.question_id)


def progress(state: CountState) -> dict[str, int] | None:
    """How far an open backlog is, in about so many ratings; None when there is none."""
    if state.backlog_from is None:
        return None
    return {"done": min(state.backlog_done, state.backlog_total), "total": state.backlog_total}


def all_progress() -> dict[int, dict[str, int]]:
    """Question id -> how far its backlog is, where one is open."""
    found = {}
    for state in CountState.objects.filter(backlog_from__isnull=False).order_by("pk"):
        of_state = progress(state)
        if of_state is not None:
            found[state.pk] = of_state
    return found


def hold_shares(question_id: int) -> None:
    """Until the transaction ends the question's shares stand. Workers that finish one have this
    lock together."""
    _lock("pg_advisory_xact_lock_shared", question_id)


def wait_for_shares(question_id: int) -> None:
    """Until the transaction ends no worker finishes a share of the question. To be called before
    the question's lock is taken by who wants ratings too: a worker that finishes a share holds
    ratings while it waits for that lock."""
    _lock("pg_advisory_xact_lock", question_id)


def drop(state: CountState) -> None:
    """The backlog is over: what the workers have read for their shares is worth nothing. Under the
    question's lock, in a transaction that has waited for the shares."""
    Share.objects.filter(question_id=state.question_id).delete()
    state.backlog_from = None


def _lock(function: str, question_id: int) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {function}(%s, %s)", [SHARING, question_id])
