"""Check answers: answers to hidden gold, to exam items and to blind repeats."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from projects.models import Item, Question, Rater
from ratings.querysets import CheckAnswerQuerySet

from .assignment import Assignment
from .rating import NO_CODE, JudgementBase, Revision


class CheckAnswer(JudgementBase):
    """A rater's answer to an item that checks the rater. It is not a rating.

    The project's agreement, the item's slots and the rater's earlier rating are not affected by it.
    One row per line of the history; the row with ``is_current`` set is the current answer. Columns
    that a rating also has mean the same here.
    """

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(Item, models.CASCADE, related_name="check_answers")
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="check_answers", db_index=False)
    kind = models.CharField(max_length=6, choices=Assignment.Kind.choices)
    # Of a repeat: the code of the rater's rating at the time of the repeat.
    rated_code = models.SmallIntegerField(null=True, blank=True)
    rated_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    seconds = models.FloatField(null=True, blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    source = models.CharField(max_length=10, choices=Revision.Source.choices)
    is_current = models.BooleanField(default=True)

    objects = CheckAnswerQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "check answers"
        constraints = [
            models.UniqueConstraint(
                fields=["question", "item", "rater"],
                condition=Q(is_current=True),
                name="check_answer_one_current",
            ),
            models.CheckConstraint(condition=Q(code__gte=NO_CODE), name="check_answer_code_valid"),
            models.CheckConstraint(
                condition=Q(kind__in=["gold", "repeat", "exam"]), name="check_answer_kind_valid"
            ),
            models.CheckConstraint(
                condition=Q(seconds__isnull=True) | Q(seconds__gte=0),
                name="check_answer_seconds_valid",
            ),
        ]
        indexes = [
            # A rater's own check answers, newest first (as the index of ratings).
            models.Index(fields=["rater", "-changed_at"], name="check_answer_by_rater"),
            # Check answers added since the last computation (input version of gold scores).
            models.Index(fields=["question", "kind", "id"], name="check_answer_by_question"),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id} on {self.item_id}, {self.kind}: {self.code}"
