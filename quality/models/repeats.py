"""How far raters agree with themselves."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from projects.models import Question, Rater

from .recomputed import Renewed


class RepeatState(Renewed):
    """All people of a question together. One row a question with repeats; the
    worker that makes the scores holds its lease."""

    question = models.OneToOneField(
        Question, models.CASCADE, primary_key=True, related_name="repeat_state"
    )
    # Items that were rated twice, and how many of them the same; with Wilson's 95 % interval.
    n = models.PositiveIntegerField(default=0)
    same = models.PositiveIntegerField(default=0)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    # Values (metrics.agreement.estimate), stratified by raters; icc is null unless categories have
    # values, as in RepeatScore.
    kappa = models.JSONField(default=dict)
    icc = models.JSONField(null=True)

    def __str__(self) -> str:
        return f"question {self.question_id}: {self.n} repeats"


class RepeatScore(models.Model):
    """A rater's second answers against the first ones."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="repeat_scores")
    # As in RepeatState.
    n = models.PositiveIntegerField()
    same = models.PositiveIntegerField()
    low = models.FloatField()
    high = models.FloatField()
    # (k, k) first x second, active categories in declared order.
    table = models.JSONField()
    # Values; shift, the mean of second less first answer, is null on nominal scales.
    kappa = models.JSONField()
    shift = models.JSONField(null=True)
    icc = models.JSONField(null=True)
    # [{"start": first day, "n", "same", "low", "high"}, ...] a month with repeats.
    months = models.JSONField(default=list)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["question", "rater"], name="repeat_score_unique"),
            models.CheckConstraint(
                condition=Q(n__gte=1, same__lte=F("n")), name="repeat_score_of_answers"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id}: {self.same} of {self.n}"
