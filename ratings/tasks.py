"""Celery tasks of imports, exports and connections, and their periodic tasks."""

from __future__ import annotations

from celery import shared_task

from ratings.services import project_changes

from .exports import jobs as export_jobs
from .imports import jobs
from .label_studio import pull


@shared_task(ignore_result=True)
def run_import(run_id: int) -> None:
    """Check or write an import, unless another worker is doing it."""
    jobs.run_import(run_id)


@shared_task(ignore_result=True)
def run_export(run_id: int) -> None:
    """Write the file of an export, unless another worker is doing it."""
    export_jobs.run_export(run_id)


@shared_task(ignore_result=True)
def pull_connection(connection_id: int) -> None:
    """Import the new annotations of a connection, unless another worker is doing it."""
    pull.pull_connection(connection_id)


def sweep_connections() -> None:
    """Import the new annotations of every connection that is due."""
    pull.pull_due_connections()


def resume_stalled() -> int:
    """Resume time zone backfills, and imports and exports without a worker; return their number."""
    n_resumed = project_changes.run_pending_backfills() + jobs.resume_stalled_imports()
    return n_resumed + export_jobs.resume_stalled_exports()
