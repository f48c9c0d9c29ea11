"""Projects whose ratings are on their way to the days of another time zone."""

from __future__ import annotations

from django.db import models

from projects.models import Project


class DayMove(models.Model):
    """A project whose time zone changed and whose ratings are not all on their new days yet
    (ratings.services.timezone_backfill).

    The ratings up to this one, in the order (question, item, rater), are.
    """

    project = models.OneToOneField(Project, models.CASCADE, primary_key=True, related_name="+")
    question = models.BigIntegerField(default=0)
    item = models.BigIntegerField(default=0)
    rater = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.project_id} up to {self.question}, {self.item}, {self.rater}"
