"""Progress of an annotator in a project, and the state of each of their projects.

Only the rater's own figures, except for the number of remaining items, of which other raters take
their share (ratings.annotation.remaining_items).
"""

from __future__ import annotations

import datetime
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from django.core.cache import cache
from django.db import connection
from django.utils import timezone

from core.db import bulk
from projects.models import Member, Project, Rater
from projects.selectors import get_item_counts
from ratings.annotation import remaining_items
from ratings.models import Assignment, CheckAnswer, Exam, ExamRules, RaterQueue, Rating
from ratings.services import permissions
from ratings.services.rating_timestamps import ensure_aware

MAX_PROJECTS_CHECKED = 20  # projects, the newest first


def get_next_project(user: Any, *, exclude_project_id: int) -> Project | None:
    """Return another project in which the user is an annotator and has items left, or None.

    Only the newest MAX_PROJECTS_CHECKED projects are checked.
    """
    member = Member.objects.filter(user=user, role=Member.Role.ANNOTATOR)
    projects = (
        Project.objects.filter(pk__in=member.values("project"), archived_at=None)
        .exclude(pk=exclude_project_id)
        .order_by("-pk")[:MAX_PROJECTS_CHECKED]
    )
    raters = Rater.objects.filter(user=user, paused=False, project__in=list(projects))
    own_raters = list(raters.select_related("project").order_by("-project"))
    remaining_by_rater = remaining_items.count_remaining_by_rater(own_raters)
    return next((rater.project for rater in own_raters if remaining_by_rater[rater.pk]), None)


CACHE_SECONDS = 600
MIN_MINUTES_FOR_HOURS = 100  # minutes from which the remaining time is shown in hours
MIN_ITEMS_FOR_PACE = 5  # items needed for the pace
N_LATEST_RATINGS = 60  # for the pace; an item has one for each question
MAX_DAILY_GOAL = 10_000  # items
N_DAYS = 14  # days that My ratings compares


@dataclass(frozen=True, slots=True)
class RaterProgress:
    """A rater's progress, in numbers of items.

    ``remaining``: maximum number of items that the rater can still get. ``items``: active items of
    the project. ``pace``: median seconds per item of the latest items, None if the time of fewer
    than MIN_ITEMS_FOR_PACE is known. ``daily_goal``: items a day that the rater wants to reach, or
    None.
    ``can_go_back``: the rater has an earlier answer or skip to return to.
    """

    today: int
    rated: int
    skipped: int
    items: int
    remaining: int
    pace: float | None = None
    daily_goal: int | None = None
    can_go_back: bool = False

    @property
    def handled(self) -> int:
        """Return the number of items that the rater has rated or skipped."""
        return self.rated + self.skipped

    @property
    def total(self) -> int:
        """Return the number of handled and remaining items."""
        return self.handled + self.remaining

    @property
    def is_goal_reached(self) -> bool:
        """Return whether the rater has reached the daily goal today."""
        return self.daily_goal is not None and self.today >= self.daily_goal

    @property
    def minutes_left(self) -> int | None:
        """Return the minutes, at least 1, that all remaining items take at the rater's pace.

        None without remaining items or a pace.
        """
        if self.pace is None or not self.remaining:
            return None
        return max(round(self.remaining * self.pace / 60), 1)

    @property
    def hours_left(self) -> int | None:
        """Return ``minutes_left`` in whole hours.

        None if unknown or below MIN_MINUTES_FOR_HOURS.
        """
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
_DAYS_SQL = """
    SELECT item_id, rated_at, seconds, 0 FROM ratings_rating
    WHERE rater_id = %s AND changed_at >= %s AND rated_at >= %s AND code >= 0
    UNION ALL
    SELECT item_id, rated_at, seconds, 1 FROM ratings_checkanswer
    WHERE rater_id = %s AND changed_at >= %s AND rated_at >= %s AND code >= 0 AND is_current
        AND kind <> 'exam'
    """
_LATEST_SQL = """
    SELECT * FROM (
        SELECT r.item_id, r.seconds, r.changed_at, r.id, {is_check} AS is_check
        FROM {table} r
        WHERE r.rater_id = %s AND r.code >= 0 {rest} ORDER BY r.changed_at DESC, r.id DESC LIMIT %s
    ) AS said
    """
