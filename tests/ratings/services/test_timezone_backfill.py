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
from ratings.models import DayMove, Rating
from ratings.services import timezone_backfill
from ratings.services.days import day_number
from tests.metrics import invariants

pytestmark = pytest.mark.django_db

EVENING = datetime.datetime(2026, 3, 1, 22, tzinfo=datetime.UTC)  # the next day, east of here
EAST, WEST = "Pacific/Kiritimati", "America/Los_Angeles"


@pytest.fixture
def rated(project: Project, question: Any, rate: Any, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Twelve ratings of two questions, counted; a step looks at three."""
    monkeypatch.setattr(timezone_backfill, "RATINGS_PER_STEP", 3)
    other = Question.objects.create(project=project, key="tone", text="Tone?", position=1)
    Category.objects.create(question=other, code=0, label="kind", position=0)
    for number in range(4):
        for rater in ("ann", "ben"):
            rate(question, f"i{number}", rater, "major", rated_at=EVENING)
        rate(other, f"i{number}", "ann", "kind", rated_at=EVENING)
    counting.sweep_questions()
    return project


def move(project: Project, zone: str, lead: Any) -> None:
    change_project(project=project, by=lead, time_zone=zone)


def misplaced(project: Project) -> int:
    zone = ZoneInfo(Project.objects.get(pk=project.pk).time_zone)
    rows = Rating.objects.filter(question__project=project).values_list("rated_at", "day")
    return sum(day != day_number(rated_at, zone) for rated_at, day in rows)


def test_the_change_moves_a_part_and_the_sweep_the_rest(rated: Project, lead: Any) -> None:
    move(rated, EAST, lead)
    assert misplaced(rated) == 9
    assert tasks.resume_stalled() == 1
    assert misplaced(rated) == 0
    assert not DayMove.objects.exists()
    assert tasks.resume_stalled() == 0
    counting.sweep_questions()
    for question in rated.questions.all():
        invariants.check(question.pk)


def test_a_small_project_is_moved_at_once(
    rated: Project, lead: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timezone_backfill, "RATINGS_PER_STEP", 100)
    move(rated, EAST, lead)
    assert misplaced(rated) == 0
    assert not DayMove.objects.exists()


def test_ratings_that_come_meanwhile_are_on_their_days(
    rated: Project, question: Any, rate: Any, lead: Any
) -> None:
    move(rated, EAST, lead)
    for item in ("i0", "i3"):  # before and behind the place of the move
        rate(question, item, "ann", "minor")
        rate(question, item, "cleo", "minor", rated_at=EVENING)
    assert misplaced(rated) == 8  # i3's rating by ann, written again, is on its day already
    tasks.resume_stalled()
    assert misplaced(rated) == 0


def test_another_change_begins_anew(rated: Project, lead: Any) -> None:
    move(rated, EAST, lead)
    assert timezone_backfill.run_step(rated.pk) == 3
    move(rated, WEST, lead)
    tasks.resume_stalled()
    assert misplaced(rated) == 0
    assert not DayMove.objects.exists()
