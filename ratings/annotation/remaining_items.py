"""Upper bound of the number of items that a rater can still get, and how many to prefetch.

The bound changes when other raters take the last slot of an item, but not with their answers.

Between two answers it falls by one, whether the item was a check or not: in projects with checks
the number is cached for a while, because a check that uses a new item would reduce it by two.

Prefetched items let raters continue without a connection, but each takes a slot of its item. Where
few items are left for several raters, holding many would leave the others without work.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from django.core.cache import cache
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils import timezone

from core.db import bulk
from projects.models import AVAILABLE, Item, Project, Rater
from ratings.annotation.assignments import hidden_checks
from ratings.models import Assignment, Rating

State = Assignment.State

CACHE_SECONDS = 120  # in projects with checks
MAX_SIMULATED_ITEMS = 500  # up to this many new items, the checks between them are simulated

# As in ratings.annotation.assignments.candidates.
_ACTIVE_ITEM_SQL = "i.has_content AND i.withdrawn_at IS NULL"
# Items that the queue never assigns to the rater again.
_OWN_ITEMS_SQL = """
    SELECT item_id FROM ratings_rating WHERE rater_id = r.id
    UNION SELECT item_id FROM ratings_assignment WHERE rater_id = r.id AND state <> 'expired'
    """
# Items with a free slot, minus those that the rater already had: the former are counted in the
# queue's index, and the latter are few at first. Gold items without a free slot can only be
# assigned as checks.
_COUNT_SQL = f"""
    SELECT r.id,
        (
            SELECT count(*) FROM projects_item i
            WHERE i.project_id = r.project_id AND i.slots_taken < p.overlap AND {_ACTIVE_ITEM_SQL}
        ) - (
            SELECT count(*) FROM ({_OWN_ITEMS_SQL}) AS mine
            JOIN projects_item i ON i.id = mine.item_id
            WHERE i.project_id = r.project_id AND i.slots_taken < p.overlap AND {_ACTIVE_ITEM_SQL}
        ),
        CASE WHEN p.gold_percent = 0 THEN 0 ELSE (
            SELECT count(DISTINCT g.item_id) FROM projects_question q
            JOIN projects_goldanswer g ON g.question_id = q.id AND g.retired_at IS NULL
            JOIN projects_item i ON i.id = g.item_id
            WHERE q.project_id = r.project_id AND i.slots_taken >= p.overlap AND {_ACTIVE_ITEM_SQL}
                AND i.id NOT IN ({_OWN_ITEMS_SQL})
        ) END
    FROM projects_rater r JOIN projects_project p ON p.id = r.project_id
    WHERE r.id IN ({{raters}})
    """  # fixed names
_RATER_COUNTS_SQL = f"""
    SELECT r.id,
        (
            SELECT count(*) FROM ratings_assignment a JOIN projects_item i ON i.id = a.item_id
            WHERE a.rater_id = r.id AND a.state = 'open' AND a.kind <> 'exam' AND {_ACTIVE_ITEM_SQL}
        ),
        (SELECT count(*) FROM ratings_assignment WHERE rater_id = r.id AND state = 'done'),
        coalesce((SELECT n_assigned FROM ratings_raterqueue WHERE rater_id = r.id), 0)
    FROM projects_rater r WHERE r.id IN ({{raters}})
    """  # fixed names


class RaterCounts(NamedTuple):
    """Numbers of a rater's items: open, submitted, and assigned in all."""

    open: int = 0
    done: int = 0
    n_assigned: int = 0


def build_counts_query(raters: Sequence[Rater]) -> bulk.Statement:
    """Return the query of the raters' counts, one row (rater id, *RaterCounts) for each."""
    return _build_rater_query(_RATER_COUNTS_SQL, raters)


def count_remaining_items(rater: Rater, counts: RaterCounts) -> int:
    """Return the maximum number of items the rater can still get."""
    return count_remaining_by_rater([rater], {rater.pk: counts})[rater.pk]


def clear_remaining_count(rater: Rater) -> None:
    """Discard the rater's cached number of remaining items."""
    cache.delete(_build_cache_key(rater))


def count_remaining_by_rater(
    raters: Sequence[Rater], counts_by_rater: dict[int, RaterCounts] | None = None
) -> dict[int, int]:
    """Return rater id -> maximum number of items that the rater can still get; at most two queries.

    Each rater needs its ``project``. ``counts_by_rater`` has the raters' counts if the caller has
    read them; None: they are read here.
    """
    if counts_by_rater is None:
        [rows] = bulk.execute_statements([build_counts_query(raters)]) if raters else [[]]
        counts_by_rater = {rater_id: RaterCounts(*numbers) for rater_id, *numbers in rows}
    remaining, uncached = {}, []
    for rater in raters:
        n_future = None if rater.project.archived_at is None else 0
        if n_future is None and _has_checks(rater.project):
            n_future = _get_cached_remaining(rater, counts_by_rater[rater.pk])
        if n_future is None:
            uncached.append(rater)
        else:
            remaining[rater.pk] = counts_by_rater[rater.pk].open + n_future
    rows = (
        bulk.execute_statements([_build_rater_query(_COUNT_SQL, uncached)])[0] if uncached else []
    )
    new_and_gold = {rater_id: (new, gold) for rater_id, new, gold in rows}
    for rater in uncached:
        counts = counts_by_rater[rater.pk]
        n_future = _compute_future_items(rater, *new_and_gold[rater.pk], counts)
        if _has_checks(rater.project):
            cache.set(_build_cache_key(rater), (n_future, counts.n_assigned), CACHE_SECONDS)
        remaining[rater.pk] = counts.open + n_future
    return remaining


