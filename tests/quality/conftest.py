"""A question that four raters of different care have answered."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from django.contrib.auth.models import User

from metrics.jobs import question_updates
from projects.models import Item, Member, Question, Rater
from quality.consensus import recompute
from quality.models import LabelRules
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.cast import Cast

RATERS = {"ann": 0.9, "ben": 0.85, "cleo": 0.8, "dan": 0.5}  # right so often
ITEMS = 60


def answer(question: Question) -> None:
    """Sixty items, a fifth of the ratings missing; counted."""
    rng = np.random.default_rng(7)
    project = question.project
    raters = {}
    for key in RATERS:
        raters[key] = Rater.objects.get_or_create(project=project, key=key)[0].pk
    items = Item.objects.bulk_create(
        Item(project=project, key=f"i{number:02}", body={"text": f"text {number}"})
        for number in range(ITEMS)
    )
    said = []
    for item in items:
        truth = int(rng.integers(4))
        for key, right in RATERS.items():
            if rng.random() >= 0.2:
                code = truth if rng.random() < right else int(rng.integers(4))
                said.append(Judgement(item.pk, raters[key], code))
    record_ratings({question: said}, by=None, source="api")
    question_updates.update_question(question.pk)


@pytest.fixture(scope="module")
def answered_once(stage: Callable[..., Cast]) -> Cast:
    """For modules all of whose tests begin with `answered`: they take it as their ``made_once``."""
    return stage(lambda made: answer(made.question))


@pytest.fixture
def answered(begun: Cast | None, question: Question) -> Question:
    if begun is None:
        answer(question)
    return question


@pytest.fixture
def rater(answered: Question) -> Rater:
    """Ben, who has an account, and is told of decisions on his items after a week."""
    recompute.recompute_question(answered.pk)
    LabelRules.objects.create(question=answered, tell_raters=True, tell_after=7)
    user = User.objects.create_user("ben-user")
    Member.objects.create(project=answered.project, user=user, role=Member.Role.ANNOTATOR)
    found = Rater.objects.get(project=answered.project, key="ben")
    found.user = user
    found.save()
    return found
