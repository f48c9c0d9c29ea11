"""Celery tasks of imports.

A lost, duplicated or late message changes nothing: the run's row says what is left to do.
"""

from __future__ import annotations

from celery import shared_task

from ratings.services import timezone_backfill

from .imports import jobs


@shared_task(ignore_result=True)
def run_import(run_id: int) -> None:
    """Check or write an import, unless another worker is doing it."""
    jobs.run_import(run_id)


def resume_stalled() -> int:
    """Resume time zone backfills and imports that no worker is processing; return their number."""
    return timezone_backfill.run_pending_backfills() + jobs.resume_stalled_imports()
