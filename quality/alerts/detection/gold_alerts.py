"""Alerts for suspected gold answers, which quality.gold detects."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Count, Sum
from django.utils import timezone

from projects.models import Question
from quality.models import Alert, AlertKind, AlertState, GoldItem

from . import scan, storage
from .candidates import build_count_candidate


def update_gold_alerts() -> int:
    """Create an alert for each question with suspected gold answers that no alert covers.

    Returns how many alerts were created. Alerts whose question has no suspected gold any more
    are marked as no longer supported.
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

    ``count``: (suspected gold answers, people who rated them), or None without any.
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
    return len(storage.create_alerts(question, candidates, [AlertKind.GOLD_SUSPECTED]))
