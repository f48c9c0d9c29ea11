"""The seconds of raters are queried by each rater's own ratings, however many the question has."""

from __future__ import annotations

from typing import Any

import pytest

from metrics.results import rater_results
from ratings.models import Rating
from tests import query_plans

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("the plan is that of SQLite")]


def test_seconds_query_uses_index_of_rater(question: Any, rate: Any) -> None:
    """A new database without statistics used the question's index.

    With 3,815 raters of 84,445 ratings, that kept it locked for minutes.
    """
    for name in "ab":
        rate(question, "i0", name, "none")
    Rating.objects.update(seconds=3.0)
    rater_ids = list(question.project.raters.values_list("pk", flat=True))
    used_plans = query_plans.explain_sqlite_queries(
        lambda: rater_results._save_seconds(
            rater_results.CountScope.for_question(question.pk), rater_ids
        )
    )
    assert len(used_plans) == 3
    for plan in used_plans:
        assert "rating_by_rater" in plan, plan
