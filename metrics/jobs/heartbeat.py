"""Heartbeats of the workers, in the database.

They show that counting continues even without a broker.
"""

from __future__ import annotations

import datetime
import os
import socket
from dataclasses import dataclass

from django.db.models import Q
from django.utils import timezone

from metrics.models import Worker

# Seconds without a sweep, or with an uncounted rating, after which the status is an error. Workers
# sweep every few seconds.
LATE_SECONDS = 60.0
RECORD_INTERVAL = datetime.timedelta(seconds=15)  # a sweep so soon after one is not recorded
REMOVED_AFTER = datetime.timedelta(hours=1)  # of a worker that was stopped or killed


@dataclass
class _ThisProcess:
    """This process: the name of its worker, and whether it has recorded a sweep under that name."""

    name: str
    has_swept: bool = False


_this_process = _ThisProcess(socket.gethostname())


def set_worker_name(name: str) -> None:
    """Set the name of this worker (``--hostname``)."""
    _this_process.name, _this_process.has_swept = name, False


def record_sweep() -> None:
    """Record that this process has just swept, at most once in RECORD_INTERVAL.

    Records older than REMOVED_AFTER are removed; the first record under a name also removes those
    of earlier processes of that name.
    """
    now = timezone.now()
    name = f"{_this_process.name[:180]}:{os.getpid()}"
    recent = Worker.objects.filter(name=name, swept_at__gt=now - RECORD_INTERVAL)
    if _this_process.has_swept and recent.exists():
        return
    Worker.objects.update_or_create(name=name, defaults={"swept_at": now})
    ended = Q(swept_at__lt=now - REMOVED_AFTER)
    if not _this_process.has_swept:
        ended |= Q(name__startswith=f"{_this_process.name[:180]}:")
    Worker.objects.filter(ended).exclude(name=name).delete()
    _this_process.has_swept = True
