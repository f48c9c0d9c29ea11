"""Signs of life of the workers, in the database: they tell that counting goes on even where no
broker answers."""

from __future__ import annotations

import datetime
import os
import socket
from dataclasses import dataclass

from django.db.models import Q
from django.utils import timezone

from metrics.models import Worker

# Seconds without a sweep, or with an uncounted rating, after which something is wrong. A sweep
# comes every few seconds.
LATE_SECONDS = 60.0
FORGOTTEN = datetime.timedelta(hours=1)  # a worker that was stopped or killed is no longer listed


@dataclass
class _This:
    """This process: what it is called, and whether it has swept under that name."""

    name: str
    known: bool = False


_this = _This(socket.gethostname())


def be_called(name: str) -> None:
    """The name that this worker was given (``--hostname``)."""
    _this.name, _this.known = name, False


def beat() -> None:
    """This process has swept just now. Who had its name before and ended is listed no longer."""
    now = timezone.now()
    name = f"{_this.name[:180]}:{os.getpid()}"
    Worker.objects.update_or_create(name=name, defaults={"swept_at": now})
    gone = Q(swept_at__lt=now - FORGOTTEN)
    if not _this.known:
        gone |= Q(name__startswith=f"{_this.name[:180]}:")
    Worker.objects.filter(gone).exclude(name=name).delete()
    _this.known = True


def last_sweep() -> datetime.datetime | None:
    """When any worker finished its last sweep."""
    return Worker.objects.order_by("-swept_at").values_list("swept_at", flat=True).first()
