"""Intra-rater agreement: repeated answers of raters."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from projects.models import Question, Rater

from .recomputed import RecomputedResult


class RepeatState(RecomputedResult):
    """Totals of all people of a question: one row per question with repeats.

    The worker that computes the scores holds its lease.
    """

    question = models.OneToOneField(
        Question, models.CASCADE, primary_key=True, related_name="repeat_state"
    )
    # Items rated twice, and those with equal answers; with Wilson's 95% interval.
    n = models.PositiveIntegerField(default=0)
    same = models.PositiveIntegerField(default=0)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    # Values (metrics.agreement.estimate), stratified by raters; icc is null unless categories have
    # numeric values, as in RepeatScore.
    kappa = models.JSONField(default=dict)
    icc = models.JSONField(null=True)

    def __str__(self) -> str:
        return f"question {self.question_id}: {self.n} repeats"


class RepeatScore(models.Model):
    """Agreement of a rater's second answers with their first ones."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="repeat_scores")
    # As in RepeatState.
    n = models.PositiveIntegerField()
    same = models.PositiveIntegerField()
    low = models.FloatField()
    high = models.FloatField()
    # (k, k) first x second, active categories in declared order.
    table = models.JSONField()
    # Values; shift, the mean difference of second and first answer, is null on nominal scales.
    kappa = models.JSONField()
    shift = models.JSONField(null=True)
    icc = models.JSONField(null=True)
    # [{"start": first day, "n", "same", "low", "high"}, ...], one per month with repeats.
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
