"""Earlier versions of a question's scale, so that earlier results can be reproduced."""

from __future__ import annotations

import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from .question import Question


class ScaleVersion(models.Model):
    """A question's declaration at ``scale_version`` ``number``, which applied until ``until``.

    Written once, never changed; the current declaration is that of the question itself.
    """

    question = models.ForeignKey(
        Question, models.CASCADE, related_name="scale_versions", db_index=False
    )
    number = models.PositiveIntegerField()
    declaration = models.JSONField()  # Question.get_declaration()
    until = models.DateTimeField()
    # The reason for the change to the next version, if one was given, and the user that made it.
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
    def get_at(cls, question: Question, moment: datetime.datetime) -> tuple[int, dict[str, Any]]:
        """Return the number of the version that was current at a moment, and its declaration."""
        next_change = (
            cls.objects.filter(question=question, until__gt=moment).order_by("number").first()
        )
        if next_change is None:
            return question.scale_version, question.get_declaration()
        return next_change.number, next_change.declaration
