"""What the workers say of themselves and of what they audited."""

from __future__ import annotations

from django.db import models

from projects.models import Question


class Worker(models.Model):
    """A process that sweeps, as it last said of itself. For people who look after the site; nothing
    depends on it."""

    name = models.CharField(max_length=200, unique=True)  # as it was called:process id
    swept_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name}: {self.swept_at:%Y-%m-%d %H:%M:%S}"


class AuditResult(models.Model):
    """What the workers' last audit of a question found (metrics.integrity.schedule). For people who
    look after the site."""

    question = models.OneToOneField(Question, models.CASCADE, primary_key=True, related_name="+")
    audited_at = models.DateTimeField()
    # Ratings that were counted again: all of the question, or those of a sample.
    ratings = models.PositiveBigIntegerField()
    differences = models.PositiveIntegerField()
    shown = models.JSONField(default=list, blank=True)  # the first of them

    def __str__(self) -> str:
        return f"question {self.question_id}: {self.differences} differences"
