"""Small requests to rate, of several clients at once, in one transaction.

Each transaction has its price: the locks, what is read before writing, the journeys to the
database, the wait for the disk (on SQLite every other writer waits for it too). So one request
leads: while it works, those that come meanwhile wait behind it, and the next leader writes them all
as if they were one large request. None is answered before the commit that it was in.

The failure of one request never spoils another's: one that is refused is left out, and when
anything else fails, nothing of the group is kept; each of these is done once more by itself.
"""

from __future__ import annotations

import logging
import threading
import time

from django.db import connection, transaction

from ratings.models import Revision
from ratings.recording.record import Outcome, Submission, record_submissions

from . import incoming
from .incoming import Sent

logger = logging.getLogger(__name__)

FEW = 10  # ratings of a request that may share a transaction with others
MOST = 32  # ratings of a group

# Seconds that a leader who follows another waits on SQLite: other processes ask every millisecond
# (groundwork.database.sqlite3), and without it this one would be first each time. Meanwhile its
# group grows.
COURTESY = 0.005


# Seconds after which a request on PostgreSQL waits no longer for a leader who waits for a lock of
# somebody else's.
PATIENCE = 0.25


class _Turn:
    def __init__(self, sent: Sent) -> None:
        self.sent = sent
        # On PostgreSQL no project waits for another's locks. SQLite's writers stand in one line
        # anyway.
        self.lane = sent.project.pk if connection.vendor == "postgresql" else None
        self.woken = threading.Event()  # it was written, is to be done alone, or leads
        self.leads = False
        self.outcome: Outcome | None = None  # once it is on disk


_door = threading.Lock()
# those who wait; a lane is there while somebody leads it
_lanes: dict[int | None, list[_Turn]] = {}


def record(sent: Sent) -> Outcome:
    """What the API was sent, to disk, in a transaction that others may share; returns once that is
    committed.

    Raises what ``incoming.resolve`` and ``actions.record`` raise.
    """
    if connection.in_atomic_block or sent.wrong or len(sent.rows) > FEW:
        return _alone(sent)
    turn = _Turn(sent)
    if not _comes_first(turn):
        _wait(turn)
    if turn.leads:
        try:
            _lead(turn.lane)
        finally:
            _hand_over(turn.lane)
    return turn.outcome or _alone(sent)


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
    """Those who have waited longest."""
    group, room = [], MOST
    with _door:
        waiting = _lanes[lane]
        while waiting and len(waiting[0].sent.rows) <= room:
            room -= len(waiting[0].sent.rows)
            group.append(waiting.pop(0))
    return group


def _put_back(lane: int | None, turns: list[_Turn]) -> None:
    with _door:
        _lanes[lane][:0] = turns


def _lead(lane: int | None) -> None:
    group: list[_Turn] = []
    try:
        # SQLite waits for other writers here: who comes meanwhile is taken along
        with transaction.atomic():
            group = _take(lane)
            ready, later = _looked_up(group)
            _put_back(lane, later)
            group = [turn for turn in group if turn not in later]
            outcomes = _write(ready)
        for turn, outcome in outcomes.items():
            turn.outcome = outcome
    except Exception:
        logger.debug("%s requests are done one by one", len(group), exc_info=True)
    finally:
        for turn in group or _take(lane):
            turn.woken.set()


def _looked_up(group: list[_Turn]) -> tuple[list[dict[_Turn, Submission]], list[_Turn]]:
    """What is to be written of each project, without the requests that are refused (they are told
    so alone); and who comes later: what one finds of a rating hangs on those before it that name
    the same rating."""
    ready, later = [], []
    for project_id in sorted({turn.sent.project.pk for turn in group}):
        turns = [turn for turn in group if turn.sent.project.pk == project_id]
        submissions, named = dict[_Turn, Submission](), set[tuple[int, int, int]]()
        for turn, groups in zip(
            turns, incoming.resolve_together([turn.sent for turn in turns]), strict=True
        ):
            names = {
                (question.pk, new.item_id, new.rater_id)
                for question, some in groups or ()
                for new in some
            }
            if not named.isdisjoint(names):
                later.append(turn)
            elif groups is not None:
                submissions[turn] = Submission(groups, turn.sent.user)
            named |= names
        ready.append(submissions)
    return ready, later


def _write(ready: list[dict[_Turn, Submission]]) -> dict[_Turn, Outcome]:
    found: dict[_Turn, Outcome] = {}
    for submissions in ready:
        outcomes = record_submissions(list(submissions.values()), source=Revision.Source.API)
        found.update(zip(submissions, outcomes, strict=True))
    return found


def _alone(sent: Sent) -> Outcome:
    submission = Submission(incoming.resolve(sent), sent.user)
    with transaction.atomic():
        return record_submissions([submission], source=Revision.Source.API)[0]
