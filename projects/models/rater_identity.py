"""The identities of raters whose names are hidden from the leads of their project."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from .project import Project
from .rater import Rater


class RaterIdentity(models.Model):
    """The true key and name of a rater, who has a pseudonym as long as this row exists.

    See projects.services.raters.pseudonyms.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    rater = models.OneToOneField(Rater, models.CASCADE, related_name="identity")
    key = models.CharField(max_length=150)
    name = models.CharField(max_length=200, blank=True)

    class Meta:
        verbose_name_plural = "rater identities"
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="rater_identity_key_unique"),
            models.CheckConstraint(condition=~Q(key=""), name="rater_identity_key_not_empty"),
        ]

    def __str__(self) -> str:
        return f"rater {self.rater_id}"
