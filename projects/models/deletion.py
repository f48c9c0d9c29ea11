"""What was deleted for good, and is not to be read any more."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from .project import Project


class Deletion(models.Model):
    """The trace of an item, a rater or a project that somebody deleted, or of a person who was
    taken out of a rater whose ratings stay: how much went, and nothing of what it said. It is on
    its way until ``finished_at``."""

    class Kind(models.TextChoices):
        ITEM = "item", _("item")
        RATER = "rater", _("rater")
        PROJECT = "project", _("project")
        PERSON = "person", _("person, whose ratings stay: rater")

    kind = models.CharField(max_length=7, choices=Kind.choices)
    # Its id; there is nothing of this id any more.
    target = models.BigIntegerField()
    # Empty for what was in a project that is gone itself.
    project = models.ForeignKey(
        Project, models.SET_NULL, null=True, blank=True, related_name="deletions"
    )
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    asked_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    # noun -> how many went: items, raters, ratings, lines of history ...
    counts = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=["item", "rater", "project", "person"]),
                name="deletion_kind_known",
            ),
            # Asked for once.
            models.UniqueConstraint(
                fields=["kind", "target"],
                condition=Q(finished_at__isnull=True),
                name="deletion_under_way",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.target}"
