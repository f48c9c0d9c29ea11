"""What a question's scale was before: so that what was read of it then can be read again."""

from __future__ import annotations

import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from .question import Question


class ScaleVersion(models.Model):
    """What a question declared as its `scale_version` ``number``, until it declared something else.
    Written once, never changed; what is in force is the question itself."""

    question = models.ForeignKey(
        Question, models.CASCADE, related_name="scale_versions", db_index=False
    )
    number = models.PositiveIntegerField()
    declared = models.JSONField()  # Question.declared
    until = models.DateTimeField()
    # Why it was changed into what followed, where somebody said so, and who changed it.
    reason = models.CharField(max_length=500, blank=True, default="", db_default="")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["question", "number"], name="scale_version_unique"),
            models.CheckConstraint(condition=Q(number__gte=1), name="scale_version_from_one"),
        ]

    def __str__(self) -> str:
        return f"{self.question_id}: {self.number}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("A version of a scale is written once and never changed.")
        super().save(*args, **kwargs)

    @classmethod
    def at(cls, question: Question, moment: datetime.datetime) -> tuple[int, dict[str, Any]]:
        """The number of the version in force at a moment, and what was declared then."""
        later = cls.objects.filter(question=question, until__gt=moment).order_by("number").first()
        if later is None:
            return question.scale_version, question.declared()
        return later.number, later.declared
