"""Small writes of several requests in one commit, on SQLite.

There a commit waits milliseconds for the disk, and every other writer waits for it. So one request leads: while it
waits for its turn to write, others of this process hand it their work, and what it commits is on disk for all of them
before any is answered. PostgreSQL merges the commits of its connections by itself.

The work of one request never spoils another's: when anything fails, nothing of the group is kept, and each is done once
more in a transaction of its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from django.db import connection, transaction

Answer = TypeVar("Answer")

# Seconds that a leader who follows another waits: other processes ask every millisecond (agreement_site.sqlite3), and
# without it this one would be first each time. Meanwhile its group grows.
COURTESY = 0.002


class _Turn:
    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.woken = threading.Event()  # its work is over, or it is to lead
        self.leads = False
        self.answer: Any = None
        self.error: BaseException | None = RuntimeError("the request that led this one ended early")


_door = threading.Lock()
_waiting: list[_Turn] = []
_leader: _Turn | None = None


def write(work: Callable[[], Answer]) -> Answer:
    """Run ``work`` in a transaction and return its answer once that is on disk.

    ``work`` may be run by another thread, and twice, the first time without effect. It lets every exception through:
    it is raised here, and then nothing of this work is stored.
    """
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        with transaction.atomic():
            return work()
    turn = _Turn(work)
    if not _comes_first(turn):
        turn.woken.wait()
        if turn.leads:
            time.sleep(COURTESY)
    if turn.leads:
        try:
            _lead()
        finally:
            _hand_over()
    if turn.error is not None:
        raise turn.error
    return turn.answer


def _comes_first(turn: _Turn) -> bool:
    """Whether the turn leads at once; else it waits behind the leader."""
    with _door:
        _waiting.append(turn)
        if _leader is None:
            _appoint(turn)
        return turn.leads


def _hand_over() -> None:
    """The one who has waited longest leads next."""
    with _door:
        _appoint(_waiting[0] if _waiting else None)
        if _leader is not None:
            _leader.woken.set()


def _appoint(turn: _Turn | None) -> None:
    global _leader  # noqa: PLW0603 - one leader a process
    _leader = turn
    if turn is not None:
        turn.leads = True


def _take() -> list[_Turn]:
    with _door:
        taken = _waiting[:]
        _waiting.clear()
    return taken


def _lead() -> None:
    group: list[_Turn] = []
    try:
        with transaction.atomic():  # the wait for other writers: who comes meanwhile is taken along
            group = _take()
            for turn in group:
                turn.answer = turn.work()
        for turn in group:
            turn.error = None
    except Exception as error:
        if group:
            for turn in group:
                _do_alone(turn)
        else:  # the database did not let anybody write
            group = _take()
            for turn in group:
                turn.error = type(error)(*error.args)
    finally:
        for turn in group:
            turn.woken.set()


def _do_alone(turn: _Turn) -> None:
    try:
        with transaction.atomic():
            turn.answer = turn.work()
        turn.error = None
    except Exception as error:
        turn.error = error
