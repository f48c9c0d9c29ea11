"""Celery tasks: counting after a hint, and results on request.

A lost, duplicated or late message changes nothing (docs/architecture.md).
"""

from __future__ import annotations

import time

from celery import shared_task

from metrics import change_attribution, reports
from metrics.filtered import filtered_jobs
from metrics.jobs import heartbeat, hints, question_updates
from metrics.results import refresh
from ratings.imports import leases


@shared_task(ignore_result=True)
def count_question(question_id: int) -> None:
    """Count a question's uncounted ratings and refresh its results, once its pause has passed."""
    hints.wait_for_turn(question_id)
    # After the pause: ratings that arrived meanwhile need no hint of their own.
    hints.clear_hint(question_id)
    started = time.monotonic()
    importing = leases.get_question_ids_being_written()
    if question_id in importing:  # the import sends a hint when it ends
        return
    # Other small pending questions cost little more in the same batch; their hints do nothing then.
    question_updates.update_small_questions(excluded=importing)
    if not question_updates.has_pending_work(question_id):
        hints.record_run(question_id, started)
        return
    n_items, remaining = question_updates.update_question_for_seconds(
        question_id, seconds=question_updates.TURN_SECONDS
    )
    if remaining is question_updates.RemainingWork.NOTHING and not n_items:
        refresh.recompute_deferred_cumulative_results(
            question_id
        )  # deferred until no rating arrives for a moment
    if remaining is question_updates.RemainingWork.MORE or (
        n_items and refresh.has_deferred_results(question_id)
    ):
        hints.send_hint(question_id)  # after the other pending questions
    else:
        hints.record_run(question_id, started)


@shared_task(ignore_result=True)
def compute_attribution(attribution_id: int) -> None:
    """Compute a requested attribution, unless it has been computed since the request."""
    change_attribution.ATTRIBUTION_JOB.compute(attribution_id)


@shared_task(ignore_result=True)
def compute_filtered_result(result_id: int) -> None:
    """Compute a requested filtered result, unless it has been computed since the request."""
    filtered_jobs.FILTERED_RESULT_JOB.compute(result_id)


@shared_task(ignore_result=True)
def compute_report(report_id: int) -> None:
    """Compute a requested report, unless it has been computed since the request."""
    reports.REPORT_JOB.compute(report_id)


def sweep_all() -> int:
    """Do all pending work of this package: questions and on-demand jobs.

    Return how many questions had uncounted ratings or stale results.
    """
    n_pending = question_updates.sweep_questions()
    change_attribution.ATTRIBUTION_JOB.sweep()
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    reports.REPORT_JOB.sweep()
    heartbeat.record_sweep()
    return n_pending
