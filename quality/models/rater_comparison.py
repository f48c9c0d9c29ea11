"""Stored comparison of all raters of a question."""

from __future__ import annotations

from django.db import models

from projects.models import Question

from .recomputed import RecomputedResult


class StoredRaterComparison(RecomputedResult):
    """Comparison of every rater with all others: one row per question.

    A single row lets pages of thousands of raters read it at once. The worker that computes it
    holds its lease.
    """

    question = models.OneToOneField(
        Question, models.CASCADE, primary_key=True, related_name="rater_comparison"
    )
    # {"middle", "spread", "raters": [[...], ...]} (quality.rater_status.comparison.ComparedRater)
    body = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"question {self.question_id}: {len(self.body.get('raters', []))} raters"
