"""What a lead chooses about the exam of a question."""

from __future__ import annotations

import math
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from core import security_log
from events.services import record
from projects.models import Question, Rater
from quality.validation import Refused
from ratings.models import Exam, ExamRules, Rating

RULES = ("required", "p_fail", "p_pass", "alpha", "beta", "most", "tries")
MOST_ITEMS = 500
MOST_TRIES = 20
# Kept as the reason of a waiver; shown in the reader's language.
RATED_BEFORE = "rated before the exam was asked for"
ROWS_AT_ONCE = 500


def rules_of(question: Question) -> ExamRules:
    """Those that stand, or the ones that every question begins with (not stored)."""
    return ExamRules.objects.filter(question=question).first() or ExamRules(question=question)


@transaction.atomic
def choose(*, question: Question, by: Any, everybody: bool = False, **chosen: Any) -> ExamRules:
    """Set some of RULES. Where an exam is asked for from now on, those who have rated already need
    none, unless ``everybody`` does. Exams under way go on as they were drawn. Raises Refused, and
    then has changed nothing."""
    ExamRules.objects.get_or_create(question=question)
    row = ExamRules.objects.select_for_update().get(question=question)
    before = {name: getattr(row, name) for name in RULES}
    wanted = before | {name: chosen[name] for name in chosen if name in before}
    if wrong := _problems(wanted):
        raise Refused(wrong)
    if before == wanted:
        return row
    for name, value in wanted.items():
        setattr(row, name, value)
    row.save()
    waived = 0
    if wanted["required"] and not before["required"] and not everybody:
        waived = _waive_who_rated(question, by)
    data = {"before": before, "after": wanted, "waived": waived}
    record(
        project_id=question.project_id,
        kind="exam_rules_changed",
        subject=f"question/{question.key}",
        data=data,
        by=by,
    )
    security_log.event(
        "exam_rules_changed",
        project_id=question.project_id,
        by=by.pk,
        question=question.key,
        waived=waived,
        before=before,
        after=wanted,
    )
    return row


def _waive_who_rated(question: Question, by: Any) -> int:
    said = Rating.objects.standing().filter(question=question)
    had = Exam.objects.filter(question=question)
    people = Rater.objects.filter(
        project=question.project_id, kind=Rater.Kind.HUMAN, pk__in=said.values("rater")
    ).exclude(pk__in=had.values("rater"))
    now = timezone.now()
    rows = [
        Exam(
            question=question,
            rater=rater,
            number=1,
            state=Exam.State.WAIVED,
            began_at=now,
            ended_at=now,
            by=by,
            reason=RATED_BEFORE,
        )
        for rater in people
    ]
    Exam.objects.bulk_create(rows, batch_size=ROWS_AT_ONCE)
    return len(rows)


def _problems(wanted: dict[str, Any]) -> dict[str, str]:
    """Name -> what is wrong; empty when all is well."""
    found = {}
    low, high = wanted["p_fail"], wanted["p_pass"]
    if not _finite(low) or not 0.05 <= low <= 0.95:
        found["p_fail"] = _("From 0.05 to 0.95.")
    if not _finite(high) or not 0.1 <= high <= 0.99:
        found["p_pass"] = _("From 0.1 to 0.99.")
    elif "p_fail" not in found and high - low < 0.05:
        found["p_pass"] = _("At least 0.05 above the other share: else no exam could tell.")
    for name in ("alpha", "beta"):
        if not _finite(wanted[name]) or not 0.001 <= wanted[name] <= 0.3:
            found[name] = _("From 0.001 to 0.3.")
    for name, most in (("most", MOST_ITEMS), ("tries", MOST_TRIES)):
        if not 1 <= wanted[name] <= most:
            found[name] = _("From 1 to %(most)s.") % {"most": most}
    return found


def _finite(value: float) -> bool:
    return math.isfinite(value)
