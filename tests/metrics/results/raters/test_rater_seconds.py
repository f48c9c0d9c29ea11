"""The seconds of raters are found by each rater's own ratings, however many the question has."""

from __future__ import annotations

from typing import Any

import pytest

from metrics.results.raters import rater_results
from ratings.models import Rating
from tests import query_plans

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only]


def test_a_rater_is_looked_up_by_the_raters_own_index(question: Any, rate: Any) -> None:
    """A fresh database knows nothing of how many there are of each, and took the question's index:
    3,815 raters of 84,445 ratings kept it locked for minutes."""
    for name in "ab":
        rate(question, "i0", name, "none")
    Rating.objects.update(seconds=3.0)
    found = list(question.project.raters.values_list("pk", flat=True))
    asked = query_plans.of_sqlite(
        lambda: rater_results._save_seconds(
            rater_results.CountScope.for_question(question.pk), found
        )
    )
    assert len(asked) == 3
    for plan in asked:
        assert "rating_by_rater" in plan, plan
