"""Fixtures for ratings over many days in which one rater drifts."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import numpy as np
import pytest

from metrics.jobs import question_updates
from projects.models import Item, Question, Rater
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings

FIRST = datetime.datetime(2026, 3, 2, 12, tzinfo=datetime.UTC)
RATERS = ("ann", "ben", "cleo", "dan")


@pytest.fixture
def make_stream(question: Question) -> Callable[..., Question]:
    """``make_stream(moves={"dan": 30})`` adds ratings of four raters, ten items a day for sixty days.

    From day 30 on dan answers a category lower in seven of ten cases. The ratings are counted.
    """

    def make(
        *, moves: dict[str, int] | None = None, days: int = 60, first: int = 0, a_day: int = 10
    ) -> Question:
        rng = np.random.default_rng(4 + first)
        project = question.project
        raters = {
            key: Rater.objects.get_or_create(project=project, key=key)[0].pk for key in RATERS
        }
        judgements = []
        for day in range(first, first + days):
            items = Item.objects.bulk_create(
                Item(project=project, key=f"{day}-{number}", body={"text": "x"})
                for number in range(a_day)
            )
            for item in items:
                truth = int(rng.integers(4))
                for key in rng.choice(RATERS, size=3, replace=False).tolist():
                    code = int(np.clip(truth + rng.choice([-1, 0, 0, 0, 1]), 0, 3))
                    from_day = (moves or {}).get(key)
                    if from_day is not None and day >= from_day and rng.random() < 0.7:
                        code = max(code - 1, 0)
                    rated_at = FIRST + datetime.timedelta(days=day)
                    judgements.append(Judgement(item.pk, raters[key], code, rated_at=rated_at))
        record_ratings({question: judgements}, by=None, source="import")
        question_updates.update_question(question.pk)
        return question

    return make


@pytest.fixture
def day_after() -> Callable[[int], datetime.date]:
    return lambda days: (FIRST + datetime.timedelta(days=days)).date()
