"""What adjudicators decide."""

from __future__ import annotations

from typing import Any, NoReturn

from django.conf import settings
from django.db import models
from django.db.models import Q

from projects.models import Item, Question


class Decision(models.Model):
    """The final label of an item by somebody's decision. Written once, never changed: a later one
    has the next number, and the one of the highest number stands. ``code`` null takes it back."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(Item, models.CASCADE, related_name="decisions")
    number = models.PositiveIntegerField()
    code = models.SmallIntegerField(null=True)
    reason = models.TextField(blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    made_at = models.DateTimeField()

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
        raise TypeError("A decision is never deleted; the next one takes it back.")


class Claim(models.Model):
    """An item that somebody is deciding just now, so that nobody else does."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(Item, models.CASCADE, related_name="+")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    until = models.DateTimeField()
    # They want another item first.
    passed = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["question", "item"], name="claim_unique")]

    def __str__(self) -> str:
        return f"{self.item_id}: {self.by_id}"


class Sent(models.Model):
    """A lead wants a decision on an item, whatever its doubt; gone when it is decided."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(Item, models.CASCADE, related_name="+")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    sent_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "items sent to be decided"
        constraints = [models.UniqueConstraint(fields=["question", "item"], name="sent_unique")]

    def __str__(self) -> str:
        return f"{self.item_id}: {self.by_id}"


class NamesSeen(models.Model):
    """An adjudicator looked who gave which rating, before deciding."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+")
    item = models.ForeignKey(Item, models.CASCADE, related_name="+")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    seen_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "names seen"

    def __str__(self) -> str:
        return f"{self.item_id}: {self.by_id}"
