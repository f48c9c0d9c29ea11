"""Lag of results: since when counted changes of ratings are in no result.

A question whose results cannot be computed would otherwise look up to date. Counts say how many
changes are not in a result, not since when. So every observer records the time: each sweep of a
worker, each health check, `manage.py status`.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from django.db.models import Q

from agreement_site.models import StaleQuestion
from metrics.jobs.heartbeat import LATE_SECONDS
from metrics.models import CountState
from ratings.services import uncounted as services_uncounted

# Results follow within seconds: until then nothing is recorded.
GRACE_PERIOD = datetime.timedelta(seconds=5)
LATE_AFTER = datetime.timedelta(seconds=LATE_SECONDS)


@dataclass(frozen=True, slots=True)
class ResultLag:
    """Lag of counts and results behind the ratings."""

    uncounted: int  # ratings that are not in the counts
    stale: int  # changes that are in the counts and not in the results
    oldest: datetime.datetime | None  # time of the oldest of both
    late: frozenset[int]  # ids of questions with a change older than LATE_SECONDS

    @property
    def n_late(self) -> int:
        """Return the number of late questions."""
        return len(self.late)

    def get_lag_seconds(self, now: datetime.datetime) -> float:
        """Return the age of the oldest change that no result shows; 0 where there is none."""
        return 0.0 if self.oldest is None else max(0.0, (now - self.oldest).total_seconds())


def record_and_measure_lag(now: datetime.datetime) -> ResultLag:
    """Store which questions are stale at ``now``, and return the lag of their results."""
    uncounted, oldest_uncounted = services_uncounted.get_backlog()
    stale_counts = dict(
        CountState.objects.filter(unrefreshed__gt=0).values_list("pk", "unrefreshed")
    )
    stale_since = _record_stale_questions(now)
    failing = {
        question_id for question_id, moment in stale_since.items() if moment <= now - LATE_AFTER
    }
    if oldest_uncounted is not None and oldest_uncounted <= now - LATE_AFTER:
        late = services_uncounted.get_ratings().filter(changed_at__lte=now - LATE_AFTER).order_by()
        failing.update(late.values_list("question_id", flat=True).distinct())
    times = [moment for moment in (oldest_uncounted, *stale_since.values()) if moment is not None]
    oldest_change = min(times, default=None)
    return ResultLag(uncounted, sum(stale_counts.values()), oldest_change, frozenset(failing))


def _record_stale_questions(now: datetime.datetime) -> dict[int, datetime.datetime]:
    """Return {question id: time since when it is stale}, to within the time between two checks."""
    late = Q(refreshed_at__isnull=True) | Q(refreshed_at__lt=now - GRACE_PERIOD)
    stale_states = CountState.objects.filter(late, unrefreshed__gt=0).values_list(
        "pk", "refreshed_at"
    )
    read_at = dict(stale_states)
    recorded = {row.question_id: row for row in StaleQuestion.objects.all()}
    # Refreshed since, at least in part: what is stale now came later.
    outdated = [
        pk for pk, row in recorded.items() if pk not in read_at or read_at[pk] != row.read_at
    ]
    if outdated:
        StaleQuestion.objects.filter(pk__in=outdated).delete()
    since = {pk: row.since for pk, row in recorded.items() if pk not in outdated}
    new_rows = [
        StaleQuestion(question_id=pk, read_at=moment, since=now)
        for pk, moment in read_at.items()
        if pk not in since
    ]
    StaleQuestion.objects.bulk_create(new_rows, ignore_conflicts=True)
    return {**since, **{row.question_id: row.since for row in new_rows}}
