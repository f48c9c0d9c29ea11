"""Celery: imports. A lost, doubled or late message changes nothing: the run's row says what is left to do."""

from __future__ import annotations

from celery import shared_task

from .importing import actions


@shared_task(ignore_result=True)
def run_import(run_id: int) -> None:
    """Check or write an import, unless another worker does."""
    actions.run_import(run_id)


def resume_stalled() -> int:
    """Take up the imports that no worker has in its hands; how many there were."""
    return actions.resume_stalled()