_LATEST_RATINGS_SQL = _LATEST_SQL.format(table="ratings_rating", rest="", is_check=0)
_LATEST_CHECKS_SQL = _LATEST_SQL.format(
    table="ratings_checkanswer", rest="AND r.is_current AND r.kind <> 'exam'", is_check=1
)
_RECENT_SQL = (
    f"{_LATEST_RATINGS_SQL} UNION ALL {_LATEST_CHECKS_SQL} ORDER BY 3 DESC, 4 DESC LIMIT %s"
)
_WORK_SQL = """
    SELECT
        (SELECT count(*) FROM ratings_assignment WHERE rater_id = %s AND state = 'skipped'),
        EXISTS (
            SELECT 1 FROM ratings_assignment
            WHERE rater_id = %s AND state IN ('done', 'skipped') AND kind <> 'exam'
        ),
        (SELECT daily_goal FROM ratings_raterqueue WHERE rater_id = %s)
    """


def compute_progress(rater: Rater) -> RaterProgress:
    """Return the rater's numbers of items: rated today and in all, skipped, and remaining.

    Today is the day in the project's time zone.
    """
    midnight = _get_start_of_today(rater)
    cached_count, counted_until = _get_cached_count(rater)
    times = [connection.ops.adapt_datetimefield_value(time) for time in (midnight, counted_until)]
    count_queries = [(_RATED_SINCE_SQL, [rater.pk, time, time] * 2) for time in times]
    latest_query = (_RECENT_SQL, [*[rater.pk, N_LATEST_RATINGS] * 2, N_LATEST_RATINGS])
    [[today]], [[n_since]], [work_row], rows, [[_pk, *counts]] = bulk.execute_statements(
        [
            *count_queries,
            (_WORK_SQL, [rater.pk] * 3),
            latest_query,
            remaining_items.build_counts_query([rater]),
        ]
    )
    skipped, can_go_back, daily_goal = work_row
    return RaterProgress(
        today=today,
        rated=cached_count + n_since,
        skipped=skipped,
        items=get_item_counts(rater.project).available,
        remaining=remaining_items.count_remaining_items(
            rater, remaining_items.RaterCounts(*counts)
        ),
        pace=_compute_pace(rows),
        daily_goal=daily_goal,
        can_go_back=bool(can_go_back),
    )


@dataclass(frozen=True, slots=True)
class DailyFigures:
    """Number of items that a rater rated on a day, and their median seconds.

    The median is None if the time is known for too few of the items.
    """

    day: datetime.date
    n_items: int
    pace: float | None


def list_daily_figures(rater: Rater) -> list[DailyFigures]:
    """Return the figures of those of the last N_DAYS days on which the rater rated, latest first.

    Days are those of the project's time zone.
    """
    start = _get_start_of_today(rater) - datetime.timedelta(days=N_DAYS - 1)
    time = connection.ops.adapt_datetimefield_value(start)
    [rows] = bulk.execute_statements([(_DAYS_SQL, [rater.pk, time, time] * 2)])
    seconds_by_day: dict[datetime.date, dict[tuple[int, int], float | None]] = {}
    for item_id, rated_at, seconds, is_check in rows:
        day = ensure_aware(rated_at).astimezone(start.tzinfo).date()
        seconds_by_day.setdefault(day, {})[item_id, is_check] = seconds
    return [
        DailyFigures(day, len(seconds), _compute_median(seconds.values()))
        for day, seconds in sorted(seconds_by_day.items(), reverse=True)
    ]


def _get_start_of_today(rater: Rater) -> datetime.datetime:
    """Return when today began in the project's time zone."""
    now = timezone.now().astimezone(ZoneInfo(rater.project.time_zone))
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def set_daily_goal(rater: Rater, goal: int | None) -> None:
    """Set the number of items a day that the rater wants to reach; None removes it."""
    RaterQueue.objects.update_or_create(rater=rater, defaults={"daily_goal": goal})


def _compute_pace(rows: Sequence[tuple[Any, ...]]) -> float | None:
    """Return the median seconds per item, by the latest answer to each; None for too few items."""
    seconds_by_item: dict[tuple[int, int], float | None] = {}
    for item_id, seconds, _changed_at, _id, is_check in rows:
        seconds_by_item.setdefault((item_id, is_check), seconds)
    return _compute_median(seconds_by_item.values())


