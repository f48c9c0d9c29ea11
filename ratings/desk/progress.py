"""How far an annotator has come. Their own figures alone: nothing here moves when others rate."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from django.core.cache import cache
from django.db import connection
from django.utils import timezone

from groundwork.database import bulk
from projects.catalogue.sizes import n_items
from projects.models import Rater
from ratings.models import Rating

REMEMBERED_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Progress:
    today: int
    rated: int
    skipped: int
    items: int

    @property
    def left(self) -> int:
        """At most so many: others take their share of them."""
        return max(self.items - self.rated - self.skipped, 0)

    @property
    def whole(self) -> int:
        return max(self.rated + self.left, 1)


# rated_at lies at or before changed_at, by which the rater's ratings are indexed.
_RATED_SINCE = (
    "SELECT count(DISTINCT item_id) FROM ratings_rating"
    " WHERE rater_id = %s AND changed_at >= %s AND rated_at >= %s AND code >= 0"
)
_SKIPPED = "SELECT count(*) FROM ratings_assignment WHERE rater_id = %s AND state = 'skipped'"


def of_rater(rater: Rater) -> Progress:
    """Items that the rater has rated today (in the project's time zone) and in all, skipped, and
    has left at most."""
    zone = ZoneInfo(rater.project.time_zone)
    midnight = timezone.now().astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    known, until = _known(rater)
    moments = [connection.ops.adapt_datetimefield_value(moment) for moment in (midnight, until)]
    counting = [(_RATED_SINCE, [rater.pk, moment, moment]) for moment in moments]
    [[today]], [[since]], [[skipped]] = bulk.several([*counting, (_SKIPPED, [rater.pk])])
    return Progress(today=today, rated=known + since, skipped=skipped, items=n_items(rater.project))


def _known(rater: Rater) -> tuple[int, datetime.datetime]:
    """What was rated up to some minutes ago is remembered, what came since is counted: a rater of
    years waits no longer than a new one."""
    key = f"rated-by-{rater.pk}"
    known = cache.get(key)
    if known is None:
        until = timezone.now()
        known = (
            Rating.objects.filter(rater=rater).standing().values("item").distinct().count(),
            until,
        )
        cache.set(key, known, REMEMBERED_SECONDS)
    return known
