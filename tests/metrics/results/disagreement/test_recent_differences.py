"""A rater's recent disagreements, also of ratings that a file brought, which changed at one time."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from metrics.results.disagreement import disputed_items
from metrics.scale import QuestionScale
from projects.models import Rater
from ratings.models import Rating

pytestmark = pytest.mark.django_db
NOW = datetime.datetime(2026, 3, 2, 9, tzinfo=datetime.UTC)


def test_what_a_file_brought_goes_by_its_own_times(question: Any, rate: Any) -> None:
    for number in range(6):
        for rater, label in (("ann", "none"), ("ben", "major"), ("cleo", "major")):
            rate(question, f"i{number}", rater, label)
    Rating.objects.update(changed_at=NOW)
    days = {"i0": 3, "i1": 40, "i2": 1, "i3": 7, "i4": 20, "i5": 2}
    for key, ago in days.items():
        own = Rating.objects.filter(item__key=key, rater__key="ann")
        own.update(rated_at=NOW - datetime.timedelta(days=ago))
    ann = Rater.objects.get(key="ann")
    found = disputed_items.list_recent_differences(
        question, ann, QuestionScale.for_question(question), limit=4
    )
    assert [one.rating.item.key for one in found] == ["i2", "i5", "i0", "i3"]
