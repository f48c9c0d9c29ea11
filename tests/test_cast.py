"""What a module makes once stands before each of its tests as it was made."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from projects.models import Item, Project, Question
from ratings.models import Rating
from tests import cast
from tests.cast import Cast


def fill(made: Cast) -> None:
    cast.rate(made.question, "i1", "ann", "minor")


@pytest.fixture(scope="module")
def made_once(stage: Callable[..., Cast]) -> Cast:
    return stage(fill)


@pytest.mark.parametrize("time", [1, 2])
def test_what_one_test_changes_no_other_sees(time: int, question: Question) -> None:
    assert question.text == "Which severity?"
    assert Question.objects.get() == question
    assert list(Item.objects.values_list("key", flat=True)) == ["i1"]
    question.text = "Another?"
    question.save()
    cast.rate(question, "i2", "ann", "minor")


@pytest.mark.fresh
def test_a_fresh_one_begins_with_nothing_rated(
    project: Project, question: Question, lead: User
) -> None:
    assert question.project == project
    assert not Rating.objects.filter(question=question).exists()
    assert Rating.objects.count() == 1  # the others'
    roles = project.members.values_list("user__username", "role")
    assert set(roles) == {(name, name) for name in ("lead", "annotator", "viewer")}
    assert project.created_by == lead
