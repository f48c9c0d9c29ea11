"""Celery: the hints and what they start. A lost, doubled or late message changes nothing
(docs/architecture.md)."""

from __future__ import annotations

import time

from celery import shared_task

from metrics.attribution import attribution_jobs
from metrics.filtered import filtered_jobs
from metrics.integrity import schedule
from metrics.jobs import batch_jobs, heartbeat, hints, pacing, question_updates
from metrics.reports import report_jobs
from metrics.results import refresh
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
    batch_jobs.work(besides=being_filled)
    if not question_updates.is_waiting(question_id):
        pacing.counted(question_id, started)
        return
    items, left = question_updates.work_on(question_id, seconds=question_updates.TURN_SECONDS)
    if left is question_updates.Left.NOTHING and not items:
        refresh.finish(question_id)  # put off until no rating came for a moment
    if left is question_updates.Left.MORE or (items and refresh.is_put_off(question_id)):
        hints.send(question_id)  # behind the questions that wait
    else:
        pacing.counted(question_id, started)


@shared_task(ignore_result=True)
def attribute_move(attribution_id: int) -> None:
    """Compute an attribution that somebody waits for; one that was computed meanwhile is left
    alone."""
    attribution_jobs.WORK.compute(attribution_id)


@shared_task(ignore_result=True)
def compute_slice(slice_id: int) -> None:
    """Compute a slice that somebody waits for; one that was computed meanwhile is left alone."""
    filtered_jobs.WORK.compute(slice_id)


@shared_task(ignore_result=True)
def compute_report(report_id: int) -> None:
    """Compute a report that somebody waits for; one that was computed meanwhile is left alone."""
    report_jobs.WORK.compute(report_id)


def sweep_all() -> int:
    """Bring every question with uncounted ratings or stale readings up to date; how many there
    were."""
    waiting = question_updates.sweep()
    attribution_jobs.WORK.sweep()
    filtered_jobs.WORK.sweep()
    report_jobs.WORK.sweep()
    heartbeat.beat()
    schedule.audit_some()
    return waiting
