"""Fixtures for a question that four raters of different accuracy have answered."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from django.contrib.auth.models import User

from metrics.jobs import question_updates
from projects.models import Item, Member, Question, Rater
from quality.consensus import recomputation
from quality.models import LabelRules
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.cast import Cast

ACCURACY_BY_RATER = {"ann": 0.9, "ben": 0.85, "cleo": 0.8, "dan": 0.5}  # share of right answers
N_ITEMS = 60


def add_ratings(question: Question) -> None:
    """Add and count ratings of sixty items; a fifth of the ratings is missing."""
    rng = np.random.default_rng(7)
    project = question.project
    raters = {}
    for key in ACCURACY_BY_RATER:
        raters[key] = Rater.objects.get_or_create(project=project, key=key)[0].pk
    items = Item.objects.bulk_create(
        Item(project=project, key=f"i{number:02}", body={"text": f"text {number}"})
        for number in range(N_ITEMS)
    )
    judgements = []
    for item in items:
        truth = int(rng.integers(4))
        for key, accuracy in ACCURACY_BY_RATER.items():
            if rng.random() >= 0.2:
                code = truth if rng.random() < accuracy else int(rng.integers(4))
                judgements.append(Judgement(item.pk, raters[key], code))
    record_ratings({question: judgements}, by=None, source="api")
    question_updates.update_question(question.pk)


@pytest.fixture(scope="module")
def rated_cast(cast_factory: Callable[..., Cast]) -> Cast:
    """Cast with a rated question, for modules all of whose tests begin with `rated_question`.

    Such modules return it from their own ``module_cast`` fixture.
    """
    return cast_factory(lambda cast: add_ratings(cast.question))


@pytest.fixture
def rated_question(cast_copy: Cast | None, question: Question) -> Question:
    if cast_copy is None:
        add_ratings(question)
    return question


@pytest.fixture
def rater(rated_question: Question) -> Rater:
    """Return Ben's rater: he has an account, and is told of decisions on his items after a week."""
    recomputation.recompute_question(rated_question.pk)
    LabelRules.objects.create(question=rated_question, show_to_raters=True, show_after_days=7)
    user = User.objects.create_user("ben-user")
    Member.objects.create(project=rated_question.project, user=user, role=Member.Role.ANNOTATOR)
    ben = Rater.objects.get(project=rated_question.project, key="ben")
    ben.user = user
    ben.save()
    return ben