def _compute_median(seconds: Iterable[float | None]) -> float | None:
    recorded = [number for number in seconds if number is not None]
    return statistics.median(recorded) if len(recorded) >= MIN_ITEMS_FOR_PACE else None


def clear_rated_count(rater: Rater) -> None:
    """Discard the rater's cached number of rated items, for example after a withdrawal."""
    cache.delete(_build_cache_key(rater))


def _build_cache_key(rater: Rater) -> str:
    return f"rated-by-{rater.pk}"


def _get_cached_count(rater: Rater) -> tuple[int, datetime.datetime]:
    """Return the rater's number of items rated up to a recent time, and that time.

    Both are cached, and the caller counts only later ratings, so that the request takes no longer
    for a rater with many years of ratings.
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


@dataclass(frozen=True, slots=True)
class RaterProject:
    """A project from the view of one of its raters.

    ``state``: new (not started), archived, paused, exam (to start, or between attempts), in_exam,
    exam_over (no attempt left), ready, taken (other raters hold or have rated all remaining items),
    or done (the rater has rated or skipped every item). ``remaining``: maximum number of items that
    the rater can still get if the state is ready, else 0.
    """

    project: Project
    state: str
    remaining: int = 0


def get_rater_projects(user: Any, projects: Sequence[Project]) -> dict[int, RaterProject]:
    """Return project id -> the project's state for the user."""
    if not projects:
        return {}
    raters = {
        rater.project_id: rater
        for rater in Rater.objects.filter(user=user, project__in=list(projects))
    }
    for project in projects:
        if project.pk in raters:
            raters[project.pk].project = project
    rater_projects = {
        project.pk: RaterProject(project, state)
        for project in projects
        if (state := _get_inactive_state(project, raters.get(project.pk)))
    }
    rater_projects |= _get_exam_states(
        [rater for project_id, rater in raters.items() if project_id not in rater_projects]
    )
    ready = [rater for project_id, rater in raters.items() if project_id not in rater_projects]
    remaining_by_rater = remaining_items.count_remaining_by_rater(ready)
    finished_ids = (
        remaining_items.get_finished_project_ids(user, [rater.project for rater in ready])
        if ready
        else set()
    )
    for rater in ready:
        state = (
            "ready"
            if remaining_by_rater[rater.pk]
            else "done"
            if rater.project_id in finished_ids
            else "taken"
        )
        rater_projects[rater.project_id] = RaterProject(
            rater.project, state, remaining_by_rater[rater.pk]
        )
    return rater_projects


def _get_inactive_state(project: Project, rater: Rater | None) -> str:
    """Return why the rater cannot rate: archived, new (no rater yet) or paused; else empty."""
    if project.archived_at is not None:
        return "archived"
    if rater is None:
        return "new"
    return "paused" if rater.paused else ""


def _get_exam_states(raters: Sequence[Rater]) -> dict[int, RaterProject]:
    """Return project id -> state of the projects in which the rater has an exam to pass first."""
    if not raters:
        return {}
    due_question_ids = permissions.get_due_question_ids_by_rater([rater.pk for rater in raters])
    if not due_question_ids:
        return {}
    max_attempts = dict(
        ExamRules.objects.filter(pk__in=due_question_ids.values()).values_list("pk", "max_attempts")
    )
    exams = Exam.objects.filter(rater__in=due_question_ids, question__in=due_question_ids.values())
    n_attempts: Counter[int] = Counter()
    in_exam_ids = set()
    for rater_id, question_id, state in exams.values_list("rater", "question", "state"):
        if due_question_ids[rater_id] == question_id:
            n_attempts[rater_id] += 1
            if state == Exam.State.OPEN:
                in_exam_ids.add(rater_id)
    rater_projects = {}
    for rater in raters:
        if rater.pk not in due_question_ids:
            continue
        has_no_attempt_left = n_attempts[rater.pk] >= max_attempts[due_question_ids[rater.pk]]
        state = (
            "in_exam" if rater.pk in in_exam_ids else "exam_over" if has_no_attempt_left else "exam"
        )
        rater_projects[rater.project_id] = RaterProject(rater.project, state)
    return rater_projects
