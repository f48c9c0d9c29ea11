"""Progress of an annotator.

Only the rater's own figures, except for the number of remaining items, of which other raters take
their share (ratings.annotation.progress.remaining).
"""

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
from projects.selectors.item_counts import get_item_counts
from ratings.models import Assignment, CheckAnswer, Rating

from . import remaining

CACHE_SECONDS = 600
SHORT_KEY_LENGTH = 6  # characters
N_RECENT_ITEMS = 5  # items in the strip of the latest answers
MIN_MINUTES_FOR_HOURS = 100  # minutes from which the remaining time is shown in hours
MIN_ITEMS_FOR_PACE = 5  # items needed for the pace
N_LATEST_RATINGS = 60  # for the strip and the pace; an item has one for each question


@dataclass(frozen=True, slots=True)
class RecentItem:
    """An item that the rater rated recently.

    ``codes`` by question id; ``seconds`` spent on its form (None: unknown).
    """

    item_id: int
    key: str
    seconds: float | None
    codes: dict[int, int] = field(default_factory=dict)

    @property
    def short_key(self) -> str:
        """The end of the key, which differs between items more often than the beginning."""
        return (
            self.key
            if len(self.key) <= SHORT_KEY_LENGTH
            else f"…{self.key[1 - SHORT_KEY_LENGTH :]}"
        )


@dataclass(frozen=True, slots=True)
class RaterProgress:
    """Figures of a rater's progress, in items.

    ``remaining``: maximum number of items that the rater can still get. ``items``: active items of
    the project. ``recent``: the items rated last, the latest first. ``pace``: median seconds per
    item of the latest items, None with fewer than MIN_ITEMS_FOR_PACE items.
    """

    today: int
    rated: int
    skipped: int
    items: int
    remaining: int
    recent: Sequence[RecentItem] = ()
    pace: float | None = None

    @property
    def handled(self) -> int:
        """Number of items that the rater has rated or skipped."""
        return self.rated + self.skipped

    @property
    def total(self) -> int:
        """Number of handled and remaining items."""
        return self.handled + self.remaining

    @property
    def minutes_left(self) -> int | None:
        """Upper bound of the minutes for the remaining items at the rater's pace, or None."""
        if self.pace is None or not self.remaining:
            return None
        return max(round(self.remaining * self.pace / 60), 1)

    @property
    def hours_left(self) -> int | None:
        """Upper bound of the remaining time in whole hours, where minutes are too precise."""
        minutes = self.minutes_left
        return (
            round(minutes / 60)
            if minutes is not None and minutes >= MIN_MINUTES_FOR_HOURS
            else None
        )


# rated_at is never after changed_at, by which the rater's ratings are indexed. Hidden checks count
# like ratings, so a repeated item counts twice. Exam answers do not count.
_RATED_SINCE_SQL = """
    SELECT (
        SELECT count(DISTINCT item_id) FROM ratings_rating
        WHERE rater_id = %s AND changed_at >= %s AND rated_at >= %s AND code >= 0
    ) + (
        SELECT count(DISTINCT item_id) FROM ratings_checkanswer
        WHERE rater_id = %s AND changed_at >= %s AND rated_at >= %s AND code >= 0 AND is_current
            AND kind <> 'exam'
    )
    """
_LATEST_SQL = """
    SELECT * FROM (
        SELECT r.item_id, i.key, r.seconds, r.question_id, r.code, r.changed_at, r.id,
            {is_check} AS is_check
        FROM {table} r JOIN projects_item i ON i.id = r.item_id
        WHERE r.rater_id = %s AND r.code >= 0 {rest} ORDER BY r.changed_at DESC, r.id DESC LIMIT %s
    ) AS said
    """
_LATEST_RATINGS_SQL = _LATEST_SQL.format(table="ratings_rating", rest="", is_check=0)
_LATEST_CHECKS_SQL = _LATEST_SQL.format(
    table="ratings_checkanswer", rest="AND r.is_current AND r.kind <> 'exam'", is_check=1
)
_RECENT_SQL = (
    f"{_LATEST_RATINGS_SQL} UNION ALL {_LATEST_CHECKS_SQL} ORDER BY 6 DESC, 7 DESC LIMIT %s"
)
_SKIPPED_SQL = "SELECT count(*) FROM ratings_assignment WHERE rater_id = %s AND state = 'skipped'"


def compute_progress(rater: Rater) -> RaterProgress:
    """Return the rater's numbers of items: rated today and in all, skipped, and remaining.

    Today is the day in the project's time zone.
    """
    zone = ZoneInfo(rater.project.time_zone)
    midnight = timezone.now().astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    cached_count, counted_until = _get_cached_count(rater)
    times = [connection.ops.adapt_datetimefield_value(time) for time in (midnight, counted_until)]
    count_queries = [(_RATED_SINCE_SQL, [rater.pk, time, time] * 2) for time in times]
    latest_query = (_RECENT_SQL, [*[rater.pk, N_LATEST_RATINGS] * 2, N_LATEST_RATINGS])
    [[today]], [[n_since]], [[skipped]], rows, [[_pk, *counts]] = bulk.execute_statements(
        [
            *count_queries,
            (_SKIPPED_SQL, [rater.pk]),
            latest_query,
            remaining.build_counts_query([rater]),
        ]
    )
    recent_items = _group_by_item(rows)
    return RaterProgress(
        today=today,
        rated=cached_count + n_since,
        skipped=skipped,
        items=get_item_counts(rater.project).available,
        remaining=remaining.count_remaining_items(rater, remaining.RaterCounts(*counts)),
        recent=recent_items[:N_RECENT_ITEMS],
        pace=_compute_pace(recent_items),
    )


def _group_by_item(rows: Sequence[tuple[Any, ...]]) -> list[RecentItem]:
    """Group the answers by item, in the order in which an item occurs first."""
    items: dict[tuple[int, int], RecentItem] = {}
    for item_id, key, seconds, question_id, code, _changed_at, _id, is_check in rows:
        item = items.setdefault((item_id, is_check), RecentItem(item_id, key, seconds))
        item.codes[question_id] = code
    return list(items.values())


def _compute_pace(recent: Sequence[RecentItem]) -> float | None:
    seconds = [item.seconds for item in recent if item.seconds is not None]
    return statistics.median(seconds) if len(seconds) >= MIN_ITEMS_FOR_PACE else None


def clear_cached_count(rater: Rater) -> None:
    """Discard the rater's cached number of rated items, as after a withdrawal."""
    cache.delete(_build_cache_key(rater))


def _build_cache_key(rater: Rater) -> str:
    return f"rated-by-{rater.pk}"


def _get_cached_count(rater: Rater) -> tuple[int, datetime.datetime]:
    """Return the number of items rated up to a recent time, and that time.

    Older ratings are cached and later ones counted, so that a rater of many years waits no longer
    than a new one.
    """
    cached = cache.get(_build_cache_key(rater))
    if cached is None:
        counted_until = timezone.now()
        check_answers = CheckAnswer.objects.filter(rater=rater).exclude(kind=Assignment.Kind.EXAM)
        querysets = (Rating.objects.filter(rater=rater), check_answers)
        counts = (rows.current().values("item").distinct().count() for rows in querysets)
        cached = (sum(counts), counted_until)
        cache.set(_build_cache_key(rater), cached, CACHE_SECONDS)
    return cached
