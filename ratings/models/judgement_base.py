"""What is kept of each judgement, wherever it stands."""

from __future__ import annotations

from django.db import models


class Judged(models.Model):
    """A category's code (-1: withdrawn), and the texts and versions that go with it. The texts are
    those of ratings.services.judgement.KEPT."""

    code = models.SmallIntegerField()
    comment = models.TextField(blank=True)
    # The number of the guidelines it was said under; empty where nobody knows
    # (ratings.services.versions).
    guidelines = models.PositiveSmallIntegerField(null=True, blank=True)
    # The version of the item's content that it was said of; empty where nobody knows.
    item_version = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        abstract = True
