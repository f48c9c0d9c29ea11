"""Celery: the hints and what they start. A lost, doubled or late message changes nothing
(docs/architecture.md)."""

from __future__ import annotations

import time

from celery import shared_task

from metrics.auditing import schedule
from metrics.on_request import attributing, reports, slices
from metrics.readings import project
from metrics.work import heartbeat, hints, pacing, sweep, together
from ratings.imports import leases


@shared_task(ignore_result=True)
def count_question(question_id: int) -> None:
    """Count what is uncounted in a question and refresh its readings, after the question's rest
    (pacing)."""
    pacing.wait(question_id)
    # after the wait: the ratings of the meantime need no hint of their own
    hints.forget(question_id)
    started = time.monotonic()
    being_filled = leases.questions_being_filled()
    if question_id in being_filled:  # the import's end sends a hint of its own
        return
    # Small ones that wait beside it cost hardly more than it alone, and their hints find nothing.
    together.work(besides=being_filled)
    if not sweep.is_waiting(question_id):
        pacing.counted(question_id, started)
        return
    items, left = sweep.work_on(question_id, seconds=sweep.TURN_SECONDS)
    if left is sweep.Left.NOTHING and not items:
        project.finish(question_id)  # put off until no rating came for a moment
    if left is sweep.Left.MORE or (items and project.is_put_off(question_id)):
        hints.send(question_id)  # behind the questions that wait
    else:
        pacing.counted(question_id, started)


@shared_task(ignore_result=True)
def attribute_move(attribution_id: int) -> None:
    """Compute an attribution that somebody waits for; one that was computed meanwhile is left
    alone."""
    attributing.WORK.compute(attribution_id)


@shared_task(ignore_result=True)
def compute_slice(slice_id: int) -> None:
    """Compute a slice that somebody waits for; one that was computed meanwhile is left alone."""
    slices.WORK.compute(slice_id)


@shared_task(ignore_result=True)
def compute_report(report_id: int) -> None:
    """Compute a report that somebody waits for; one that was computed meanwhile is left alone."""
    reports.WORK.compute(report_id)


def sweep_all() -> int:
    """Bring every question with uncounted ratings or stale readings up to date; how many there
    were."""
    waiting = sweep.sweep()
    attributing.WORK.sweep()
    slices.WORK.sweep()
    reports.WORK.sweep()
    heartbeat.beat()
    schedule.audit_some()
    return waiting
