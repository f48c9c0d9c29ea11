"""Celery: the hints and what they start. A lost, doubled or late message changes nothing (docs/architecture.md)."""

from __future__ import annotations

import time

from celery import shared_task

from ratings.importing import leases

from . import actions, attributing, heartbeat, hints, pacing, sampling, slices


@shared_task(ignore_result=True)
def count_question(question_id: int) -> None:
    """Count what is uncounted in a question and refresh its readings, after the question's rest (pacing)."""
    pacing.wait(question_id)
    hints.forget(question_id)  # after the wait: the ratings of the meantime need no hint of their own
    started = time.monotonic()
    if question_id in leases.questions_being_filled():  # the import's end sends a hint of its own
        return
    _items, left = actions.work_on(question_id, seconds=actions.SLICE)
    if left is actions.Left.MORE:
        hints.send(question_id)  # behind the questions that wait
    else:
        pacing.counted(question_id, started)


@shared_task(ignore_result=True)
def attribute_move(attribution_id: int) -> None:
    """Compute an attribution that somebody waits for; one that was computed meanwhile is left alone."""
    attributing.compute(attribution_id)


@shared_task(ignore_result=True)
def compute_slice(slice_id: int) -> None:
    """Compute a slice that somebody waits for; one that was computed meanwhile is left alone."""
    slices.compute(slice_id)


def sweep_all() -> int:
    """Bring every question with uncounted ratings or stale readings up to date; how many there were."""
    waiting = actions.sweep()
    attributing.sweep()
    slices.sweep()
    heartbeat.beat()
    sampling.audit_one()
    return waiting
