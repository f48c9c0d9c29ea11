"""Sweeps of quality results, each in a thread of its own (agreement_site.celery), and tasks."""

from __future__ import annotations

from celery import shared_task

from quality import repeats
from quality.alerts import sweep
from quality.consensus import recomputation
from quality.gates import verdict_jobs
from quality.gold import recomputation as gold
from quality.planning import planned_queues
from quality.rater_status import recomputation as raters
from quality.review import rating_requests


def sweep_labels_and_queues() -> int:
    """Recompute outdated labels, update requested ratings and plan queues.

    Returns the number of questions whose labels were recomputed.
    """
    n_recomputed = recomputation.sweep()
    rating_requests.sweep_rating_requests()
    planned_queues.sweep_planned_queues()
    return n_recomputed


def sweep_alerts() -> int:
    """Scan questions whose ratings changed, and return how many."""
    return sweep.sweep_alerts()


def sweep_gold_and_repeats() -> int:
    """Recompute outdated scores on gold and of repeats, and return how many."""
    return gold.sweep() + repeats.sweep()


def sweep_raters() -> int:
    """Recompute outdated comparisons of raters and return how many."""
    return raters.sweep()


def sweep_gates() -> int:
    """Decide gates whose input changed, and compute verdicts whose task message was lost.

    Returns the number of questions whose gates were decided.
    """
    verdict_jobs.VERDICT_JOB.sweep()
    return verdict_jobs.sweep()


@shared_task(ignore_result=True)
def compute_gate_verdict(verdict_id: int) -> None:
    """Compute a requested verdict, unless it has been computed meanwhile."""
    verdict_jobs.VERDICT_JOB.compute(verdict_id)
