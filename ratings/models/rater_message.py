"""Messages from leads to raters."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from projects.models import Rater


class RaterMessage(models.Model):
    """A message to one rater, shown on the annotation page until the rater marks it as read."""

    rater = models.ForeignKey(Rater, models.CASCADE, related_name="messages")
    text = models.TextField()
    sender = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    sent_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=~Q(text=""), name="rater_message_text_given"),
        ]

    def __str__(self) -> str:
        return f"to rater {self.rater_id}"

    @property
    def sender_name(self) -> str:
        """Name of the sender; empty if the account was deleted."""
        return (
            "" if self.sender is None else self.sender.get_full_name() or self.sender.get_username()
        )
