"""Records of permanent deletions."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from core.text import lower_first

from .project import Project


class Deletion(models.Model):
    """A permanent deletion of an item, a rater, a project or personal data.

    Personal data are those of the person behind a rater whose ratings stay.

    It records how much was deleted, and nothing of the content. Unfinished until ``finished_at``
    is set.
    """

    class Kind(models.TextChoices):
        ITEM = "item", lower_first(_("Item"))
        RATER = "rater", _("rater")
        PROJECT = "project", lower_first(_("Project"))
        PERSON = "person", _("person, whose ratings stay: rater")

    kind = models.CharField(max_length=7, choices=Kind.choices)
    # The id of the deleted object.
    target = models.BigIntegerField()
    # Null when the project itself has been deleted.
    project = models.ForeignKey(
        Project, models.SET_NULL, null=True, blank=True, related_name="deletions"
    )
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    requested_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    # Kind of object -> number deleted: items, raters, ratings, history entries ...
    counts = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=["item", "rater", "project", "person"]),
                name="deletion_kind_valid",
            ),
            # One unfinished deletion per object.
            models.UniqueConstraint(
                fields=["kind", "target"],
                condition=Q(finished_at__isnull=True),
                name="deletion_unfinished",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.target}"
