"""How far an annotator has come. Their own figures alone: nothing here moves when others rate."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from django.core.cache import cache
from django.utils import timezone

from projects.models import Item, Project, Rater

from .models import Assignment, Rating
from .querysets import RatingQuerySet

ITEMS_FOR = 60  # seconds for which the number of a project's items is remembered: counting a million takes long
RATED_FOR = 600


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


def of_rater(rater: Rater) -> Progress:
    """Items that the rater has rated today (in the project's time zone) and in all, skipped, and has left at most."""
    zone = ZoneInfo(rater.project.time_zone)
    midnight = timezone.now().astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    return Progress(
        today=_items(_first_given_since(rater, midnight)),
        rated=_rated(rater),
        skipped=Assignment.objects.filter(rater=rater, state=Assignment.State.SKIPPED).count(),
        items=_items_of(rater.project),
    )


def _first_given_since(rater: Rater, moment: datetime.datetime) -> RatingQuerySet:
    # rated_at lies at or before changed_at, by which the rater's ratings are indexed.
    return Rating.objects.filter(rater=rater, changed_at__gte=moment, rated_at__gte=moment).standing()


def _items(ratings: RatingQuerySet) -> int:
    return ratings.values("item").distinct().count()


def _rated(rater: Rater) -> int:
    """What was rated up to some minutes ago is remembered, what came since is counted: a rater of years waits no
    longer than a new one."""
    key = f"rated-by-{rater.pk}"
    known, until = cache.get(key) or (None, timezone.now())
    if known is None:
        known = _items(Rating.objects.filter(rater=rater).standing())
        cache.set(key, (known, until), RATED_FOR)
    return known + _items(_first_given_since(rater, until))


def _items_of(project: Project) -> int:
    key = f"items-of-{project.pk}"
    known = cache.get(key)
    if known is None:
        known = Item.objects.filter(project=project).count()
        cache.set(key, known, ITEMS_FOR)
    return known
