"""Batch small requests for ratings that one process receives, so that they share transactions."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Sequence

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, connection, transaction

from core.api.errors import BadRequest
from ratings.models import Revision
from ratings.services.judgement import RecordOutcome, UnknownCode
from ratings.services.own_answers import lock_check_kinds, record_own_answers
from ratings.services.permissions import RatingNotAllowed
from ratings.services.record import JudgementBatch, record_batches

from . import rating_rows
from .rating_rows import RatingRequest

logger = logging.getLogger(__name__)

MAX_RATINGS_TO_BATCH = 10
MAX_GROUP_SIZE = 32

# Delay of a leader that follows another one, on SQLite: other processes poll the lock every
# millisecond (core.db), and without the delay this process would always win. Meanwhile its group
# grows.
LEADER_DELAY_SECONDS = 0.005
MAX_WAIT_SECONDS = 0.25  # maximum wait for a leader on PostgreSQL

RatingIds = tuple[int, int, int]  # ids of question, item, rater

_REQUEST_ERRORS = (BadRequest, PermissionDenied, UnknownCode, RatingNotAllowed)


class _QueuedRequest:
    """A request that waits to be written, with its result: the outcome or the error.

    ``done``: it was written or rejected, or its group failed; in the last case it has no result.
    ``batch`` is only filled on PostgreSQL; ``rating_ids`` are the ratings that it changes.
    """

    def __init__(self, request: RatingRequest, batch: JudgementBatch) -> None:
        self.request = request
        self.batch = batch
        self.rating_ids: set[RatingIds] = set()
        for question, judgements in batch.judgements.items():
            self.rating_ids.update(
                (question.pk, judgement.item_id, judgement.rater_id) for judgement in judgements
            )
        self.done = False
        self.result: RecordOutcome | Exception | None = None


class _RequestLine:
    """Queue of requests that wait to be written; the thread of one of them writes for all."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.waiting: list[_QueuedRequest] = []
        self.is_led = False


# One line per project id on PostgreSQL; a single one on SQLite, which has one writer at a time.
_lines: defaultdict[int, _RequestLine] = defaultdict(_RequestLine)
SHARED_LINE = 0


def store_request(request: RatingRequest) -> RecordOutcome:
    """Write the ratings of a request; return their outcome after the commit.

    Raises BadRequest naming every invalid row, PermissionDenied if an annotator names a rater that
    is not theirs, UnknownCode if a category was removed meanwhile, and RatingNotAllowed (of
    ratings.services.permissions) if an annotator may not rate.
    """
    if connection.in_atomic_block or len(request.rows) > MAX_RATINGS_TO_BATCH:
        return _write_with_retry(request)
    if connection.vendor == "sqlite":
        line = _lines[SHARED_LINE]
        queued = _QueuedRequest(request, JudgementBatch({}, request.user))
    else:
        batch = rating_rows.resolve_rows(request)
        if batch.check_item_ids:
            return _write_with_retry(request)
        line, queued = _lines[request.project.pk], _QueuedRequest(request, batch)
    _wait_in_line(line, queued)
    if isinstance(queued.result, Exception):
        raise queued.result
    return queued.result or _write_with_retry(request)


def _write_with_retry(request: RatingRequest) -> RecordOutcome:
    """Write the ratings of a request alone, in two attempts at most; return their outcome."""
    try:
        return _write_request(request)
    except (UnknownCode, IntegrityError):
        # A named object was deleted after the lookup: the second attempt reports the row.
        return _write_request(request)


def _write_request(request: RatingRequest) -> RecordOutcome:
    """Look up and write the ratings of a request in one transaction; return their outcome."""
    batch = rating_rows.resolve_rows(request)
    with transaction.atomic():
        if not batch.check_item_ids:
            return record_batches([batch], source=Revision.Source.API)[0]
        rater_ids = {row.rater_id for rows in batch.judgements.values() for row in rows}
        return record_own_answers(
            batch.judgements,
            check_kinds=lock_check_kinds(rater_ids.pop(), batch.check_item_ids),
            by=batch.by,
            source=Revision.Source.API,
            closed_item_ids=batch.closed_item_ids,
        )


def _wait_in_line(line: _RequestLine, queued: _QueuedRequest) -> None:
    """Wait until the request is done, and write the waiting requests while no other thread does."""
    with line.changed:
        follows = line.is_led
        line.waiting.append(queued)
    while _wait_to_lead(line, queued):
        try:
            if follows and connection.vendor == "sqlite":
                time.sleep(LEADER_DELAY_SECONDS)
            _write_waiting(line)
        finally:
            with line.changed:
                line.is_led = False
                line.changed.notify_all()


def _wait_to_lead(line: _RequestLine, queued: _QueuedRequest) -> bool:
    """Wait until the request leads (True) or is done (False).

    On PostgreSQL, it leaves the line after MAX_WAIT_SECONDS (False as well), because the leader may
    be waiting for a lock that this request does not need.
    """
    timeout = None if connection.vendor == "sqlite" else MAX_WAIT_SECONDS
    with line.changed:
        while not line.changed.wait_for(lambda: queued.done or not line.is_led, timeout):
            if queued in line.waiting:
                line.waiting.remove(queued)
                return False
        if queued.done:
            return False
        line.is_led = True
        return True


def _write_waiting(line: _RequestLine) -> None:
    """Write a group of the waiting requests and mark them as done.

    If the group fails, its requests get no result, and each is then written on its own.
    """
    group: list[_QueuedRequest] = []
    try:
        # SQLite waits here for other writers; requests that arrive meanwhile join the group.
        with transaction.atomic():
            group = _pop_group(line)
            results = _write_group(group)
        for queued, result in zip(group, results, strict=True):
            queued.result = result
    except Exception:
        logger.debug("%s requests are processed one by one", len(group), exc_info=True)
    finally:
        for queued in group or _pop_group(line):
            queued.done = True


def _pop_group(line: _RequestLine) -> list[_QueuedRequest]:
    """Remove and return the requests to write next, those that have waited longest.

    A request that changes a rating of an earlier one keeps waiting.
    """
    group: list[_QueuedRequest] = []
    waiting: list[_QueuedRequest] = []
    used_ids: set[RatingIds] = set()
    with line.changed:
        for queued in line.waiting:
            if len(group) < MAX_GROUP_SIZE and used_ids.isdisjoint(queued.rating_ids):
                group.append(queued)
            else:
                waiting.append(queued)
            used_ids |= queued.rating_ids
        line.waiting = waiting
    return group


def _write_group(group: list[_QueuedRequest]) -> Sequence[RecordOutcome | Exception]:
    """Write the requests in one transaction; return the outcome or the error of each."""
    if connection.vendor != "sqlite":
        return record_batches([queued.batch for queued in group], source=Revision.Source.API)
    results: list[RecordOutcome | Exception] = []
    for queued in group:
        try:
            results.append(_write_with_retry(queued.request))
        except _REQUEST_ERRORS as error:
            results.append(error)
    return results
