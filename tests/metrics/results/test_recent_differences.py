"""A rater's recent disagreements, also for imported ratings, which are changed in file order."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from metrics.question_scale import QuestionScale
from metrics.results import disputed_items
from projects.models import Rater
from ratings.models import Rating

pytestmark = pytest.mark.django_db
NOW = datetime.datetime(2026, 3, 2, 9, tzinfo=datetime.UTC)


@pytest.mark.parametrize("batch_minutes", [0, 1])
def test_imported_ratings_are_sorted_by_their_own_times(
    question: Any, rate: Any, batch_minutes: int
) -> None:
    """Also where a large file was stored in several batches, each at its own time."""
    for number in range(6):
        for rater, label in (("ann", "none"), ("ben", "major"), ("cleo", "major")):
            rate(question, f"i{number}", rater, label)
    for number in range(6):
        changed_at = NOW + datetime.timedelta(minutes=number * batch_minutes)
        Rating.objects.filter(item__key=f"i{number}").update(changed_at=changed_at)
    days = {"i0": 3, "i1": 40, "i2": 1, "i3": 7, "i4": 20, "i5": 2}
    for key, days_ago in days.items():
        rating = Rating.objects.filter(item__key=key, rater__key="ann")
        rating.update(rated_at=NOW - datetime.timedelta(days=days_ago))
    ann = Rater.objects.get(key="ann")
    differences = disputed_items.list_recent_differences(
        question, ann, QuestionScale.for_question(question), limit=4
    )
    assert [difference.rating.item.key for difference in differences] == ["i2", "i5", "i0", "i3"]
