"""What is judged."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from .project import Project


class Item(models.Model):
    project = models.ForeignKey(Project, models.CASCADE, related_name="items")
    key = models.CharField(max_length=255)
    body = models.JSONField(default=dict, blank=True)
    attributes = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    # How many raters have rated the item or are rating it now: kept by ratings.recording.places
    # alone, exact below the overlap.
    places_taken = models.PositiveIntegerField(default=0, db_default=0, editable=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="item_key_unique"),
            models.CheckConstraint(condition=~Q(key=""), name="item_key_given"),
        ]
        indexes = [
            # "Which items with so many places taken come after this one?" (ratings.desk.queue)
            models.Index(fields=["project", "places_taken", "id"], name="item_by_places"),
        ]

    def __str__(self) -> str:
        return self.key
