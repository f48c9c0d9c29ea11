"""Event: a change in a project, for notifications and webhooks."""

from __future__ import annotations

from typing import Any, NoReturn

from django.conf import settings
from django.db import models
from django.db.models import Q

from projects.models import Project


class Event(models.Model):
    """A change in a project: kind, subject, data and time.

    Written once, in the transaction of the change that it describes, and never changed.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="events", db_index=False)
    # The kind of event, named by the app that records it: alert_raised, alert_resolved, ...
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

    class Meta:
        ordering = ["id"]
        constraints = [models.CheckConstraint(condition=~Q(kind=""), name="event_kind_not_empty")]
        indexes = [models.Index(fields=["project", "id"], name="event_by_project")]

    def __str__(self) -> str:
        return f"{self.kind}: {self.subject}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("An event is written once and never changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("An event is never deleted.")
