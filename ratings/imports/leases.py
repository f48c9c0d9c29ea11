"""Leases of import runs: the claim of one worker on a run.

Every write of a run names its lease (core.jobs.lease) and its state, in the transaction of the rows
it describes. A worker loses a run that another worker claims or that a lead discards.
"""

from __future__ import annotations

import datetime
from typing import Any

from django.db.models import Q
from django.utils import timezone

from core.jobs.lease import claim_lease, get_leased_rows, update_leased_row
from projects.models import Question
from ratings.files import shared_folders
from ratings.models import ImportRun

# Time without a heartbeat after which another worker may claim the run.
HEARTBEAT_TIMEOUT = datetime.timedelta(seconds=10)
MAX_ROWS_TO_WAIT_FOR = (
    200_000  # rows; an import of up to so many is finished before their counting would be
)
WORKING_STATES = (ImportRun.State.CHECKING, ImportRun.State.WRITING)


def build_claimable_filter() -> Q:
    """Return the filter for runs that need work and have no worker with a recent heartbeat.

    Runs whose file is only on another host are left out.
    """
    separate_folders = shared_folders.get_separate_folders(shared_folders.IMPORTS).values("token")
    has_file = ~Q(folder__in=separate_folders)
    return (
        Q(state__in=WORKING_STATES)
        & (Q(lease="") | Q(heartbeat_at__lt=timezone.now() - HEARTBEAT_TIMEOUT))
        & (has_file | Q(in_database=True))
    )


def get_question_ids_being_written() -> set[int]:
    """Return the ids of the questions into which a worker is writing a short import.

    Their ratings are better counted afterwards: counting would take the processor, and SQLite's
    only write lock, from the import.
    """
    has_worker = Q(heartbeat_at__gte=timezone.now() - HEARTBEAT_TIMEOUT) & ~Q(lease="")
    runs = ImportRun.objects.filter(
        has_worker, state=ImportRun.State.WRITING, rows_total__lte=MAX_ROWS_TO_WAIT_FOR
    )
    # A run into several questions refers to none of them.
    of_projects = Q(project__imports__in=runs.filter(question=None))
    questions = Question.objects.filter(Q(imports__in=runs) | of_projects)
    return set(questions.values_list("pk", flat=True))


def claim_run(run_id: int) -> ImportRun | None:
    """Return the run with a new lease, or None if it needs no work or another worker has it."""
    claimable = ImportRun.objects.filter(build_claimable_filter(), pk=run_id)
    lease = claim_lease(claimable, heartbeat_at=timezone.now())
    if lease is None:
        return None
    runs = ImportRun.objects.select_related("project", "question__project", "by")
    return runs.filter(pk=run_id, lease=lease).first()


def update_run(run: ImportRun, **changes: Any) -> None:
    """Write the changes to the run and renew the lease.

    Raises LeaseLost, having written nothing, if another worker has the lease or the state has
    changed.
    """
    changes.setdefault("heartbeat_at", timezone.now())
    update_leased_row(run, get_leased_rows(run).filter(state=run.state), **changes)


def release_run(run: ImportRun, **changes: Any) -> None:
    """Release the run, so that the next worker can claim it at once."""
    update_run(run, lease="", **changes)
