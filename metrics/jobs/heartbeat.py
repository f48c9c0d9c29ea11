"""Heartbeats of the workers, in the database.

They show that counting continues even without a broker.
"""

from __future__ import annotations

import datetime
import os
import socket
import time
from dataclasses import dataclass

from django.db.models import Q
from django.utils import timezone

from metrics.models import Worker

# Seconds without a sweep, or with an uncounted rating, after which the status is an error. Workers
# sweep every few seconds.
LATE_SECONDS = 60.0
RECORD_INTERVAL_SECONDS = 15.0  # a sweep within this time after a recorded one is not recorded
REMOVED_AFTER = datetime.timedelta(hours=1)  # of a worker that was stopped or killed


@dataclass
class _ThisProcess:
    """This process: its name, and whether it has swept under that name."""

    name: str
    has_swept: bool = False
    recorded_at: float = 0.0  # time.monotonic()


_this_process = _ThisProcess(socket.gethostname())


def set_worker_name(name: str) -> None:
    """Set the name of this worker (``--hostname``)."""
    _this_process.name, _this_process.has_swept = name, False


def record_sweep() -> None:
    """Record that this process has just swept, at most once in RECORD_INTERVAL_SECONDS.

    Ended processes that had its name are removed.
    """
    elapsed_seconds = time.monotonic() - _this_process.recorded_at
    if _this_process.has_swept and 0 <= elapsed_seconds < RECORD_INTERVAL_SECONDS:
        return
    _this_process.recorded_at = time.monotonic()
    now = timezone.now()
    name = f"{_this_process.name[:180]}:{os.getpid()}"
    Worker.objects.update_or_create(name=name, defaults={"swept_at": now})
    ended = Q(swept_at__lt=now - REMOVED_AFTER)
    if not _this_process.has_swept:
        ended |= Q(name__startswith=f"{_this_process.name[:180]}:")
    Worker.objects.filter(ended).exclude(name=name).delete()
    _this_process.has_swept = True


def get_last_sweep() -> datetime.datetime | None:
    """Return when any worker finished its last sweep, or None."""
    return Worker.objects.order_by("-swept_at").values_list("swept_at", flat=True).first()
