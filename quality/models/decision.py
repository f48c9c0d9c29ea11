"""Decisions of adjudicators, with claims and assignments."""

from __future__ import annotations

from typing import Any, NoReturn

from django.conf import settings
from django.db import models
from django.db.models import Q

from projects.models import Item, Question


class Decision(models.Model):
    """A decision on the final label of an item. Never updated or deleted.

    A later decision has the next number; the highest number is the current one. ``code`` null
    withdraws the decision.
    """

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(Item, models.CASCADE, related_name="decisions")
    number = models.PositiveIntegerField()
    code = models.SmallIntegerField(null=True)
    reason = models.TextField(blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(
                fields=["question", "item", "number"], name="decision_number_unique"
            ),
            models.CheckConstraint(condition=Q(number__gte=1), name="decision_number_counted"),
        ]

    def __str__(self) -> str:
        return f"{self.item_id}: {self.code} ({self.number})"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("A decision is written once and never changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("A decision is never deleted; the next one withdraws it.")


class ReviewClaim(models.Model):
    """Claim of an adjudicator on an item that they are deciding, so that nobody else gets it."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(Item, models.CASCADE, related_name="+")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    expires_at = models.DateTimeField()
    # The user has postponed the item.
    postponed = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["question", "item"], name="review_claim_unique")
        ]

    def __str__(self) -> str:
        return f"{self.item_id}: {self.by_id}"


class ReviewAssignment(models.Model):
    """An item that a lead sent to review, whatever its doubt; deleted when it is decided."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(Item, models.CASCADE, related_name="+")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    sent_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "review assignments"
        constraints = [
            models.UniqueConstraint(fields=["question", "item"], name="review_assignment_unique")
        ]

    def __str__(self) -> str:
        return f"{self.item_id}: {self.by_id}"


class NameReveal(models.Model):
    """Record that an adjudicator displayed the raters' names before deciding."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+")
    item = models.ForeignKey(Item, models.CASCADE, related_name="+")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    revealed_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "name reveals"

    def __str__(self) -> str:
        return f"{self.item_id}: {self.by_id}"
