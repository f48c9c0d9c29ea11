"""Sweep that scans questions whose ratings changed since their last scan.

Alerts that were raised stay (detection/storage.py). Scheduling and leases: quality.recomputation.
"""

from __future__ import annotations

import datetime
import time

from django.utils import timezone

from core.jobs.lease import get_leased_rows, update_leased_row
from projects.models import Question
from quality.models import AlertScan
from quality.recomputation import Recomputation

from . import services
from .detection import gold_alerts, input_version
from .detection.scan import scan_question
from .detection.storage import store_scan

MAX_PAUSE = datetime.timedelta(hours=1)


def _scan_and_store(run: AlertScan) -> None:
    """Scan the run's question, store the alerts and release the lease with the run's results."""
    started = time.monotonic()
    # Read the input version first: later changes must make the result outdated again.
    current_version = input_version.get_input_versions(run.question_id).get(run.question_id, {})
    questions = Question.objects.select_related("project").prefetch_related("categories")
    question = questions.get(pk=run.question_id)
    result = scan_question(question, today=timezone.now().date())
    store_scan(run, question, result)
    update_leased_row(
        run,
        get_leased_rows(run),
        input_version=current_version,
        n_ratings=result.n_ratings,
        reason=result.reason,
        volume=result.volume,
        duration_seconds=time.monotonic() - started,
        computed_at=timezone.now(),
    )


RECOMPUTATION = Recomputation(
    "alerts",
    AlertScan,
    _scan_and_store,
    input_version.list_outdated_questions,
    pause_factor=20.0,
    max_pause=MAX_PAUSE,
    lease=datetime.timedelta(minutes=30),
)
recompute_question = RECOMPUTATION.recompute


def sweep_alerts() -> int:
    """Scan all outdated questions and return how many were scanned.

    Also reopens alerts whose mute ended, and updates the alerts for suspected gold.
    """
    services.end_expired_mutes()
    gold_alerts.update_gold_alerts()
    return RECOMPUTATION.sweep()
