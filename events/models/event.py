"""Events: what happened in a project, for the feed and for webhooks."""

from __future__ import annotations

from typing import Any, NoReturn

from django.conf import settings
from django.db import models
from django.db.models import Q

from projects.models import Project


class Event(models.Model):
    """One thing that happened.

    Written once, in the transaction of the change that it describes, and never changed.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="events", db_index=False)
    # A name in events.kinds.KINDS.
    kind = models.CharField(max_length=40)
    # The object of the event: "alert/12".
    subject = models.CharField(max_length=100, blank=True)
    # Details, as names and numbers.
    data = models.JSONField(default=dict)
    # The acting user; null when the program did it.
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    at = models.DateTimeField()
    # Place in the feed, given after the commit (events.feed), because ids are given before it: a
    # reader of ids would miss an event that is committed after one with a higher id. Null: not yet.
    number = models.BigIntegerField(null=True, unique=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.CheckConstraint(condition=~Q(kind=""), name="event_kind_not_empty")]
        indexes = [
            models.Index(fields=["project", "number"], name="event_by_project"),
            # The latest event of a kind about something.
            models.Index(fields=["project", "kind", "subject", "id"], name="event_by_subject"),
            # Events without a number.
            models.Index(fields=["id"], condition=Q(number=None), name="event_unpublished"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.subject}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("An event is written once and never changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("An event is never deleted.")


class FeedState(models.Model):
    """The last number of the feed: one row, whose lock a publisher holds."""

    last_number = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return str(self.last_number)


class EventBatch(models.Model):
    """Changes of items that are collected into one event, at most one a minute (events.feed)."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=40)
    subject = models.CharField(max_length=100)
    question = models.CharField(max_length=64)  # key of a question
    changes = models.PositiveIntegerField(default=0)  # 0: no event is due
    items = models.JSONField(default=list)  # keys of the first changed items
    next_at = models.DateTimeField()  # no event before this time

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "kind", "subject"], name="event_batch_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.changes}"
