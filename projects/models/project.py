"""A project and what its guidelines said when."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from projects.querysets import ProjectQuerySet


class QueueOrder(models.TextChoices):
    FIXED = "fixed", _("the order in which items were added")
    RANDOM = "random", _("random, another order for each rater")
    LABELS = "labels", _("planned: what makes labels sure soonest")
    NARROW = "narrow", _("planned: what makes the interval of kappa narrow soonest")

    @property
    def planned(self) -> bool:
        """The items to come first are chosen by what was said so far."""
        return self in (QueueOrder.LABELS, QueueOrder.NARROW)


class BandScheme(models.TextChoices):
    """Whose words say what the size of a coefficient means (metrics.agreement.explain.bands)."""

    LANDIS_KOCH = "landis_koch", _("Landis & Koch 1977")
    FLEISS = "fleiss", _("Fleiss 1981")
    ALTMAN = "altman", _("Altman 1991")
    CICCHETTI = "cicchetti", _("Cicchetti 1994")
    KRIPPENDORFF = "krippendorff", _("Krippendorff 2004")


class Project(models.Model):
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    guidelines = models.TextField(blank=True, help_text=_("Markdown"))
    # The number of the version that ``guidelines`` is (0: none was ever written); moved by
    # projects.services.projects alone.
    guidelines_version = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)
    overlap = models.PositiveSmallIntegerField(default=3, help_text=_("Ratings wanted per item"))
    # In which order a rater is asked (ratings.annotation.assignments.queue).
    queue_order = models.CharField(
        max_length=6,
        choices=QueueOrder.choices,
        default=QueueOrder.FIXED,
        db_default=QueueOrder.FIXED,
    )
    corrections = models.BooleanField(
        default=True, db_default=True, help_text=_("Raters may change their own ratings")
    )
    # What tests raters unseen, of a hundred items that the desk asks: hidden gold, and items that
    # the rater rated before, so many of their own items and days ago (ratings.annotation.assignments.hidden_checks).
    gold_percent = models.PositiveSmallIntegerField(default=0, db_default=0)
    repeat_percent = models.PositiveSmallIntegerField(default=0, db_default=0)
    repeat_after_items = models.PositiveSmallIntegerField(default=50, db_default=50)
    repeat_after_days = models.PositiveSmallIntegerField(default=7, db_default=7)
    band_scheme = models.CharField(
        max_length=12,
        choices=BandScheme.choices,
        default=BandScheme.LANDIS_KOCH,
        db_default=BandScheme.LANDIS_KOCH,
    )
    # What agreement is to reach in this project; null: no bar is set.
    bar = models.FloatField(null=True, blank=True)
    # Days, weeks and months of the trend are those of this zone.
    time_zone = models.CharField(max_length=64, default="UTC")
    # Rises when items, or raters' kinds or groups, change: what was computed of a choice of them is
    # old then.
    catalogue_version = models.PositiveBigIntegerField(default=0, db_default=0, editable=False)
    # Leads see pseudonyms; who stands behind them is kept apart (RaterIdentity).
    raters_hidden = models.BooleanField(default=False, db_default=False, editable=False)
    # A project that rests: nobody rates in it, and lists show it apart.
    archived_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    objects = ProjectQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(name=""), name="project_name_given"),
            models.CheckConstraint(condition=Q(overlap__gte=1), name="project_overlap_positive"),
            models.CheckConstraint(
                condition=Q(queue_order__in=QueueOrder.values), name="project_queue_order_known"
            ),
            models.CheckConstraint(
                condition=Q(gold_percent__lte=50, repeat_percent__lte=20),
                name="project_tests_are_few",
            ),
            models.CheckConstraint(
                condition=Q(repeat_after_items__gte=10, repeat_after_items__lte=10_000)
                & Q(repeat_after_days__lte=365),
                name="project_repeats_keep_distance",
            ),
            models.CheckConstraint(
                condition=Q(band_scheme__in=BandScheme.values), name="project_band_scheme_known"
            ),
            models.CheckConstraint(
                condition=Q(bar__isnull=True) | Q(bar__gt=0, bar__lte=1),
                name="project_bar_reachable",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class GuidelineVersion(models.Model):
    """What a project's guidelines said from ``made_at`` on. Written once, never changed; numbers
    count from 1."""

    project = models.ForeignKey(
        Project, models.CASCADE, related_name="guideline_versions", db_index=False
    )
    number = models.PositiveSmallIntegerField()
    text = models.TextField(blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    made_at = models.DateTimeField()

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["project", "number"], name="guideline_version_unique"),
            models.CheckConstraint(condition=Q(number__gte=1), name="guideline_version_counted"),
        ]

    def __str__(self) -> str:
        return f"{self.project_id}: {self.number}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("A version of guidelines is written once and never changed.")
        super().save(*args, **kwargs)
