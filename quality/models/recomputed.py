"""Results of a question that are recomputed when their input changes."""

from __future__ import annotations

from django.db import models

from core.jobs.lease import Leased
from projects.models import Question


class RecomputedResult(Leased):
    """One row per question; the worker that computes it holds its lease."""

    question: models.OneToOneField[Question, Question]
    # Input version; when it differs from the current one, the result is outdated.
    input_version = models.JSONField(default=dict)
    duration_seconds = models.FloatField(default=0)  # duration of the computation
    computed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


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
