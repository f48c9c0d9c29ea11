"""Celery: imports. A lost, doubled or late message changes nothing: the run's row says what is left
to do."""

from __future__ import annotations

from celery import shared_task

from ratings.recording import day_moves

from .importing import work


@shared_task(ignore_result=True)
def run_import(run_id: int) -> None:
    """Check or write an import, unless another worker does."""
    work.run_import(run_id)


def resume_stalled() -> int:
    """Go on with what no worker has in its hands, moves of days and imports; how many there
    were."""
    return day_moves.sweep() + work.resume_stalled()
