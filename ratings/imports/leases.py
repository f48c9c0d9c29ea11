"""Who works on a run: every write of a run names its lease (core.jobs.lease) and its state,
in the transaction of the rows that it speaks of. A worker has lost a run that is in other hands, or
that its lead took back."""

from __future__ import annotations

import datetime
from typing import Any

from django.db.models import Q
from django.utils import timezone

from core.jobs.lease import held, keep_lease, take_lease
from projects.models import Question
from ratings.models import ImportRun

# without a heartbeat, then the run is taken from its worker
PATIENCE = datetime.timedelta(seconds=10)
SOON = 200_000  # rows; the import of so many is over before their counting would be
WORKING = (ImportRun.State.CHECKING, ImportRun.State.WRITING)


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
    # a run into several questions names none of them
    of_projects = Q(project__imports__in=runs.filter(question=None))
    filled = Question.objects.filter(Q(imports__in=runs) | of_projects)
    return set(filled.values_list("pk", flat=True))


def take(run_id: int) -> ImportRun | None:
    """The run with a lease of our own, or None when there is nothing to do or somebody else does
    it."""
    free_run = ImportRun.objects.filter(free(), pk=run_id)
    lease = take_lease(free_run, heartbeat_at=timezone.now())
    if lease is None:
        return None
    whole = ImportRun.objects.select_related("project", "question__project", "by")
    return whole.filter(pk=run_id, lease=lease).first()


def keep(run: ImportRun, **changes: Any) -> None:
    """Write the changes for the run and renew the lease; raises lease.Lost, having written nothing,
    when it is not ours."""
    changes.setdefault("heartbeat_at", timezone.now())
    keep_lease(run, held(run).filter(state=run.state), **changes)


def give_back(run: ImportRun, **changes: Any) -> None:
    """Let the next worker take the run at once."""
    keep(run, lease="", **changes)
