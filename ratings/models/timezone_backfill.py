"""Time zone backfills: projects whose ratings are being moved to the days of a new time zone."""

from __future__ import annotations

from django.db import models

from projects.models import Project


class TimezoneBackfill(models.Model):
    """A project whose time zone changed and whose ratings are not all on their new days yet.

    Ratings up to and including (question, item, rater), in this order, are done
    (ratings.services.timezone_backfill).
    """

    project = models.OneToOneField(Project, models.CASCADE, primary_key=True, related_name="+")
    last_question_id = models.BigIntegerField(default=0)
    last_item_id = models.BigIntegerField(default=0)
    last_rater_id = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        position = f"{self.last_question_id}, {self.last_item_id}, {self.last_rater_id}"
        return f"{self.project_id} up to {position}"
