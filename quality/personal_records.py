"""Records of this package about a rater, for ``ratings.personal_data``."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Q

from projects.models import Rater
from quality.models import Alert, Appeal, GoldIntervention
from ratings.personal_data import PersonalRecords, Record


def iter_records(rater: Rater) -> Iterator[Record]:
    """Yield the rater's appeals, then their warnings and pauses, then the alerts about them.

    Alerts about a pair are about both of its raters.
    """
    for appeal in Appeal.objects.filter(rater=rater).select_related("question", "item"):
        yield {
            "appeal": appeal.about,
            "item": appeal.item.key,
            "question": appeal.question.key,
            "text": appeal.text,
            "created_at": appeal.created_at,
            "state": appeal.state,
            "answer": appeal.answer,
            "answered_at": appeal.answered_at,
        }
    interventions = GoldIntervention.objects.filter(rater=rater).select_related("question")
    for intervention in interventions:
        yield {
            "intervention": intervention.step,
            "question": intervention.question.key,
            "created_at": intervention.created_at,
            "state": intervention.state,
            "reason": intervention.reason,
        }
    alerts = Alert.objects.filter(Q(rater=rater) | Q(other_rater=rater))
    for alert in alerts.select_related("question").order_by("pk"):
        yield {
            "alert": alert.kind,
            "question": alert.question.key,
            "since": alert.since,
            "detected_on": alert.detected_on,
            "state": alert.state,
            "cause": alert.cause,
        }


def clear_texts(rater: Rater) -> int:
    """Clear the texts of the rater's appeals; return how many had one."""
    return Appeal.objects.filter(rater=rater).exclude(text="").update(text="")


QUALITY_RECORDS = PersonalRecords(iter_records, clear_texts)
