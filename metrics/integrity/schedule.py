"""The workers audit by themselves: every few minutes the questions whose last audit is the longest
ago, one large or several small ones.

The work is bounded: of a question with more than RATINGS ratings only the pairs, peers and readings
of one rater are made again, another one each time; ``manage.py audit`` does all. An audit reads one
state of the database and locks nothing, so counting goes on meanwhile.
"""

from __future__ import annotations

import datetime
import logging
from typing import Any

from django.db.models import Count, F, Max, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from metrics.models import EVER, AuditResult, CountState, PeerTally

from .audit import audit

logger = logging.getLogger(__name__)

EVERY = datetime.timedelta(minutes=5)  # one round of audits
# a question that stood still since is not audited again before that
AGAIN = datetime.timedelta(hours=1)
RATINGS = 200_000  # of a round: about two seconds
# What a question costs beside its ratings, in ratings: 50 small ones a round, 14,400 a day.
PRICE = 4_000
# their items have several times as many; nobody in a large question: the one with the fewest
RATINGS_OF_RATER = 10_000
SHOWN = 20


def audit_some() -> list[int]:
    """Audit the questions that wait longest, when it is time for it: as many as together have
    RATINGS, at least one. Their ids."""
    audited: list[int] = []
    if AuditResult.objects.filter(audited_at__gt=timezone.now() - EVERY).exists():
        return audited
    left = RATINGS
    for question_id, ratings in _waiting()[: max(1, RATINGS // PRICE)]:
        left -= PRICE + ratings
        if audited and left < 0:
            break
        if _audit(question_id):
            audited.append(question_id)
    return audited


def _audit(question_id: int) -> bool:
    """Audit a question and write down what was found; False where that failed."""
    try:
        found = audit(question_id, rater=_sampled_rater(question_id))
    except Exception:
        logger.exception("the audit of question %s failed; the next sweep tries again", question_id)
        return False
    if found.differences:
        logger.error(
            "question %s differs from a recount in %s places, first: %s",
            question_id,
            len(found.differences),
            found.differences[0],
        )
    AuditResult.objects.update_or_create(
        question_id=question_id,
        defaults={
            "audited_at": timezone.now(),
            "ratings": found.ratings,
            "differences": len(found.differences),
            "shown": found.differences[:SHOWN],
        },
    )
    return True


def _waiting() -> QuerySet[CountState, tuple[int, int]]:
    """Questions and how many ratings they have, those first whose audit is the longest ago. Only
    what stands in the database decides, so that any number of workers may ask."""
    now = timezone.now()
    last = AuditResult.objects.filter(pk=OuterRef("pk")).values("audited_at")
    waiting = (
        CountState.objects.filter(counted_at__isnull=False)
        .annotate(audited_at=Subquery(last))
        .filter(
            Q(audited_at__isnull=True)
            | Q(audited_at__lte=F("counted_at"))
            | Q(audited_at__lte=now - AGAIN)
        )
    )
    oldest = waiting.order_by(F("audited_at").asc(nulls_first=True), "pk")
    return oldest.values_list("pk", "ratings")


def _sampled_rater(question_id: int) -> int | None:
    """One of those with not too many ratings, by chance; None where the question is small enough
    for a whole audit."""
    if not CountState.objects.filter(pk=question_id, ratings__gt=RATINGS).exists():
        return None
    raters = PeerTally.objects.filter(question_id=question_id, day=EVER)
    some = raters.filter(n_ratings__range=(1, RATINGS_OF_RATER)).order_by("?")
    fewest = raters.filter(n_ratings__gt=0).order_by("n_ratings")
    return (
        some.values_list("rater_id", flat=True).first()
        or fewest.values_list("rater_id", flat=True).first()
    )


def last() -> dict[str, Any] | None:
    """What the audits found: when the last one was, of how many questions, and how many of these
    differ."""
    found = AuditResult.objects.aggregate(
        at=Max("audited_at"), questions=Count("pk"), differ=Count("pk", filter=Q(differences__gt=0))
    )
    if found["at"] is None:
        return None
    return {
        "seconds_ago": round(max(0.0, (timezone.now() - found["at"]).total_seconds()), 3),
        "questions": found["questions"],
        "questions_that_differ": found["differ"],
    }
