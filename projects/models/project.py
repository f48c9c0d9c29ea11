"""Projects, versions of their guidelines, approvals of a second person, records of deletions."""

from __future__ import annotations

import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from core.text import lower_first

from .roles import Capability, may


class ProjectQuerySet(models.QuerySet):
    def increment_items_and_raters_version(self) -> None:
        """Record that items or raters of these projects changed.

        Call this in the transaction that changes them.
        """
        self.update(items_and_raters_version=models.F("items_and_raters_version") + 1)

    def visible_to(self, user: Any) -> ProjectQuerySet:
        """Return the projects that ``user`` is a member of.

        These are all for a superuser, and none for a stranger.
        """
        if not user.is_authenticated:
            return self.none()
        if user.is_superuser:
            return self
        return self.filter(members__user=user)


class QueueOrder(models.TextChoices):
    """The order in which items are given to raters."""

    FIXED = "fixed", _("order added")
    RANDOM = "random", _("random, different for each rater")
    PLANNED_LABELS = "plan_labels", _("planned: reach certain labels soonest")
    PLANNED_INTERVAL = (
        "plan_interval",
        _("planned: narrow the kappa interval soonest"),
    )

    @property
    def is_planned(self) -> bool:
        """True if the next items are chosen by the ratings that items have so far."""
        return self in (QueueOrder.PLANNED_LABELS, QueueOrder.PLANNED_INTERVAL)


class BandScheme(models.TextChoices):
    """A published scale of words, such as "substantial", for the size of a coefficient.

    See metrics.agreement.explain.bands.
    """

    LANDIS_KOCH = "landis_koch", _("Landis & Koch 1977")
    FLEISS = "fleiss", _("Fleiss 1981")
    ALTMAN = "altman", _("Altman 1991")
    CICCHETTI = "cicchetti", _("Cicchetti 1994")
    KRIPPENDORFF = "krippendorff", _("Krippendorff 2004")


class Project(models.Model):
    """A set of items and questions, with its members, raters and settings."""

    role: str | None = None  # of the caller, where projects.permissions fetched the project

    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    guidelines = models.TextField(blank=True, help_text=_("Markdown"))
    # Version number of ``guidelines`` (0: never written); changed by
    # projects.services.projects only.
    guidelines_version = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)
    overlap = models.PositiveSmallIntegerField(default=3, help_text=_("Ratings per item"))
    # Read by ratings.annotation.assignments.queue.
    queue_order = models.CharField(
        max_length=13,
        choices=QueueOrder.choices,
        default=QueueOrder.FIXED,
        db_default=QueueOrder.FIXED,
    )
    allows_corrections = models.BooleanField(
        default=True, db_default=True, help_text=_("Raters can change their own ratings")
    )
    # Hidden quality checks, as percentages of a rater's items: gold items, and repeats of items
    # that the rater rated at least this many items and days ago
    # (ratings.annotation.assignments.hidden_checks).
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
    # The agreement that the project should reach; null: no threshold.
    target_agreement = models.FloatField(null=True, blank=True)
    # The attribute whose value items of one cluster share (a document, a conversation); intervals
    # then take into account that they are alike. Empty: all items are independent.
    cluster_attribute = models.CharField(max_length=100, blank=True, default="", db_default="")
    # Words by which the list of projects is searched, separated by commas.
    tags = models.CharField(max_length=520, blank=True, default="", db_default="")
    # Time zone of the trend's days, weeks and months.
    time_zone = models.CharField(max_length=64, default="UTC")
    # Incremented when items, or raters' kinds or groups, change: filtered results computed before
    # are out of date then.
    items_and_raters_version = models.PositiveBigIntegerField(
        default=0, db_default=0, editable=False
    )
    # True if leads see pseudonyms; the true names are in RaterIdentity.
    hides_raters = models.BooleanField(default=False, db_default=False, editable=False)
    # Set for an archived project: nobody rates in it, and it is listed separately.
    archived_at = models.DateTimeField(null=True, blank=True, editable=False)
    # True for a sample or textbook project, which lists, inbox, mails and raters leave out.
    is_example = models.BooleanField(default=False, db_default=False, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    objects = ProjectQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(name=""), name="project_name_not_empty"),
            models.CheckConstraint(condition=Q(overlap__gte=1), name="project_overlap_positive"),
            models.CheckConstraint(
                condition=Q(queue_order__in=QueueOrder.values), name="project_queue_order_valid"
            ),
            models.CheckConstraint(
                condition=Q(gold_percent__lte=50, repeat_percent__lte=20),
                name="project_quality_check_percentages",
            ),
            models.CheckConstraint(
                condition=Q(repeat_after_items__gte=10, repeat_after_items__lte=10_000)
                & Q(repeat_after_days__lte=365),
                name="project_repeat_distance",
            ),
            models.CheckConstraint(
                condition=Q(band_scheme__in=BandScheme.values), name="project_band_scheme_valid"
            ),
            models.CheckConstraint(
                condition=Q(target_agreement__isnull=True)
                | Q(target_agreement__gt=0, target_agreement__lte=1),
                name="project_target_agreement_range",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def tag_list(self) -> list[str]:
        return self.tags.split(", ") if self.tags else []

    @property
    def can_rate(self) -> bool:
        """Return whether the user for whom the project was loaded (``role``) may rate."""
        return may(self.role, Capability.RATE)

    @property
    def can_see_results(self) -> bool:
        return may(self.role, Capability.SEE_RESULTS)

    @property
    def can_review(self) -> bool:
        return may(self.role, Capability.REVIEW)

    @property
    def can_manage(self) -> bool:
        return may(self.role, Capability.MANAGE)


class GuidelineVersion(models.Model):
    """The text of a project's guidelines from ``created_at`` on.

    Written once, never changed; numbers count from 1.
    """

    project = models.ForeignKey(
        Project, models.CASCADE, related_name="guideline_versions", db_index=False
    )
    number = models.PositiveSmallIntegerField()
    text = models.TextField(blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()

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


class Deletion(models.Model):
    """A permanent deletion of an item, a rater, a project or personal data.

    Personal data are those of the person behind a rater whose ratings stay. The row records how
    much was deleted, but none of the content. ``finished_at`` is null until the deletion is
    complete.
    """

    class Kind(models.TextChoices):
        ITEM = "item", lower_first(_("Item"))
        RATER = "rater", _("rater")
        PROJECT = "project", lower_first(_("Project"))
        PERSON = "person", _("person behind rater")

    kind = models.CharField(max_length=7, choices=Kind.choices)
    # The id of the deleted object.
    target = models.BigIntegerField()
    # Null when the project itself has been deleted.
    project = models.ForeignKey(
        Project, models.SET_NULL, null=True, blank=True, related_name="deletions"
    )
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    requested_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    # Kind of object -> number deleted: items, raters, ratings, history entries ...
    counts = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=["item", "rater", "project", "person"]),
                name="deletion_kind_valid",
            ),
            # One unfinished deletion per object.
            models.UniqueConstraint(
                fields=["kind", "target"],
                condition=Q(finished_at__isnull=True),
                name="deletion_unfinished",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.target}"


