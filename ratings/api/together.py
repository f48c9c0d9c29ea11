"""On SQLite, small requests to rate share a commit.

There all writers stand in one line, and each waits for the disk. So one request leads: when its
transaction has begun, it writes all that have come meanwhile, one after the other, and who comes
later waits for the next leader. None is answered before the commit that it was in. On PostgreSQL
each has a transaction of its own, and nobody waits for another's locks.

The failure of one request never spoils another's. One that is refused leaves nothing behind; and
when the commit fails, each of the group is done once more by itself.
"""

from __future__ import annotations

import logging
import threading
import time

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, connection, transaction

from groundwork.rest.errors import BadRequest
from ratings.models import Revision
from ratings.recording.judgement import Outcome, UnknownCode
from ratings.recording.record import record

from . import incoming
from .incoming import Sent

logger = logging.getLogger(__name__)

RATINGS_OF_A_SMALL_REQUEST = 10
REQUESTS_OF_A_GROUP = 32

# A leader who follows another waits so long: other processes ask every millisecond
# (groundwork.database.sqlite3), and without it this one would be first each time. Meanwhile its
# group grows.
COURTESY_SECONDS = 0.005

_REFUSALS = (BadRequest, PermissionDenied, UnknownCode)


class _Turn:
    """A request in the line. When ``done``, it was written or refused; or the group that it was in
    failed, and it has neither outcome nor refusal."""

    def __init__(self, sent: Sent) -> None:
        self.sent = sent
        self.done = False
        self.outcome: Outcome | None = None
        self.refusal: Exception | None = None


class _Line:
    """Those who wait, in their order, and whether somebody leads. ``moved`` guards both."""

    def __init__(self) -> None:
        self.moved = threading.Condition()
        self.waiting: list[_Turn] = []
        self.is_led = False


_line = _Line()


def store(sent: Sent) -> Outcome:
    """What the API was sent, to disk; returns once that is committed.

    Raises BadRequest naming every bad row, PermissionDenied when an annotator names a rater that is
    not theirs, and UnknownCode when a category was removed at this moment.
    """
    shares = connection.vendor == "sqlite" and not connection.in_atomic_block
    if not shares or len(sent.rows) > RATINGS_OF_A_SMALL_REQUEST:
        return _write(sent)
    turn = _Turn(sent)
    _stand_in_line(turn)
    if turn.refusal is not None:
        raise turn.refusal
    return turn.outcome or _write(sent)


def _write(sent: Sent) -> Outcome:
    try:
        return _write_once(sent)
    except (UnknownCode, IntegrityError):
        # What a row names went away after it was looked up: the second look names the row.
        return _write_once(sent)


def _write_once(sent: Sent) -> Outcome:
    judgements = incoming.resolve(sent)
    with transaction.atomic():
        return record(judgements, by=sent.user, source=Revision.Source.API)


def _stand_in_line(turn: _Turn) -> None:
    """Returns when the turn is done; leads until then where nobody else does."""
    with _line.moved:
        follows = _line.is_led
        _line.waiting.append(turn)
    while _waits_to_lead(turn):
        try:
            if follows:
                time.sleep(COURTESY_SECONDS)
            _lead()
        finally:
            with _line.moved:
                _line.is_led = False
                _line.moved.notify_all()


def _waits_to_lead(turn: _Turn) -> bool:
    """True once the turn leads, False once it is done."""
    with _line.moved:
        _line.moved.wait_for(lambda: turn.done or not _line.is_led)
        if turn.done:
            return False
        _line.is_led = True
        return True


def _lead() -> None:
    group: list[_Turn] = []
    try:
        with transaction.atomic():  # waits for other writers; who comes meanwhile is taken along
            group = _take()
            written = _write_group(group)
        for turn, outcome, refusal in written:
            turn.outcome = outcome
            turn.refusal = refusal
    except Exception:
        logger.debug("%s requests are done one by one", len(group), exc_info=True)
    finally:
        for turn in group or _take():
            turn.done = True


def _take() -> list[_Turn]:
    """Those who have waited longest."""
    with _line.moved:
        group = _line.waiting[:REQUESTS_OF_A_GROUP]
        del _line.waiting[:REQUESTS_OF_A_GROUP]
    return group


def _write_group(group: list[_Turn]) -> list[tuple[_Turn, Outcome | None, Exception | None]]:
    """The outcome or the refusal of each turn."""
    found: list[tuple[_Turn, Outcome | None, Exception | None]] = []
    for turn in group:
        try:
            found.append((turn, _write(turn.sent), None))
        except _REFUSALS as refusal:
            found.append((turn, None, refusal))
    return found
