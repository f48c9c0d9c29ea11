"""Alerts with their history, and the drift state of each rater."""

from __future__ import annotations

import datetime
from typing import Any, NoReturn, Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from projects.models import Project, Question, Rater

from .recomputed import RecomputedResult

CHECKED_DAYS = 30  # how long a checked rater stays out of the inbox


class AlertKind(models.TextChoices):
    """Kind of an alert; docs/statistics.md defines when each is raised."""

    RATER_DRIFT = "rater_drift", _("Rating drift")
    RATER_SAME_ANSWER = "rater_same_answer", _("Repeated answer")
    RATER_TOO_FAST = "rater_fast", _("Too fast")
    RATER_DISAGREES = "rater_apart", _("Low agreement")
    NEWCOMER_BELOW = "newcomer_below", _("Newcomer below the team")
    RATER_COPIES = "rater_copies", _("Pair agrees too often")
    QUESTION_FELL = "question_fell", _("Question agreement fell")
    PAIR_DIVERGED = "pair_diverged", _("Pair diverged")
    CATEGORY_COLLAPSED = "category_collapsed", _("Category changed")
    RATINGS_MISSING = "ratings_missing", _("Missing ratings")
    GOLD_SUSPECTED = "gold_suspected", _("Suspected gold answers")


class AlertMeasure(models.TextChoices):
    """Quantity whose change an alert reports."""

    AGREEMENT = "agreement", _("Agreement with the others")
    BIAS = "bias", _("Bias against the others")
    OTHER_ANSWERS = "other_answers", _("Share of other answers")
    PACE = "pace", _("Share with enough time")
    CATEGORY_SHARE = "category_share", _("Share of the category")
    ITEMS = "items", _("Number of items")


# Measures whose size is the share of ratings that are not affected.
RIGHT_SHARES = (AlertMeasure.OTHER_ANSWERS, AlertMeasure.PACE)


class AlertState(models.TextChoices):
    """State of an alert."""

    OPEN = "open", pgettext_lazy("waits for an answer", "Open")
    ACKNOWLEDGED = "acknowledged", _("Investigating")
    MUTED = "muted", _("Muted")
    RESOLVED = "resolved", _("Resolved")


class AlertCause(models.TextChoices):
    """Cause of a resolved alert, as the lead found it."""

    REAL = "real", _("Confirmed")
    NOT_RATER = "not_rater", _("Not the rater’s fault")
    EXPLAINED = "explained", _("Other cause")


class Sensitivity(models.TextChoices):
    """Amount of evidence that raises an alert (quality.alerts.sensitivity)."""

    LOW = "low", _("Low")
    MEDIUM = "medium", _("Medium")
    HIGH = "high", _("High")


class AlertSettings(models.Model):
    """Settings of a project's alerts."""

    project = models.OneToOneField(
        Project, models.CASCADE, primary_key=True, related_name="alert_settings"
    )
    sensitivity = models.CharField(
        max_length=6, choices=Sensitivity.choices, default=Sensitivity.LOW
    )

    class Meta:
        verbose_name_plural = "alert settings"
        constraints = [
            models.CheckConstraint(
                condition=Q(sensitivity__in=Sensitivity.values), name="alert_sensitivity_known"
            )
        ]

    def __str__(self) -> str:
        return f"{self.project_id}: {self.sensitivity}"


class AlertQuerySet(models.QuerySet["Alert"]):
    def in_project(self, project: Project) -> Self:
        """Return the project's alerts with the objects that lists show, without their charts."""
        alerts = self.filter(question__project=project).defer("chart")
        return alerts.select_related("question__project", "rater", "other_rater")

    def order_by_newest(self) -> Self:
        """Order by day of detection, newest first; within a day by number of items.

        Many alerts share a day when a history is imported.
        """
        return self.order_by("-detected_on", "-n", "-pk")


