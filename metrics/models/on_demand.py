"""Models of on-demand jobs: attributions, filtered results and reports."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from core.jobs.on_demand import OnDemandResult
from projects.models import Question

from .results import PeriodUnit


class Attribution(OnDemandResult):
    """Explanation of a change of Fleiss' kappa between two periods (metrics.attribution)."""

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
