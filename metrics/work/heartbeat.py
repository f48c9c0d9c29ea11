"""Signs of life of the workers, in the database: they tell that counting goes on even where no
broker answers."""

from __future__ import annotations

import datetime
import os
import socket

from django.utils import timezone

from metrics.models import Worker

# Seconds without a sweep, or with an uncounted rating, after which something is wrong. A sweep
# comes every few seconds.
LATE_SECONDS = 60.0
FORGOTTEN = datetime.timedelta(hours=1)  # a worker that was stopped or killed is no longer listed


def beat() -> None:
    """This process has swept just now."""
    now = timezone.now()
    name = f"{socket.gethostname()[:180]}:{os.getpid()}"
    Worker.objects.update_or_create(name=name, defaults={"swept_at": now})
    Worker.objects.filter(swept_at__lt=now - FORGOTTEN).delete()


def last_sweep() -> datetime.datetime | None:
    """When any worker finished its last sweep."""
    return Worker.objects.order_by("-swept_at").values_list("swept_at", flat=True).first()