APPROVAL_LIFETIME = datetime.timedelta(hours=24)  # after the approval, for one use


class Approval(models.Model):
    """A request to approve an action in a project, and what another person decided.

    Rows are needed only with the setting SECOND_PERSON (projects.services.approvals).
    """

    class Action(models.TextChoices):
        DELETE_PROJECT = "delete_project", _("Delete the project")
        DISCLOSE_RATERS = "disclose_raters", _("Show the raters' identities")
        RESTORE_RATERS = "restore_raters", _("Restore rater names")
        SHARE_NAMES = "share_names", _("Share a view with names")

    class State(models.TextChoices):
        OPEN = "open", pgettext_lazy("a request", "Open")
        APPROVED = "approved", _("Approved")
        REJECTED = "rejected", _("Rejected")

    project = models.ForeignKey(Project, models.CASCADE, related_name="approvals")
    action = models.CharField(max_length=15, choices=Action.choices)
    reason = models.CharField(max_length=500)
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    requested_at = models.DateTimeField()
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    action__in=[
                        "delete_project",
                        "disclose_raters",
                        "restore_raters",
                        "share_names",
                    ]
                ),
                name="approval_action_known",
            ),
            models.CheckConstraint(
                condition=Q(state="open", decided_at=None)
                | Q(state__in=["approved", "rejected"], decided_at__isnull=False),
                name="approval_state_known",
            ),
            models.CheckConstraint(
                condition=Q(used_at=None) | Q(state="approved"), name="approval_used_if_approved"
            ),
            models.UniqueConstraint(
                fields=["project", "action", "requested_by"],
                condition=Q(state="open"),
                name="approval_open_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action}: {self.state}"

    @property
    def valid_until(self) -> datetime.datetime | None:
        """Time until which the approval can be used; None if the request is not approved."""
        if self.state != self.State.APPROVED or self.decided_at is None:
            return None
        return self.decided_at + APPROVAL_LIFETIME
