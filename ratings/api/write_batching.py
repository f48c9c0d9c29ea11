"""Small requests to rate that one process gets at the same time share a transaction.

One request leads: it writes all that have come meanwhile, and who comes later waits for the next
leader. None is answered before the commit that it was in. On SQLite all writers stand in one line
anyway, and each waits for the disk: so they are written one after the other. On PostgreSQL each
looks up its own names before it stands in its project's line, and the group is written as one.

The failure of one request never spoils another's. One that is refused leaves nothing behind; and
when a group or its commit fails, each is done once more by itself.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, connection, transaction

from core.api.errors import BadRequest
from ratings.models import Revision
from ratings.services.judgement import Outcome, UnknownCode
from ratings.services.permissions import Refused
from ratings.services.record import Said, record_each

from . import rating_rows
from .rating_rows import Sent

logger = logging.getLogger(__name__)

RATINGS_OF_A_SMALL_REQUEST = 10
REQUESTS_OF_A_GROUP = 32

# A leader who follows another waits so long: other processes ask every millisecond
# (core.db.sqlite3), and without it this one would be first each time. Meanwhile its
# group grows.
COURTESY_SECONDS = 0.005
PATIENCE_SECONDS = 0.25  # behind a leader on PostgreSQL

Name = tuple[int, int, int]  # ids of question, item, rater

_REFUSALS = (BadRequest, PermissionDenied, UnknownCode, Refused)


class _Turn:
    """A request in the line. When ``done``, it was written or refused; or the group that it was in
    failed, and it has neither outcome nor refusal.

    What it ``said`` is known on PostgreSQL alone, and ``names`` the ratings that it is about.
    """

    def __init__(self, sent: Sent, said: Said) -> None:
        self.sent = sent
        self.said = said
        self.names: set[Name] = set()
        for question, judgements in said.judgements.items():
            self.names.update((question.pk, new.item_id, new.rater_id) for new in judgements)
        self.done = False
        self.outcome: Outcome | None = None
        self.refusal: Exception | None = None


class _Line:
    """Those who wait, in their order, and whether somebody leads. ``moved`` guards both."""

    def __init__(self) -> None:
        self.moved = threading.Condition()
        self.waiting: list[_Turn] = []
        self.is_led = False


# Of a project on PostgreSQL, under its id; SQLite has one place for writers, and one line.
_lines: defaultdict[int, _Line] = defaultdict(_Line)
ONE_FOR_ALL = 0


def store(sent: Sent) -> Outcome:
    """What the API was sent, to disk; returns once that is committed.

    Raises BadRequest naming every bad row, PermissionDenied when an annotator names a rater that is
    not theirs, UnknownCode when a category was removed at this moment, and Refused (of
    ratings.services.permissions) for what an annotator may not say.
    """
    if connection.in_atomic_block or len(sent.rows) > RATINGS_OF_A_SMALL_REQUEST:
        return _write(sent)
    if connection.vendor == "sqlite":
        line, turn = _lines[ONE_FOR_ALL], _Turn(sent, Said({}, sent.user))
    else:
        line, turn = _lines[sent.project.pk], _Turn(sent, rating_rows.resolve(sent))
    _stand_in(line, turn)
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
    said = rating_rows.resolve(sent)
    with transaction.atomic():
        return record_each([said], source=Revision.Source.API)[0]


def _stand_in(line: _Line, turn: _Turn) -> None:
    """Returns when the turn is done; leads until then where nobody else does."""
    with line.moved:
        follows = line.is_led
        line.waiting.append(turn)
    while _waits_to_lead(line, turn):
        try:
            if follows and connection.vendor == "sqlite":
                time.sleep(COURTESY_SECONDS)
            _lead(line)
        finally:
            with line.moved:
                line.is_led = False
                line.moved.notify_all()


def _waits_to_lead(line: _Line, turn: _Turn) -> bool:
    """True once the turn leads, False once it is done.

    On PostgreSQL also when it leaves the line, because the leader waits too long for a lock that
    this one may not need.
    """
    patience = None if connection.vendor == "sqlite" else PATIENCE_SECONDS
    with line.moved:
        while not line.moved.wait_for(lambda: turn.done or not line.is_led, patience):
            if turn in line.waiting:
                line.waiting.remove(turn)
                return False
        if turn.done:
            return False
        line.is_led = True
        return True


def _lead(line: _Line) -> None:
    group: list[_Turn] = []
    try:
        # SQLite waits here for other writers; who comes meanwhile is taken along.
        with transaction.atomic():
            group = _take(line)
            written = _write_group(group)
        for turn, outcome, refusal in written:
            turn.outcome = outcome
            turn.refusal = refusal
    except Exception:
        logger.debug("%s requests are done one by one", len(group), exc_info=True)
    finally:
        for turn in group or _take(line):
            turn.done = True


def _take(line: _Line) -> list[_Turn]:
    """Those who have waited longest. Who names a rating that somebody before names waits on."""
    group: list[_Turn] = []
    left: list[_Turn] = []
    named: set[Name] = set()
    with line.moved:
        for turn in line.waiting:
            if len(group) < REQUESTS_OF_A_GROUP and named.isdisjoint(turn.names):
                group.append(turn)
            else:
                left.append(turn)
            named |= turn.names
        line.waiting = left
    return group


def _write_group(group: list[_Turn]) -> list[tuple[_Turn, Outcome | None, Exception | None]]:
    """The outcome or the refusal of each turn."""
    found: list[tuple[_Turn, Outcome | None, Exception | None]] = []
    if connection.vendor != "sqlite":
        said = [turn.said for turn in group]
        outcomes = record_each(said, source=Revision.Source.API)
        return [(turn, outcome, None) for turn, outcome in zip(group, outcomes, strict=True)]
    for turn in group:
        try:
            found.append((turn, _write(turn.sent), None))
        except _REFUSALS as refusal:
            found.append((turn, None, refusal))
    return found
