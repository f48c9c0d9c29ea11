"""What is told of all raters of a question at once."""

from __future__ import annotations

from django.db import models

from projects.models import Question

from .recomputed import Renewed


class Triage(Renewed):
    """Whom to look at first: every rater beside all others, in one row a question, so that a page
    of thousands of raters reads them at once. The worker that makes it holds its lease."""

    question = models.OneToOneField(
        Question, models.CASCADE, primary_key=True, related_name="triage"
    )
    # {"middle", "spread", "raters": [[...], ...]} (quality.rater_status.comparison.Standing)
    body = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"question {self.question_id}: {len(self.body.get('raters', []))} raters"
