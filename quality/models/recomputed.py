"""The columns of what is made anew when what it rests on has changed (quality.recompute)."""

from __future__ import annotations

from django.db import models

from core.jobs.lease import Leased
from projects.models import Question


class Renewed(Leased):
    """One row a question, ``question``; the worker that makes it holds its lease."""

    question: models.OneToOneField[Question, Question]
    # What it rests on; other than what stands: it is old.
    rests_on = models.JSONField(default=dict)
    seconds = models.FloatField(default=0)  # that making it took
    made_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True
