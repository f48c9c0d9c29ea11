"""Models of results: of the stored counts, and attributions, filtered results and reports."""

from __future__ import annotations

import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, NullIf
from django.utils.translation import gettext_lazy as _

from core.jobs.on_demand import OnDemandResult
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
    # (results.disputed_items).
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


class Attribution(OnDemandResult):
    """Explanation of a change of Fleiss' kappa between two periods (metrics.change_attribution)."""

    question = models.ForeignKey(
        Question, models.CASCADE, related_name="attributions", db_index=False
    )
    period_unit = models.CharField(max_length=5, choices=PeriodUnit.choices)
    earlier_start = models.DateField()
    later_start = models.DateField()
    weights = models.CharField(max_length=10)
    # people, models or all; empty: as the question shows them
    population = models.CharField(max_length=6, blank=True, default="")
    # The CountState.version that the result is based on, or an older one if counting went on while
    # it was computed.
    version = models.PositiveBigIntegerField(default=0)
    result = models.JSONField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=[
                    "question",
                    "period_unit",
                    "earlier_start",
                    "later_start",
                    "weights",
                    "population",
                ],
                name="attribution_unique",
            ),
            models.CheckConstraint(
                condition=Q(period_unit__in=["week", "month"]), name="attribution_period_unit_valid"
            ),
            models.CheckConstraint(
                condition=Q(pending=True) | Q(result__isnull=False), name="attribution_has_result"
            ),
        ]
        indexes = [
            models.Index(
                fields=["requested_at"], condition=Q(pending=True), name="attribution_pending"
            )
        ]

    def __str__(self) -> str:
        move = f"{self.period_unit} {self.earlier_start} to {self.later_start}, {self.weights}"
        return f"question {self.question_id}: {move}"


class FilteredResult(OnDemandResult):
    """Result of the ratings that a filter selects, computed on demand.

    The stored counts do not contain it: it is computed from the ratings, and kept while pages
    request it (metrics.filtered.filtered_jobs).
    """

    class Kind(models.TextChoices):
        CHOICES = "choices", _("choices")  # the available filter values
        DASHBOARD = "dashboard", _("dashboard")
        RATER = "rater", _("rater")
        PAIR = "pair", _("pair")
        COEFFICIENTS = "coefficients", _("every coefficient")
        ITEM_ORDER = "item_order", _("item order")

    question = models.ForeignKey(
        Question, models.CASCADE, related_name="filtered_results", db_index=False
    )
    kind = models.CharField(max_length=12, choices=Kind.choices)
    key = models.CharField(max_length=64)  # SHA-256 of format, kind and spec (FilteredRequest.key)
    spec = models.JSONField()  # the filter (filters.RatingFilter.spec) and the raters
    # The CountState.version and Project.items_and_raters_version that the body is based on, or
    # older ones if counting went on while it was computed.
    version = models.PositiveBigIntegerField(default=0)
    items_and_raters_version = models.PositiveBigIntegerField(default=0)
    body = models.JSONField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["question", "key"], name="filtered_result_unique"),
            models.CheckConstraint(
                condition=Q(
                    kind__in=["choices", "dashboard", "rater", "pair", "coefficients", "item_order"]
                ),
                name="filtered_result_kind_valid",
            ),
            models.CheckConstraint(
                condition=Q(pending=True) | Q(body__isnull=False), name="filtered_result_has_body"
            ),
        ]
        indexes = [
            models.Index(
                fields=["requested_at"], condition=Q(pending=True), name="filtered_result_pending"
            )
        ]

    def is_based_on(self, version: int, items_and_raters_version: int) -> bool:
        """Return whether the body is based on these versions of the question and its project."""
        return (self.version, self.items_and_raters_version) == (version, items_and_raters_version)

    def __str__(self) -> str:
        return f"question {self.question_id}: {self.kind} {self.spec}"


class Report(OnDemandResult):
    """A report on a question as of a moment.

    It is computed once from the history of the ratings (metrics.reports) and never changed, so that
    it can be cited.
    """

    question = models.ForeignKey(Question, models.CASCADE, related_name="reports", db_index=False)
    as_of = models.DateTimeField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    facts = models.JSONField(null=True, blank=True)  # metrics.reports

    class Meta:
        ordering = ["-as_of"]
        constraints = [
            models.UniqueConstraint(fields=["question", "as_of"], name="report_unique"),
            models.CheckConstraint(
                condition=Q(pending=True) | Q(facts__isnull=False), name="report_has_facts"
            ),
        ]
        indexes = [
            models.Index(fields=["requested_at"], condition=Q(pending=True), name="report_pending")
        ]

    def __str__(self) -> str:
        return f"question {self.question_id} as of {self.as_of:%Y-%m-%d %H:%M}"
