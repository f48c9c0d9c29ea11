"""Looking through the questions whose ratings changed.

What was raised once stays (raising.py). When and by whom it is done: quality.recompute.
"""

from __future__ import annotations

import datetime
import time

from django.utils import timezone

from core.jobs.lease import held, keep_lease
from projects.models import Question
from quality.models import DriftRun
from quality.recompute import Renewing

from . import services
from .detection import gold_alerts, input_version
from .detection.scan import look
from .detection.storage import store

LONGEST_REST = datetime.timedelta(hours=1)


def _look(run: DriftRun) -> None:
    started = time.monotonic()
    # The stamp first: what changes from here on makes it old again.
    rests_on = input_version.stamps(run.question_id).get(run.question_id, {})
    questions = Question.objects.select_related("project").prefetch_related("categories")
    question = questions.get(pk=run.question_id)
    looked = look(question, today=timezone.now().date())
    store(run, question, looked)
    keep_lease(
        run,
        held(run),
        rests_on=rests_on,
        n_ratings=looked.n_ratings,
        reason=looked.reason,
        volume=looked.volume,
        seconds=time.monotonic() - started,
        made_at=timezone.now(),
    )


WORK = Renewing(
    "alarms",
    DriftRun,
    _look,
    input_version.waiting,
    rest=20.0,
    longest_rest=LONGEST_REST,
    lease=datetime.timedelta(minutes=30),
)
renew = WORK.renew


def sweep() -> int:
    """Look through all questions that wait for it, tell of gold in doubt, and open what was muted
    until today; how many were looked through."""
    services.end_mutes()
    gold_alerts.doubted()
    return WORK.sweep()
