"""Sweep that scans questions whose ratings changed since their last scan, or now lack ratings.

Alerts that were raised stay (storage.py). Scheduling and leases: quality.recomputation.
"""

from __future__ import annotations

import datetime
import time

from django.db import transaction
from django.db.models import Count, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from core.jobs.lease import get_leased_rows, update_leased_row
from projects.models import Question
from quality.alerts import services
from quality.models import Alert, AlertKind, AlertScan, AlertState, GoldItem
from quality.recomputation import Recomputation

from . import scan, storage
from .candidates import build_count_candidate
from .scan import scan_question
from .storage import store_scan


def update_gold_alerts() -> int:
    """Create an alert for each question with suspected gold answers, unless one exists for them.

    Returns how many alerts were created. Alerts of questions without suspected gold answers are
    resolved.
    """
    rows = GoldItem.objects.filter(suspected=True).order_by().values_list("question")
    counts_by_question = {
        question_pk: (n_gold, people)
        for question_pk, n_gold, people in rows.annotate(Count("pk"), Sum("n_people"))
    }
    alerts_by_question: dict[int, list[Alert]] = {}
    for alert in Alert.objects.filter(kind=AlertKind.GOLD_SUSPECTED, supported=True).defer("chart"):
        alerts_by_question.setdefault(alert.question_id, []).append(alert)
    n_created = 0
    for question_id in sorted({*counts_by_question, *alerts_by_question}):
        alerts, count = alerts_by_question.get(question_id, []), counts_by_question.get(question_id)
        if count is not None and any(
            alert.state != AlertState.RESOLVED or alert.n >= count[0] for alert in alerts
        ):
            continue
        n_created += _update_gold_alerts_of_question(question_id, count)
    return n_created


@transaction.atomic
def _update_gold_alerts_of_question(question_id: int, count: tuple[int, int] | None) -> int:
    """Update the gold alerts of one question under its lock; return how many were created.

    ``count``: (number of suspected gold answers, number of people's ratings of them); None if no
    gold answer is suspected.
    """
    question = Question.objects.select_for_update(of=("self",)).get(pk=question_id)
    today = scan.to_day_number(timezone.now().date())
    candidates = []
    if count is not None:
        n, people = count
        facts = {"people": people}
        candidates.append(
            build_count_candidate(AlertKind.GOLD_SUSPECTED, n, since=today, now=today, facts=facts)
        )
    created = storage.create_alerts(question, candidates, [AlertKind.GOLD_SUSPECTED])
    if count is None:
        _resolve_gold_alerts(question)
    return len(created)


def _resolve_gold_alerts(question: Question) -> None:
    """Resolve the gold alerts of a question that has no suspected gold answers any more."""
    alerts = Alert.objects.filter(question=question, kind=AlertKind.GOLD_SUSPECTED)
    for alert in alerts.exclude(state=AlertState.RESOLVED).select_related("question"):
        services.change_alert_state(
            alert=alert, state=AlertState.RESOLVED, reason=_("No suspected gold answers"), by=None
        )


MAX_PAUSE = datetime.timedelta(hours=1)


def _scan_and_store(run: AlertScan) -> None:
    """Scan the run's question, store the alerts and release the lease with the run's results."""
    started = time.monotonic()
    # Read the input version first: later changes must make the result outdated again.
    current_version = storage.get_input_versions(run.question_id).get(run.question_id, {})
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
        next_scan_on=result.next_scan_on,
        duration_seconds=time.monotonic() - started,
        computed_at=timezone.now(),
    )


RECOMPUTATION = Recomputation(
    "alerts",
    AlertScan,
    _scan_and_store,
    storage.list_outdated_questions,
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
    update_gold_alerts()
    return RECOMPUTATION.sweep()
