"""Scheduled audits: workers audit a few questions a day.

Every few minutes they audit the questions whose last audit is oldest: one large question or several
small ones. The work is bounded: of a question with more than MAX_RATINGS ratings, only the pairs,
peers and results of one rater are recomputed, of another rater each time; ``manage.py audit``
checks everything. An audit reads one consistent state of the database and locks nothing, so
counting continues meanwhile.
"""

from __future__ import annotations

import datetime
import logging
from typing import TypedDict

from django.db.models import Count, F, Max, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from metrics.models import ALL_DAYS, AuditResult, CountState, PeerTally

from .audit import audit_question

logger = logging.getLogger(__name__)

AUDIT_INTERVAL = datetime.timedelta(minutes=5)  # between two rounds of audits
# A question without changes since its audit is not audited again before this.
REAUDIT_INTERVAL = datetime.timedelta(hours=1)
MAX_RATINGS = 200_000  # in a round: about two seconds
# Fixed cost of a question, in ratings: 50 small questions a round, 14,400 a day.
QUESTION_COST = 4_000
# Of a sampled rater, whose items have several times as many ratings. If all raters have more, the
# one with the fewest is taken.
MAX_RATINGS_OF_RATER = 10_000
MAX_STORED_DIFFERENCES = 20


def run_due_audits() -> list[int]:
    """Audit the questions whose audit is oldest, if a round is due; return their ids.

    A round has the questions that fit into a budget of MAX_RATINGS, of which each costs its ratings
    and QUESTION_COST; but at least one. Ids of failed audits are left out.
    """
    audited: list[int] = []
    if AuditResult.objects.filter(audited_at__gt=timezone.now() - AUDIT_INTERVAL).exists():
        return audited
    budget = MAX_RATINGS
    for question_id, ratings in _list_due_questions()[: max(1, MAX_RATINGS // QUESTION_COST)]:
        budget -= QUESTION_COST + ratings
        if audited and budget < 0:
            break
        if _audit_and_record(question_id):
            audited.append(question_id)
    return audited


def _audit_and_record(question_id: int) -> bool:
    """Audit a question and store the result; return False if the audit failed."""
    try:
        findings = audit_question(question_id, rater_id=_sample_rater(question_id))
    except Exception:
        logger.exception("the audit of question %s failed; the next sweep will retry", question_id)
        return False
    if findings.differences:
        logger.error(
            "question %s differs from a recount in %s places, first: %s",
            question_id,
            len(findings.differences),
            findings.differences[0],
        )
    AuditResult.objects.update_or_create(
        question_id=question_id,
        defaults={
            "audited_at": timezone.now(),
            "n_ratings": findings.n_ratings,
            "n_differences": len(findings.differences),
            "first_differences": findings.differences[:MAX_STORED_DIFFERENCES],
        },
    )
    return True


def _list_due_questions() -> QuerySet[CountState, tuple[int, int]]:
    """Return questions and their numbers of ratings, oldest audit first.

    The order depends on stored data only, so that any number of workers may run it.
    """
    now = timezone.now()
    last_audit = AuditResult.objects.filter(pk=OuterRef("pk")).values("audited_at")
    due_states = (
        CountState.objects.filter(counted_at__isnull=False)
        .annotate(audited_at=Subquery(last_audit))
        .filter(
            Q(audited_at__isnull=True)
            | Q(audited_at__lte=F("counted_at"))
            | Q(audited_at__lte=now - REAUDIT_INTERVAL)
        )
    )
    oldest = due_states.order_by(F("audited_at").asc(nulls_first=True), "pk")
    return oldest.values_list("pk", "ratings")


def _sample_rater(question_id: int) -> int | None:
    """Return a random rater with at most MAX_RATINGS_OF_RATER ratings, or else with the fewest.

    Return None if the question is small enough to be audited as a whole, or has no rater.
    """
    if not CountState.objects.filter(pk=question_id, ratings__gt=MAX_RATINGS).exists():
        return None
    raters = PeerTally.objects.filter(question_id=question_id, day=ALL_DAYS)
    candidates = raters.filter(n_ratings__range=(1, MAX_RATINGS_OF_RATER)).order_by("?")
    fewest = raters.filter(n_ratings__gt=0).order_by("n_ratings")
    return (
        candidates.values_list("rater_id", flat=True).first()
        or fewest.values_list("rater_id", flat=True).first()
    )


class AuditSummary(TypedDict):
    """Seconds since the newest audit, and how many questions were audited, and how many differ."""

    seconds_ago: float
    questions: int
    questions_that_differ: int


def get_audit_summary() -> AuditSummary | None:
    """Return the age and results of the stored audits, or None before the first one.

    These are the seconds since the newest audit, the number of questions audited, and the number of
    questions whose results differ.
    """
    totals = AuditResult.objects.aggregate(
        at=Max("audited_at"),
        questions=Count("pk"),
        differ=Count("pk", filter=Q(n_differences__gt=0)),
    )
    if totals["at"] is None:
        return None
    return AuditSummary(
        seconds_ago=round(max(0.0, (timezone.now() - totals["at"]).total_seconds()), 3),
        questions=totals["questions"],
        questions_that_differ=totals["differ"],
    )