class Alert(models.Model):
    """An alert with the numbers at the time when it was raised.

    Only ``state``, ``cause``, ``muted_until`` and ``supported`` change afterwards, whatever is
    rated.
    """

    question = models.ForeignKey(Question, models.CASCADE, related_name="alerts", db_index=False)
    # Null: not about a single rater.
    rater = models.ForeignKey(
        Rater, models.CASCADE, null=True, blank=True, related_name="alerts", db_index=False
    )
    # The second rater of a pair, or of two raters one of whom changed.
    other_rater = models.ForeignKey(Rater, models.CASCADE, null=True, blank=True, related_name="+")
    code = models.SmallIntegerField(null=True, blank=True)  # of the affected category
    kind = models.CharField(max_length=20, choices=AlertKind.choices)
    measure = models.CharField(max_length=14, choices=AlertMeasure.choices)
    # Day of the onset, and its 95% interval.
    since = models.DateField()
    since_earliest = models.DateField()
    since_latest = models.DateField()
    # Day whose ratings reached the evidence threshold; created_at is when the row was created.
    detected_on = models.DateField()
    created_at = models.DateTimeField()
    # Size of the change, or the level, with its 95% interval, in units of the measure: kappa for
    # agreement, ranks for bias, shares for other measures.
    size = models.FloatField()
    low = models.FloatField()
    high = models.FloatField()
    n = models.PositiveIntegerField()  # items since the onset
    n_before = models.PositiveIntegerField()  # items before the onset, in the same segment
    evidence = models.FloatField()
    # Items that the change made wrong. The inbox ranks an alert about a rater by the rater's
    # impact instead (quality.inbox.inbox_entries).
    impact = models.FloatField(default=0.0, db_default=0.0)
    # Further data behind the alert: docs/api.md.
    facts = models.JSONField(default=dict)
    reason = models.CharField(max_length=40, blank=True)  # cannot_tell_who
    # {"days": [days since 1970-01-01], "n": [...], "means": [...], "evidence": [...]} by day (of a
    # rater) or week (of other kinds), at the time when it was raised.
    chart = models.JSONField(default=dict)
    state = models.CharField(max_length=12, choices=AlertState.choices, default=AlertState.OPEN)
    cause = models.CharField(max_length=9, choices=AlertCause.choices, blank=True)
    muted_until = models.DateField(
        null=True, blank=True
    )  # muted until this day; null: indefinitely
    # Whether current ratings still support it.
    supported = models.BooleanField(default=True)

    objects = AlertQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["question", "kind", "rater", "detected_on"],
                condition=Q(other_rater=None),
                name="alert_unique",
            ),
            models.CheckConstraint(condition=Q(kind__in=AlertKind.values), name="alert_kind_known"),
            models.CheckConstraint(
                condition=Q(measure__in=AlertMeasure.values), name="alert_measure_known"
            ),
            models.CheckConstraint(
                condition=Q(state__in=AlertState.values), name="alert_state_known"
            ),
            models.CheckConstraint(
                condition=Q(cause__in=["", *AlertCause.values]), name="alert_cause_known"
            ),
        ]
        indexes = [
            models.Index(
                fields=["question"], condition=Q(state=AlertState.OPEN.value), name="alert_open"
            ),
            models.Index(fields=["rater"], name="alert_by_rater"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} since {self.since}"

    @property
    def is_confirmed(self) -> bool:
        """Return whether a lead has confirmed the alert, but it is not resolved yet."""
        return self.state == AlertState.ACKNOWLEDGED and self.cause == AlertCause.REAL

    @property
    def raters(self) -> list[Rater]:
        """Return the raters that the alert is about: none, one or two."""
        return [rater for rater in (self.rater, self.other_rater) if rater is not None]

    def compute_own_impact(self) -> float:
        """Return the expected number of items that the change made wrong, at most ``n``."""
        share_wrong = 1.0 - self.size if self.measure in RIGHT_SHARES else min(abs(self.size), 1.0)
        return share_wrong * self.n


class AlertStep(models.Model):
    """A change of the state of an alert. Rows are never updated or deleted."""

    alert = models.ForeignKey(Alert, models.CASCADE, related_name="steps")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    at = models.DateTimeField()
    state = models.CharField(max_length=12, choices=AlertState.choices)
    cause = models.CharField(max_length=9, choices=AlertCause.choices, blank=True)
    muted_until = models.DateField(null=True, blank=True)
    reason = models.TextField(blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=AlertState.values), name="alert_step_state_known"
            )
        ]

    def __str__(self) -> str:
        return f"{self.alert_id}: {self.state}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("A step of an alert is written once and never changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("A step of an alert is never deleted.")


class AlertScan(RecomputedResult):
    """The last scan of a question for drift: one row per question.

    The worker that scans holds its lease.
    """

    question = models.OneToOneField(
        Question, models.CASCADE, primary_key=True, related_name="alert_scan"
    )
    n_ratings = models.PositiveIntegerField(default=0)
    # Why the question could not be scanned (too_many_comparisons, single_category); else empty.
    reason = models.CharField(max_length=40, blank=True)
    # Workload for the expected number of alerts (quality.alerts.sensitivity).
    volume = models.JSONField(default=dict)
    # Day on which time alone may raise an alert: further items then lack ratings. None: never.
    next_scan_on = models.DateField(null=True, blank=True)

    def __str__(self) -> str:
        return f"question {self.question_id}: {self.n_ratings} ratings"


class DriftState(models.Model):
    """Drift state of a rater in the segment since their last alert.

    ``measure``, ``since`` and the size are those of the measure with the most evidence; empty if no
    measure has any.
    """

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="+")
    evidence = models.FloatField()
    max_evidence = models.FloatField()
    watched = models.BooleanField()
    n = models.PositiveIntegerField()
    reason = models.CharField(max_length=40, blank=True)  # too_short, no_peers
    measure = models.CharField(max_length=14, choices=AlertMeasure.choices, blank=True)
    since = models.DateField(null=True, blank=True)
    size = models.FloatField(null=True, blank=True)
    low = models.FloatField(null=True, blank=True)
    high = models.FloatField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["question", "rater"], name="drift_state_unique")
        ]

    def __str__(self) -> str:
        return f"{self.rater_id}: {self.evidence:.0f}"


class RaterCheckQuerySet(models.QuerySet["RaterCheck"]):
    def recent(self) -> Self:
        """Return the checks of the last CHECKED_DAYS days."""
        since = timezone.now() - datetime.timedelta(days=CHECKED_DAYS)
        return self.filter(checked_at__gt=since)


class RaterCheck(models.Model):
    """The last time that a lead looked at the status of a rater in a question.

    The rater then leaves the inbox for CHECKED_DAYS days; the status stays.
    """

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="+")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    checked_at = models.DateTimeField()

    objects = RaterCheckQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["question", "rater"], name="rater_check_unique")
        ]

    def __str__(self) -> str:
        return f"{self.rater_id}: {self.checked_at:%Y-%m-%d}"
