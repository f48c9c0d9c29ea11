"""A question that four raters of different care have answered."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.work import sweep
from projects.models import Item, Question, Rater
from ratings.recording.judgement import Judgement
from ratings.recording.record import record

RATERS = {"ann": 0.9, "ben": 0.85, "cleo": 0.8, "dan": 0.5}  # right so often
ITEMS = 60


@pytest.fixture
def answered(question: Question) -> Question:
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
    record({question: said}, by=None, source="api")
    sweep.bring_up_to_date(question.pk)
    return question
