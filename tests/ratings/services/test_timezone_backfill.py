"""A change of the time zone in a project that is too large for one step."""

from __future__ import annotations

import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from metrics.jobs import question_updates as counting
from projects.models import Category, Project, Question
from projects.services.projects import change_project
from ratings import tasks
from ratings.models import Rating, TimezoneBackfill
from ratings.services import project_changes
from ratings.services.rating_timestamps import day_number
from tests.metrics import invariants

pytestmark = pytest.mark.django_db

EVENING = datetime.datetime(2026, 3, 1, 22, tzinfo=datetime.UTC)  # the next day, further east
EAST, WEST = "Pacific/Kiritimati", "America/Los_Angeles"


@pytest.fixture
def rated_project(
    project: Project, question: Any, rate: Any, monkeypatch: pytest.MonkeyPatch
) -> Project:
    """Return a project with twelve counted ratings of two questions; one step handles three."""
    monkeypatch.setattr(project_changes, "RATINGS_PER_STEP", 3)
    other_question = Question.objects.create(project=project, key="tone", text="Tone?", position=1)
    Category.objects.create(question=other_question, code=0, label="kind", position=0)
    for number in range(4):
        for rater in ("ann", "ben"):
            rate(question, f"i{number}", rater, "major", rated_at=EVENING)
        rate(other_question, f"i{number}", "ann", "kind", rated_at=EVENING)
    counting.sweep_questions()
    return project


def change_time_zone(project: Project, zone: str, lead: Any) -> None:
    change_project(project=project, by=lead, time_zone=zone)


def count_misplaced(project: Project) -> int:
    """Return the number of ratings whose day does not fit the project's time zone."""
    zone = ZoneInfo(Project.objects.get(pk=project.pk).time_zone)
    rows = Rating.objects.filter(question__project=project).values_list("rated_at", "day")
    return sum(day != day_number(rated_at, zone) for rated_at, day in rows)


def test_change_updates_a_part_and_the_sweep_the_rest(rated_project: Project, lead: Any) -> None:
    change_time_zone(rated_project, EAST, lead)
    assert count_misplaced(rated_project) == 9
    assert tasks.resume_stalled() == 1
    assert count_misplaced(rated_project) == 0
    assert not TimezoneBackfill.objects.exists()
    assert tasks.resume_stalled() == 0
    counting.sweep_questions()
    for question in rated_project.questions.all():
        invariants.check(question.pk)


def test_small_project_is_updated_at_once(
    rated_project: Project, lead: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project_changes, "RATINGS_PER_STEP", 100)
    change_time_zone(rated_project, EAST, lead)
    assert count_misplaced(rated_project) == 0
    assert not TimezoneBackfill.objects.exists()


def test_ratings_added_meanwhile_have_the_right_day(
    rated_project: Project, question: Any, rate: Any, lead: Any
) -> None:
    change_time_zone(rated_project, EAST, lead)
    for item in ("i0", "i3"):  # before and after the position of the update
        rate(question, item, "ann", "minor")
        rate(question, item, "cleo", "minor", rated_at=EVENING)
    assert (
        count_misplaced(rated_project) == 8
    )  # ann's rating of i3 was written again and has the right day
    tasks.resume_stalled()
    assert count_misplaced(rated_project) == 0


def test_another_change_restarts_the_update(rated_project: Project, lead: Any) -> None:
    change_time_zone(rated_project, EAST, lead)
    assert project_changes.run_backfill_step(rated_project.pk) == 3
    change_time_zone(rated_project, WEST, lead)
    tasks.resume_stalled()
    assert count_misplaced(rated_project) == 0
    assert not TimezoneBackfill.objects.exists()
