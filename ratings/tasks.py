"""Celery: imports. A lost, doubled or late message changes nothing: the run's row says what is left
to do."""

from __future__ import annotations

from celery import shared_task

from ratings.services import timezone_backfill

from .imports import jobs


@shared_task(ignore_result=True)
def run_import(run_id: int) -> None:
    """Check or write an import, unless another worker does."""
    jobs.run_import(run_id)


def resume_stalled() -> int:
    """Go on with what no worker has in its hands, moves of days and imports; how many there
    were."""
    return timezone_backfill.sweep() + jobs.resume_stalled()