def _build_rater_query(sql: str, raters: Sequence[Rater]) -> bulk.Statement:
    return sql.format(raters=", ".join(["%s"] * len(raters))), [rater.pk for rater in raters]


def _has_checks(project: Project) -> bool:
    return bool(project.gold_percent or project.repeat_percent)


def _get_cached_remaining(rater: Rater, counts: RaterCounts) -> int | None:
    """Return the cached number minus the items assigned since; None if it has to be computed."""
    n_future, n_assigned = cache.get(_build_cache_key(rater), (0, 0))
    n_left = n_future - (counts.n_assigned - n_assigned)
    return n_left if 0 < n_left <= n_future else None


def _build_cache_key(rater: Rater) -> str:
    """Return the cache key, which includes the settings that a lead can change."""
    project = rater.project
    shares = f"{project.gold_percent}-{project.repeat_percent}-{project.repeat_after_items}"
    return f"left-of-{rater.pk}-{project.overlap}-{shares}-{project.items_and_raters_version}"


def _compute_future_items(rater: Rater, n_new: int, n_gold: int, counts: RaterCounts) -> int:
    """Return the number of new items plus the checks that can be assigned between them.

    ``n_gold`` is the number of gold items for checks. No check comes after the last new item.
    Beyond MAX_SIMULATED_ITEMS the checks are estimated from their percentages.
    """
    if not _has_checks(rater.project):
        return n_new
    if n_new > MAX_SIMULATED_ITEMS:
        check_percent = rater.project.gold_percent + rater.project.repeat_percent
        return n_new + n_new * check_percent // (100 - check_percent)
    n_assigned = counts.n_assigned
    while n_new > 0:
        n_answered = counts.done + counts.open + n_assigned - counts.n_assigned
        kind = hidden_checks.get_check_kind(rater, n_assigned)
        if kind == Assignment.Kind.GOLD and n_gold:
            n_gold -= 1
        elif kind != Assignment.Kind.REPEAT or n_answered < rater.project.repeat_after_items:
            n_new -= 1
        n_assigned += 1
    return n_assigned - counts.n_assigned


# --- items the rater has not handled, regardless of other raters


def get_finished_project_ids(user: Any, projects: Iterable[Project]) -> set[int]:
    """Return ids of those of the projects in which the user has no item left; one query.

    Projects without active items, or in which the user is no rater, are left out.
    """
    raters = Rater.objects.filter(user=user, project__in=list(projects))
    unfinished = _filter_with_items_left(raters).values("pk")
    active_items = Item.objects.filter(AVAILABLE, project=OuterRef("project"))
    finished = raters.exclude(pk__in=unfinished).filter(Exists(active_items))
    return set(finished.values_list("project_id", flat=True))


def _filter_with_items_left(raters: QuerySet[Rater]) -> QuerySet[Rater]:
    assignments = Assignment.objects.filter(rater=OuterRef(OuterRef("pk")), item=OuterRef("pk"))
    ratings = Rating.objects.filter(rater=OuterRef(OuterRef("pk")), item=OuterRef("pk"))
    active_items = Item.objects.filter(AVAILABLE, project=OuterRef("project"))
    new_items = active_items.exclude(Exists(assignments.exclude(state=State.EXPIRED))).exclude(
        Exists(ratings)
    )
    open_assignments = Assignment.objects.filter(rater=OuterRef("pk"), state=State.OPEN)
    open_assignments = open_assignments.exclude(kind=Assignment.Kind.EXAM).filter(
        item__in=Item.objects.filter(AVAILABLE).values("pk")
    )
    # A new item after the one that was assigned last is found at once, if there is one.
    new_ahead = new_items.filter(pk__gt=OuterRef("position"))
    raters = raters.annotate(position=F("queue__last_item_id"))
    return raters.filter(Exists(open_assignments) | Exists(new_ahead) | Exists(new_items))


MAX_PREFETCHED_ITEMS = 5
PREFETCH_CACHE_SECONDS = 30


def get_max_prefetched_items(rater: Rater) -> int:
    """Return how many items the rater may prefetch: at least 1, at most MAX_PREFETCHED_ITEMS.

    It is the number of remaining items divided by the number of raters with open assignments.
    """
    key = f"prefetched-items-of-{rater.pk}"
    number = cache.get(key)
    if number is None:
        share = count_remaining_by_rater([rater])[rater.pk] // _count_active_raters(rater)
        number = max(1, min(share, MAX_PREFETCHED_ITEMS))
        cache.set(key, number, PREFETCH_CACHE_SECONDS)
    return int(number)


def _count_active_raters(rater: Rater) -> int:
    """Return the number of raters with an unexpired open assignment; this rater always counts."""
    open_assignments = Assignment.objects.filter(
        state=Assignment.State.OPEN,
        leased_until__gt=timezone.now(),
        item__project=rater.project_id,
    )
    return 1 + open_assignments.exclude(rater=rater).values("rater").distinct().count()
