"""Models of results, which are computed from the stored counts."""

from __future__ import annotations

import datetime

from django.db import models
from django.db.models import Q, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, NullIf
from django.utils.translation import gettext_lazy as _

from projects.models import Question, Rater


def build_number_expression(path: str) -> Cast:
    """Return an expression for a number in a JSON column, to filter and sort by; NULL for null.

    ``path``: ``column__key__key``. A plain KT would return the text "null" on SQLite, and its cast
    would be 0.
    """
    return Cast(NullIf(KT(path), Value("null")), models.FloatField())


class PeriodUnit(models.TextChoices):
    ALL = "all", _("all")
    DAY = "day", _("day")
    WEEK = "week", _("week")
    MONTH = "month", _("month")


ALL_START = datetime.date(1970, 1, 1)


class Result(models.Model):
    """Coefficients of all raters of a question over one period, or over all time.

    ``coefficients`` maps a name to a Value (metrics.agreement.estimate; docs/api.md). Pages and
    API show the result of all time as a results.question_agreement.QuestionAgreement.
    """

    question = models.ForeignKey(Question, models.CASCADE, related_name="results", db_index=False)
    period_unit = models.CharField(max_length=5, choices=PeriodUnit.choices)
    start = models.DateField(default=ALL_START)
    coefficients = models.JSONField(default=dict)
    # The same coefficients, on all items up to the end of the period.
    cumulative = models.JSONField(default=dict)
    # The headline, of people and of models (metrics.results.headline); and where models are
    # separate, the people's coefficients on all items up to the end of the period.
    headline = models.JSONField(default=dict)
    people_cumulative = models.JSONField(default=dict)
    # Everything that is not a single coefficient: items by number of ratings, kappas of categories.
    details = models.JSONField(default=dict)
    computed_at = models.DateTimeField()

    class Meta:
        ordering = ["start"]
        constraints = [
            models.UniqueConstraint(
                fields=["question", "period_unit", "start"], name="result_unique"
            ),
            models.CheckConstraint(
                condition=Q(period_unit__in=PeriodUnit.values), name="result_period_unit_valid"
            ),
        ]


class RaterResult(models.Model):
    """Agreement of a rater with the peers over all time.

    Nothing is stored for days, weeks and months (results.rater_periods).
    """

    question = models.ForeignKey(
        Question, models.CASCADE, related_name="rater_results", db_index=False
    )
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="results")
    n_ratings = models.PositiveIntegerField()
    coefficients = models.JSONField(default=dict)
    details = models.JSONField(default=dict)
    # Median seconds of the newest timed ratings (TIMED_RATINGS in results.rater_results);
    # null: unknown.
    seconds = models.FloatField(null=True, blank=True)
    computed_at = models.DateTimeField()

    class Meta:
        constraints = [
            # question first: the rater table reads all raters' rows.
            models.UniqueConstraint(fields=["question", "rater"], name="rater_result_unique")
        ]


class Diagnosis(models.Model):
    """Findings on a question's disagreement, computed with its results; one row per question."""

    question = models.OneToOneField(
        Question, models.CASCADE, primary_key=True, related_name="diagnosis"
    )
    # [{"name", "figures"}, ...] of the findings that apply; pages turn them into text.
    findings = models.JSONField(default=list)
    # [[index of a category, of another one, their share of the disagreement], ...], declared order
    confusions = models.JSONField(default=list)
    # {"n_items", "is_complete", weighting -> [[item id, counts in declared order, distance], ...]}
    # (results.disagreement.disputed_items).
    disputes = models.JSONField(default=dict)
    computed_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "diagnoses"

    def __str__(self) -> str:
        return f"question {self.question_id}: {len(self.findings)} findings"


class AuditResult(models.Model):
    """The result of the last automatic audit of a question (metrics.integrity.schedule).

    Administrators see it.
    """

    question = models.OneToOneField(Question, models.CASCADE, primary_key=True, related_name="+")
    audited_at = models.DateTimeField()
    # Ratings that were recounted: all of the question, or those of a sample.
    n_ratings = models.PositiveBigIntegerField()
    n_differences = models.PositiveIntegerField()
    first_differences = models.JSONField(default=list, blank=True)  # the first differences

    def __str__(self) -> str:
        return f"question {self.question_id}: {self.n_differences} differences"
