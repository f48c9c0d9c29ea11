"""Since when changes are counted and in no reading yet: a question whose readings cannot be made
would otherwise look as if nothing were waiting.

Counts tell how many changes are unread, not since when. So whoever looks notes it: each sweep of a
worker, each look at the site's health, `manage.py status`.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from django.db.models import Q

from agreement_site.models import UnreadSince
from metrics.jobs.heartbeat import LATE_SECONDS
from metrics.models import CountState
from ratings.services import uncounted as services_uncounted

# Readings follow within seconds: until then nobody notes anything.
SOON = datetime.timedelta(seconds=5)
LATE = datetime.timedelta(seconds=LATE_SECONDS)


@dataclass(frozen=True, slots=True)
class Behind:
    """How far the numbers are behind the ratings."""

    uncounted: int  # ratings that the counts do not hold
    unread: int  # changes that the counts hold and the readings do not
    oldest: datetime.datetime | None  # of both
    late: frozenset[int]  # ids of questions of which something has waited for LATE_SECONDS

    @property
    def failing(self) -> int:
        return len(self.late)

    def seconds(self, now: datetime.datetime) -> float:
        """The age of the oldest change that no number shows; 0 where there is none."""
        return 0.0 if self.oldest is None else max(0.0, (now - self.oldest).total_seconds())


def look(now: datetime.datetime) -> Behind:
    """How far the numbers are behind; notes what is unread from ``now`` on."""
    uncounted, oldest_uncounted = services_uncounted.how_far()
    unread = dict(CountState.objects.filter(unread__gt=0).values_list("pk", "unread"))
    since = _note(now)
    failing = {question_id for question_id, moment in since.items() if moment <= now - LATE}
    if oldest_uncounted is not None and oldest_uncounted <= now - LATE:
        late = services_uncounted.ratings().filter(changed_at__lte=now - LATE).order_by()
        failing.update(late.values_list("question_id", flat=True).distinct())
    oldest = [moment for moment in (oldest_uncounted, *since.values()) if moment is not None]
    first = min(oldest, default=None)
    return Behind(uncounted, sum(unread.values()), first, frozenset(failing))


def _note(now: datetime.datetime) -> dict[int, datetime.datetime]:
    """question -> since when something of it is unread, to within the time between two looks."""
    late = Q(read_at__isnull=True) | Q(read_at__lt=now - SOON)
    stuck = CountState.objects.filter(late, unread__gt=0).values_list("pk", "read_at")
    read_at = dict(stuck)
    noted = {row.question_id: row for row in UnreadSince.objects.all()}
    # Read meanwhile, if only in part: what is unread now came later.
    over = [pk for pk, row in noted.items() if pk not in read_at or read_at[pk] != row.read_at]
    if over:
        UnreadSince.objects.filter(pk__in=over).delete()
    since = {pk: row.since for pk, row in noted.items() if pk not in over}
    new = [
        UnreadSince(question_id=pk, read_at=moment, since=now)
        for pk, moment in read_at.items()
        if pk not in since
    ]
    UnreadSince.objects.bulk_create(new, ignore_conflicts=True)
    return {**since, **{row.question_id: row.since for row in new}}
