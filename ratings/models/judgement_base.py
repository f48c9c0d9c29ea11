"""Abstract model with the columns that ratings, their history and check answers share."""

from __future__ import annotations

from django.db import models


class JudgementBase(models.Model):
    """A category's code (-1: withdrawn), with the texts and versions that belong to it.

    The texts are those of ``STORED_TEXTS`` in ratings.services.judgement.
    """

    code = models.SmallIntegerField()
    comment = models.TextField(blank=True)
    # Version number of the guidelines the answer was given under; empty if unknown
    # (ratings.services.answer_versions).
    guidelines = models.PositiveSmallIntegerField(null=True, blank=True)
    # Version of the item's content that was rated; empty if unknown.
    item_version = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        abstract = True
