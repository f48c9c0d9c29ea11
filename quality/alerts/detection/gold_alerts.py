"""Gold answers in doubt, as cases: found by quality.gold, told of here."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Count, Sum
from django.utils import timezone

from projects.models import Question
from quality.models import Alarm, GoldItem, Kind, State

from . import scan, storage
from .candidates import counted


def doubted() -> int:
    """A case for each question with gold answers in doubt that no case tells of; how many were
    raised."""
    rows = GoldItem.objects.filter(suspected=True).order_by().values_list("question")
    counts = {
        question: (n, people) for question, n, people in rows.annotate(Count("pk"), Sum("people"))
    }
    told: dict[int, list[Alarm]] = {}
    for case in Alarm.objects.filter(kind=Kind.GOLD_SUSPECTED, stands=True).defer("chart"):
        told.setdefault(case.question_id, []).append(case)
    raised = 0
    for question_id in sorted({*counts, *told}):
        known, count = told.get(question_id, []), counts.get(question_id)
        if count is not None and any(
            case.state != State.RESOLVED or case.n >= count[0] for case in known
        ):
            continue
        raised += _doubted(question_id, count)
    return raised


@transaction.atomic
def _doubted(question_id: int, count: tuple[int, int] | None) -> int:
    question = Question.objects.select_for_update(of=("self",)).get(pk=question_id)
    today = scan.number(timezone.now().date())
    found = []
    if count is not None:
        n, people = count
        facts = {"people": people}
        found.append(counted(Kind.GOLD_SUSPECTED, n, since=today, now=today, facts=facts))
    return len(storage.cases(question, found, [Kind.GOLD_SUSPECTED]))
