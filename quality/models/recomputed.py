"""Abstract model of a question's result that is recomputed when its input changes."""

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
