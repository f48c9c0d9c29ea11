"""Small requests to rate, of several clients at once, in one transaction.

Each transaction has its price: the locks, what is read before writing, the journeys to the database, the wait for the
disk (on SQLite every other writer waits for it too). So one request leads: while it works, those that come meanwhile
wait behind it, and the next leader writes them all as if they were one large request. None is answered before the
commit that it was in.

The failure of one request never spoils another's: when anything fails, nothing of the group is kept, and each is done
once more by itself.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any

from django.db import connection, transaction

from .actions import Group, Outcome, Submission, record_submissions
from .models import Revision

logger = logging.getLogger(__name__)

MOST = 32  # ratings of a group

# Seconds that a leader who follows another waits on SQLite: other processes ask every millisecond
# (agreement_site.sqlite3), and without it this one would be first each time. Meanwhile its group grows.
COURTESY = 0.005


# Seconds after which a request on PostgreSQL waits no longer for a leader who waits for a lock of somebody else's.
PATIENCE = 0.25


class _Turn:
    def __init__(self, submission: Submission) -> None:
        self.submission = submission
        self.project_id = submission.groups[0][0].project_id
        self.names = {(question.pk, new.item_id, new.rater_id) for question, some in submission.groups for new in some}
        # On PostgreSQL no project waits for another's locks. SQLite's writers stand in one line anyway.
        self.lane = self.project_id if connection.vendor == "postgresql" else None
        self.woken = threading.Event()  # it was written, is to be done alone, or leads
        self.leads = False
        self.outcome: Outcome | None = None  # once it is on disk


_door = threading.Lock()
_lanes: dict[int | None, list[_Turn]] = {}  # those who wait; a lane is there while somebody leads it


def record(groups: Sequence[Group], *, by: Any) -> Outcome:
    """``actions.record_all`` for the API, in a transaction that others may share; returns once that is on disk."""
    submission = Submission(groups, by)
    if connection.in_atomic_block or not groups:
        return _alone(submission)
    turn = _Turn(submission)
    if not _comes_first(turn):
        _wait(turn)
    if turn.leads:
        try:
            _lead(turn.lane)
        finally:
            _hand_over(turn.lane)
    return turn.outcome or _alone(submission)


def _comes_first(turn: _Turn) -> bool:
    """Whether the turn leads at once; else it waits behind the leader."""
    with _door:
        turn.leads = turn.lane not in _lanes
        _lanes.setdefault(turn.lane, []).append(turn)
        return turn.leads


def _wait(turn: _Turn) -> None:
    if connection.vendor == "sqlite":
        turn.woken.wait()
        if turn.leads:
            time.sleep(COURTESY)
    elif not turn.woken.wait(PATIENCE) and not _gives_up(turn):
        turn.woken.wait()


def _gives_up(turn: _Turn) -> bool:
    """Whether the turn left the line; not when somebody writes it already, or it leads."""
    with _door:
        waiting = _lanes.get(turn.lane, [])
        if turn.leads or turn not in waiting:
            return False
        waiting.remove(turn)
        return True


def _hand_over(lane: int | None) -> None:
    """The one who has waited longest leads next."""
    with _door:
        waiting = _lanes[lane]
        if waiting:
            waiting[0].leads = True
            waiting[0].woken.set()
        else:
            del _lanes[lane]


def _take(lane: int | None) -> list[_Turn]:
    """Those who have waited longest. What one finds of a rating hangs on those before it that name the same rating: it
    stays in the line behind them."""
    group, left, named, room = [], [], set[tuple[int, int, int]](), MOST
    with _door:
        for turn in _lanes[lane]:
            if len(turn.names) <= room and named.isdisjoint(turn.names):
                group.append(turn)
                room -= len(turn.names)
            else:
                left.append(turn)
            named |= turn.names
        _lanes[lane] = left
    return group


def _lead(lane: int | None) -> None:
    group: list[_Turn] = []
    try:
        with transaction.atomic():  # SQLite waits for other writers here: who comes meanwhile is taken along
            group = _take(lane)
            outcomes = _write(group)
        for turn in group:
            turn.outcome = outcomes[turn]
    except Exception:
        logger.debug("%s requests are done one by one", len(group), exc_info=True)
    finally:
        for turn in group or _take(lane):
            turn.woken.set()


def _write(group: list[_Turn]) -> dict[_Turn, Outcome]:
    found: dict[_Turn, Outcome] = {}
    for project_id in sorted({turn.project_id for turn in group}):
        turns = [turn for turn in group if turn.project_id == project_id]
        found.update(zip(turns, _submit([turn.submission for turn in turns]), strict=True))
    return found


def _alone(submission: Submission) -> Outcome:
    with transaction.atomic():
        return _submit([submission])[0]


def _submit(submissions: list[Submission]) -> list[Outcome]:
    return record_submissions(submissions, source=Revision.Source.API)
