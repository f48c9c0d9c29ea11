"""Models of workers: the last sweep of each, and results of audits."""

from __future__ import annotations

from django.db import models

from projects.models import Question


class Worker(models.Model):
    """A worker process, with the time of its last sweep.

    Shown to administrators; nothing depends on it.
    """

    name = models.CharField(max_length=200, unique=True)  # hostname:process id
    swept_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name}: {self.swept_at:%Y-%m-%d %H:%M:%S}"


class AuditResult(models.Model):
    """The result of the last automatic audit of a question (metrics.integrity.schedule).

    Shown to administrators.
    """

    question = models.OneToOneField(Question, models.CASCADE, primary_key=True, related_name="+")
    audited_at = models.DateTimeField()
    # Ratings that were recounted: all of the question, or those of a sample.
    n_ratings = models.PositiveBigIntegerField()
    n_differences = models.PositiveIntegerField()
    first_differences = models.JSONField(default=list, blank=True)  # the first differences

    def __str__(self) -> str:
        return f"question {self.question_id}: {self.n_differences} differences"
