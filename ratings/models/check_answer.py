"""What raters say of hidden gold, in exams, and of items that they are asked again."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from projects.models import Item, Question, Rater
from ratings.querysets import ApartQuerySet

from .assignment import Assignment
from .judgement_base import Judged
from .rating import NOTHING, Revision


class Apart(Judged):
    """One thing that a rater said of an item that tests them. It is no rating: the project's
    agreement, the item's places and what the rater rated before know nothing of it.

    A row a line of its history; the one that ``stands`` is what the rater says now. The columns
    that a rating has too mean the same there.
    """

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(Item, models.CASCADE, related_name="apart")
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="apart", db_index=False)
    why = models.CharField(max_length=6, choices=Assignment.Why.choices)
    # Of a repeat: what the rater's rating said when it was asked for again.
    first = models.SmallIntegerField(null=True, blank=True)
    rated_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    seconds = models.FloatField(null=True, blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    source = models.CharField(max_length=10, choices=Revision.Source.choices)
    stands = models.BooleanField(default=True)

    objects = ApartQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "ratings set apart"
        constraints = [
            models.UniqueConstraint(
                fields=["question", "item", "rater"],
                condition=Q(stands=True),
                name="apart_one_stands",
            ),
            models.CheckConstraint(condition=Q(code__gte=NOTHING), name="apart_code_valid"),
            models.CheckConstraint(
                condition=Q(why__in=["gold", "repeat", "exam"]), name="apart_why_known"
            ),
            models.CheckConstraint(
                condition=Q(seconds__isnull=True) | Q(seconds__gte=0), name="apart_seconds_valid"
            ),
        ]
        indexes = [
            # A rater's own, newest first, as those of ratings.
            models.Index(fields=["rater", "-changed_at"], name="apart_by_rater"),
            # "Did anything come since?" (quality.gold.input_version)
            models.Index(fields=["question", "why", "id"], name="apart_by_question"),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id} on {self.item_id}, {self.why}: {self.code}"
