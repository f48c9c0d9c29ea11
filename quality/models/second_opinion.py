"""Second opinions: blind answers of another adjudicator to decided items."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models

from projects.models import Item, Question

from .decision import Decision


class SecondOpinion(models.Model):
    """A blind answer of another adjudicator to a decided item; it changes no label.

    Never updated.
    """

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(Item, models.CASCADE, related_name="+")
    # The decision that was current at that time.
    decision = models.ForeignKey(Decision, models.CASCADE, related_name="+")
    code = models.SmallIntegerField()
    reason = models.TextField(blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["question", "item"], name="second_opinion_unique")
        ]

    def __str__(self) -> str:
        return f"{self.item_id}: {self.code}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("A second opinion is written once and never changed.")
        super().save(*args, **kwargs)
