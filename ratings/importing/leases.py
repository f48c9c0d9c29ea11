"""Who works on a run. Two workers may both believe that it is theirs; only one can write: every
write of a run is an UPDATE that names the lease, in the transaction of the rows that it speaks
of."""

from __future__ import annotations

import datetime
import secrets
from typing import Any

from django.db.models import Q
from django.utils import timezone

from projects.models import Question
from ratings.models import ImportRun

# without a heartbeat, then the run is taken from its worker
PATIENCE = datetime.timedelta(seconds=10)
SOON = 200_000  # rows; the import of so many is over before their counting would be
WORKING = (ImportRun.State.CHECKING, ImportRun.State.WRITING)


class Lost(Exception):
    """The run is in other hands now, or was taken back by its lead."""


def free() -> Q:
    """Runs that wait for a worker, or whose worker has not been heard of."""
    return Q(state__in=WORKING) & (Q(lease="") | Q(heartbeat_at__lt=timezone.now() - PATIENCE))


def questions_being_filled() -> set[int]:
    """Ids of the questions into which a worker is writing an import that is over soon.

    Counting them meanwhile would only take the processor and SQLite's one place for writers from
    the import.
    """
    alive = Q(heartbeat_at__gte=timezone.now() - PATIENCE) & ~Q(lease="")
    runs = ImportRun.objects.filter(alive, state=ImportRun.State.WRITING, rows_total__lte=SOON)
    return set(Question.objects.filter(imports__in=runs).values_list("pk", flat=True))


def take(run_id: int) -> ImportRun | None:
    """The run with a lease of our own, or None when there is nothing to do or somebody else does
    it."""
    lease = secrets.token_hex(8)
    taken = ImportRun.objects.filter(free(), pk=run_id).update(
        lease=lease, heartbeat_at=timezone.now()
    )
    if not taken:
        return None
    return (
        ImportRun.objects.select_related("project", "question__project", "by")
        .filter(pk=run_id, lease=lease)
        .first()
    )


def keep(run: ImportRun, **changes: Any) -> None:
    """Write the changes for the run and renew the lease; raises Lost, having written nothing, when
    it is not ours."""
    changes.setdefault("heartbeat_at", timezone.now())
    if not ImportRun.objects.filter(pk=run.pk, lease=run.lease, state=run.state).update(**changes):
        raise Lost
    for name, value in changes.items():
        setattr(run, name, value)


def give_back(run: ImportRun, **changes: Any) -> None:
    """Let the next worker take the run at once."""
    keep(run, lease="", **changes)
