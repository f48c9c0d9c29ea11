"""Tests of data that a module creates once: each of its tests begins with it unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from projects.models import Item, Project, Question
from ratings.models import Rating
from tests import cast
from tests.cast import Cast


def add_rating(new_cast: Cast) -> None:
    cast.rate(new_cast.question, "i1", "ann", "minor")


@pytest.fixture(scope="module")
def module_cast(cast_factory: Callable[..., Cast]) -> Cast:
    return cast_factory(add_rating)


@pytest.mark.parametrize("time", [1, 2])
def test_changes_of_a_test_are_invisible_to_the_next(time: int, question: Question) -> None:
    assert question.text == "Which severity?"
    assert Question.objects.get() == question
    assert list(Item.objects.values_list("key", flat=True)) == ["i1"]
    question.text = "Another?"
    question.save()
    cast.rate(question, "i2", "ann", "minor")


@pytest.mark.fresh
def test_fresh_test_begins_without_ratings(
    project: Project, question: Question, lead: User
) -> None:
    assert question.project == project
    assert not Rating.objects.filter(question=question).exists()
    assert Rating.objects.count() == 1  # the rating of the module's cast
    roles = project.members.values_list("user__username", "role")
    assert set(roles) == {(name, name) for name in ("lead", "annotator", "viewer")}
    assert project.created_by == lead


@pytest.mark.fresh
def test_rating_of_a_batch_may_have_its_own_time(question: Question, utc: Any) -> None:
    times = {"i1": utc(2026, 3, 1, 9), "i2": utc(2026, 3, 2, 9)}
    cast.rate_many(question, [(item, "ann", "minor", time) for item, time in times.items()])
    ratings = Rating.objects.filter(question=question)
    assert dict(ratings.values_list("item__key", "rated_at")) == times
