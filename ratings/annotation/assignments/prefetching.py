"""The number of items that the browser of a rater may hold ready after the one on the screen.

They let raters continue without a connection, but each takes a slot of its item. Where few items
are left for several raters, holding many would leave the others without work.
"""

from __future__ import annotations

from django.core.cache import cache
from django.utils import timezone

from projects.models import Rater
from ratings.annotation.progress import remaining
from ratings.models import Assignment

MAX_PREFETCHED_ITEMS = 5
CACHE_SECONDS = 30


def get_max_prefetched_items(rater: Rater) -> int:
    """Return how many items the rater may have ready: at least 1, at most MAX_PREFETCHED_ITEMS.

    It is the rater's share of the remaining items among all who have items open.
    """
    key = f"prefetched-items-of-{rater.pk}"
    number = cache.get(key)
    if number is None:
        share = remaining.count_remaining_by_rater([rater])[rater.pk] // _count_active_raters(rater)
        number = max(1, min(share, MAX_PREFETCHED_ITEMS))
        cache.set(key, number, CACHE_SECONDS)
    return int(number)


def _count_active_raters(rater: Rater) -> int:
    """Return the number of raters with an unexpired open assignment; this rater always counts."""
    open_assignments = Assignment.objects.filter(
        state=Assignment.State.OPEN,
        leased_until__gt=timezone.now(),
        item__project=rater.project_id,
    )
    return 1 + open_assignments.exclude(rater=rater).values("rater").distinct().count()
