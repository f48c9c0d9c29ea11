"""Coefficients read off the stored counts."""

from __future__ import annotations

import datetime
from typing import Any

from django.db import models
from django.db.models import Q, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, NullIf
from django.utils.translation import gettext_lazy as _

from projects.models import Question, Rater


def number_at(path: str) -> Cast:
    """A number within a JSON column, as ``column__key__key``, to filter and sort by; NULL where it
    is null.

    Of a null Django makes the text "null" on SQLite, which would become 0.
    """
    return Cast(NullIf(KT(path), Value("null")), models.FloatField())


class Span(models.TextChoices):
    ALL = "all", _("all")
    DAY = "day", _("day")
    WEEK = "week", _("week")
    MONTH = "month", _("month")


ALL_START = datetime.date(1970, 1, 1)


class Reading(models.Model):
    """The project's coefficients over one period. ``coefficients`` maps a name to a READING
    (docs/api.md)."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="readings", db_index=False)
    span = models.CharField(max_length=5, choices=Span.choices)
    start = models.DateField(default=ALL_START)
    coefficients = models.JSONField(default=dict)
    # The same names, on all items up to the period's end.
    cumulative = models.JSONField(default=dict)
    # What is read first, of people and of models (metrics.results.headline.headline_computation); where models are kept
    # apart, the people's coefficients on all items up to the period's end.
    headline = models.JSONField(default=dict)
    people_cumulative = models.JSONField(default=dict)
    # Counts of items by number of ratings, per-category kappas and the like: whatever is not one
    # coefficient.
    details = models.JSONField(default=dict)
    computed_at = models.DateTimeField()

    # The mean pairwise kappas by shared items, which are made later (readings.means); read beside.
    means: dict[str, Any] = {}

    class Meta:
        ordering = ["start"]
        constraints = [
            models.UniqueConstraint(fields=["question", "span", "start"], name="reading_unique"),
            models.CheckConstraint(condition=Q(span__in=Span.values), name="reading_span_known"),
        ]

    @property
    def told(self) -> dict[str, Any]:
        """The coefficients that pages tell: `of_all`, or where items were chosen for what others
        had said, the same of the other ratings alone."""
        drawn: dict[str, Any] | None = self.headline.get("drawn")
        return drawn["coefficients"] if drawn else self.of_all

    @property
    def of_all(self) -> dict[str, Any]:
        """Of all ratings: the people's where models are kept apart, unless the lead wants them
        pooled."""
        apart = "coefficients" in self.headline and self.headline["of"] == "people"
        found: dict[str, Any] = self.headline["coefficients"] if apart else self.coefficients
        return found


class RaterReading(models.Model):
    """One rater's agreement with peers, all days together, in the same shape. Of days, weeks and
    months nothing is stored (readings.rater_periods)."""

    question = models.ForeignKey(
        Question, models.CASCADE, related_name="rater_readings", db_index=False
    )
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="readings")
    n_ratings = models.PositiveIntegerField()
    coefficients = models.JSONField(default=dict)
    details = models.JSONField(default=dict)
    # The median seconds of the newest timed ratings (readings.raters.TIMED); null: not known.
    seconds = models.FloatField(null=True, blank=True)
    computed_at = models.DateTimeField()

    class Meta:
        constraints = [
            # question first: the rater table reads all raters' rows.
            models.UniqueConstraint(fields=["question", "rater"], name="rater_reading_unique")
        ]


class Diagnosis(models.Model):
    """What there is to say of a question's disagreement, made with its readings. One row a
    question."""

    question = models.OneToOneField(
        Question, models.CASCADE, primary_key=True, related_name="diagnosis"
    )
    # [{"name", "figures"}, ...] of the diagnoses that apply; pages put them into words.
    findings = models.JSONField(default=list)
    # [[place of a category, of another one, their share of the disagreement], ...], declared order
    confusions = models.JSONField(default=list)
    # {"n_items", "whole", weighting -> [[item id, counts in declared order, distance], ...]}
    # (readings.disputes).
    disputes = models.JSONField(default=dict)
    computed_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "diagnoses"

    def __str__(self) -> str:
        return f"question {self.question_id}: {len(self.findings)} findings"
