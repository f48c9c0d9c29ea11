"""A project and what its guidelines said when."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from projects.querysets import ProjectQuerySet


class QueueOrder(models.TextChoices):
    FIXED = "fixed", _("the order in which items were added")
    RANDOM = "random", _("random, another order for each rater")


class Project(models.Model):
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    guidelines = models.TextField(blank=True, help_text=_("Markdown"))
    # The number of the version that ``guidelines`` is (0: none was ever written); moved by
    # projects.setup.projects alone.
    guidelines_version = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)
    overlap = models.PositiveSmallIntegerField(default=3, help_text=_("Ratings wanted per item"))
    # In which order a rater is asked (ratings.desk.queue).
    queue_order = models.CharField(
        max_length=6,
        choices=QueueOrder.choices,
        default=QueueOrder.FIXED,
        db_default=QueueOrder.FIXED,
    )
    corrections = models.BooleanField(
        default=True, db_default=True, help_text=_("Raters may change their own ratings")
    )
    # Days, weeks and months of the trend are those of this zone.
    time_zone = models.CharField(max_length=64, default="UTC")
    # Rises when items, or raters' kinds or groups, change: what was computed of a choice of them is
    # old then.
    catalogue_version = models.PositiveBigIntegerField(default=0, db_default=0, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    objects = ProjectQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(name=""), name="project_name_given"),
            models.CheckConstraint(condition=Q(overlap__gte=1), name="project_overlap_positive"),
            models.CheckConstraint(
                condition=Q(queue_order__in=QueueOrder.values), name="project_queue_order_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class GuidelineVersion(models.Model):
    """What a project's guidelines said from ``made_at`` on. Written once, never changed; numbers
    count from 1."""

    project = models.ForeignKey(
        Project, models.CASCADE, related_name="guideline_versions", db_index=False
    )
    number = models.PositiveSmallIntegerField()
    text = models.TextField(blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    made_at = models.DateTimeField()

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["project", "number"], name="guideline_version_unique"),
            models.CheckConstraint(condition=Q(number__gte=1), name="guideline_version_counted"),
        ]

    def __str__(self) -> str:
        return f"{self.project_id}: {self.number}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("A version of guidelines is written once and never changed.")
        super().save(*args, **kwargs)
