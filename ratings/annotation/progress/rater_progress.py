"""How far an annotator has come. Their own figures alone, but for how much is left: of that others
take their share (ratings.annotation.progress.remaining)."""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

from django.core.cache import cache
from django.db import connection
from django.utils import timezone

from core.db import bulk
from projects.models import Rater
from projects.selectors.item_counts import sizes
from ratings.models import Apart, Assignment, Rating

from . import remaining

REMEMBERED_SECONDS = 600
SHORT_KEY = 6  # characters
RECENT = 5  # items on the strip of the last answers
HOURS_FROM = 100  # minutes
PACE_FROM = 5  # items
RATINGS_LOOKED_AT = 60  # for the strip and the pace; an item has one for each question


@dataclass(frozen=True, slots=True)
class Recent:
    """An item that the rater rated lately: ``codes`` by the question's id, ``seconds`` at its
    form (None: not known)."""

    item_id: int
    key: str
    seconds: float | None
    codes: dict[int, int] = field(default_factory=dict)

    @property
    def short_key(self) -> str:
        """Its end, by which keys differ more often than by their beginning."""
        return self.key if len(self.key) <= SHORT_KEY else f"…{self.key[1 - SHORT_KEY :]}"


@dataclass(frozen=True, slots=True)
class Progress:
    """``left``: up to so many items are still given to them. ``items``: that the project asks for.
    ``recent``: the items rated last, the latest first. ``pace``: how many seconds an item took of
    late (the median), None where that rests on fewer than PACE_FROM items."""

    today: int
    rated: int
    skipped: int
    items: int
    left: int
    recent: Sequence[Recent] = ()
    pace: float | None = None

    @property
    def dealt_with(self) -> int:
        """Items that were put before the rater and are off the desk."""
        return self.rated + self.skipped

    @property
    def whole(self) -> int:
        return self.dealt_with + self.left

    @property
    def minutes_left(self) -> int | None:
        """At most so many, at the rater's own pace."""
        if self.pace is None or not self.left:
            return None
        return max(round(self.left * self.pace / 60), 1)

    @property
    def hours_left(self) -> int | None:
        """The same in whole hours, where minutes would say too much."""
        minutes = self.minutes_left
        return round(minutes / 60) if minutes is not None and minutes >= HOURS_FROM else None


# rated_at lies at or before changed_at, by which the rater's ratings are indexed.
# What tests them unseen counts as all else does; an item that was asked again counts twice. What an
# exam asked is no rating and counts for nothing.
_RATED_SINCE = """
    SELECT (
        SELECT count(DISTINCT item_id) FROM ratings_rating
        WHERE rater_id = %s AND changed_at >= %s AND rated_at >= %s AND code >= 0
    ) + (
        SELECT count(DISTINCT item_id) FROM ratings_apart
        WHERE rater_id = %s AND changed_at >= %s AND rated_at >= %s AND code >= 0 AND stands
            AND why <> 'exam'
    )
    """
_LATEST = """
    SELECT * FROM (
        SELECT r.item_id, i.key, r.seconds, r.question_id, r.code, r.changed_at, r.id,
            {apart} AS apart
        FROM {table} r JOIN projects_item i ON i.id = r.item_id
        WHERE r.rater_id = %s AND r.code >= 0 {rest} ORDER BY r.changed_at DESC, r.id DESC LIMIT %s
    ) AS said
    """
_RATINGS = _LATEST.format(table="ratings_rating", rest="", apart=0)
_APART = _LATEST.format(table="ratings_apart", rest="AND r.stands AND r.why <> 'exam'", apart=1)
_RECENT = f"{_RATINGS} UNION ALL {_APART} ORDER BY 6 DESC, 7 DESC LIMIT %s"
_SKIPPED = "SELECT count(*) FROM ratings_assignment WHERE rater_id = %s AND state = 'skipped'"


def of_rater(rater: Rater) -> Progress:
    """Items that the rater has rated today (in the project's time zone) and in all, skipped, and
    has left at most."""
    zone = ZoneInfo(rater.project.time_zone)
    midnight = timezone.now().astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    known, until = _known(rater)
    moments = [connection.ops.adapt_datetimefield_value(moment) for moment in (midnight, until)]
    counting = [(_RATED_SINCE, [rater.pk, moment, moment] * 2) for moment in moments]
    latest = (_RECENT, [*[rater.pk, RATINGS_LOOKED_AT] * 2, RATINGS_LOOKED_AT])
    [[today]], [[since]], [[skipped]], rows, [[_pk, *held]] = bulk.several(
        [*counting, (_SKIPPED, [rater.pk]), latest, remaining.asking_held([rater])]
    )
    recent = _items_of(rows)
    return Progress(
        today=today,
        rated=known + since,
        skipped=skipped,
        items=sizes(rater.project).asked,
        left=remaining.of_rater(rater, remaining.Held(*held)),
        recent=recent[:RECENT],
        pace=_pace(recent),
    )


def _items_of(rows: Sequence[tuple[Any, ...]]) -> list[Recent]:
    """The ratings item by item, in the order in which an item comes first."""
    found: dict[tuple[int, int], Recent] = {}
    for item_id, key, seconds, question_id, code, _changed_at, _id, apart in rows:
        item = found.setdefault((item_id, apart), Recent(item_id, key, seconds))
        item.codes[question_id] = code
    return list(found.values())


def _pace(recent: Sequence[Recent]) -> float | None:
    seconds = [item.seconds for item in recent if item.seconds is not None]
    return statistics.median(seconds) if len(seconds) >= PACE_FROM else None


def forget(rater: Rater) -> None:
    """Something of what is remembered was taken back."""
    cache.delete(_key(rater))


def _key(rater: Rater) -> str:
    return f"rated-by-{rater.pk}"


def _known(rater: Rater) -> tuple[int, datetime.datetime]:
    """What was rated up to some minutes ago is remembered, what came since is counted: a rater of
    years waits no longer than a new one."""
    known = cache.get(_key(rater))
    if known is None:
        until = timezone.now()
        apart = Apart.objects.filter(rater=rater).exclude(why=Assignment.Why.EXAM)
        said = (Rating.objects.filter(rater=rater), apart)
        items = (rows.standing().values("item").distinct().count() for rows in said)
        known = (sum(items), until)
        cache.set(_key(rater), known, REMEMBERED_SECONDS)
    return known
