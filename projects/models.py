"""What is judged, and by whom."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from .querysets import ProjectQuerySet


class QueueOrder(models.TextChoices):
    FIXED = "fixed", _("the order in which items were added")
    RANDOM = "random", _("random, another order for each rater")


class Project(models.Model):
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    guidelines = models.TextField(blank=True, help_text=_("Markdown"))
    # The number of the version that ``guidelines`` is (0: none was ever written); moved by projects.setup.actions
    # alone.
    guidelines_version = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)
    overlap = models.PositiveSmallIntegerField(default=3, help_text=_("Ratings wanted per item"))
    # In which order a rater is asked (ratings.desk.queue).
    queue_order = models.CharField(
        max_length=6, choices=QueueOrder.choices, default=QueueOrder.FIXED, db_default=QueueOrder.FIXED
    )
    corrections = models.BooleanField(default=True, db_default=True, help_text=_("Raters may change their own ratings"))
    # Days, weeks and months of the trend are those of this zone.
    time_zone = models.CharField(max_length=64, default="UTC")
    # Rises when items, or raters' kinds or groups, change: what was computed of a choice of them is old then.
    catalogue_version = models.PositiveBigIntegerField(default=0, db_default=0, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")

    objects = ProjectQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(name=""), name="project_name_given"),
            models.CheckConstraint(condition=Q(overlap__gte=1), name="project_overlap_positive"),
            models.CheckConstraint(condition=Q(queue_order__in=QueueOrder.values), name="project_queue_order_known"),
        ]

    def __str__(self) -> str:
        return self.name


class GuidelineVersion(models.Model):
    """What a project's guidelines said from ``made_at`` on. Written once, never changed; numbers count from 1."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="guideline_versions", db_index=False)
    number = models.PositiveSmallIntegerField()
    text = models.TextField(blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
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


class Scale(models.TextChoices):
    NOMINAL = "nominal", _("nominal")
    ORDINAL = "ordinal", _("ordinal")
    INTERVAL = "interval", _("interval")
    RATIO = "ratio", _("ratio")


class Weights(models.TextChoices):
    NONE = "none", _("none")
    LINEAR = "linear", _("linear")
    QUADRATIC = "quadratic", _("quadratic")
    CUSTOM = "custom", _("custom")


class Question(models.Model):
    project = models.ForeignKey(Project, models.CASCADE, related_name="questions")
    key = models.CharField(max_length=64)
    text = models.CharField(max_length=500)
    position = models.PositiveSmallIntegerField(default=0)
    scale = models.CharField(max_length=10, choices=Scale.choices, default=Scale.NOMINAL)
    weights = models.CharField(max_length=10, choices=Weights.choices, default=Weights.NONE)
    # Rows and columns in the order of the categories' positions.
    weight_matrix = models.JSONField(null=True, blank=True)
    # Rises with every change of scale, categories or weights: readings made under an older one are made anew.
    scale_version = models.PositiveIntegerField(default=1, editable=False)

    class Meta:
        ordering = ["position", "id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="question_key_unique"),
            models.CheckConstraint(condition=~Q(key=""), name="question_key_given"),
            models.CheckConstraint(condition=Q(scale__in=Scale.values), name="question_scale_known"),
            models.CheckConstraint(condition=Q(weights__in=Weights.values), name="question_weights_known"),
            models.CheckConstraint(
                condition=~Q(weights=Weights.CUSTOM) | Q(weight_matrix__isnull=False), name="question_custom_has_matrix"
            ),
        ]

    def __str__(self) -> str:
        return self.text or self.key

    def active_categories(self, known: Iterable[Category] | None = None) -> list[Category]:
        """The declared categories in their declared order; of ``known``, all that the question ever had, or of a
        prefetched ``categories``, where there is one."""
        known = self.categories.all() if known is None else known
        return sorted((c for c in known if not c.retired), key=lambda c: (c.position, c.code))


class Category(models.Model):
    """One answer of a question. ``code`` never changes and is never used again; order is ``position`` alone."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="categories")
    code = models.PositiveSmallIntegerField()
    label = models.CharField(max_length=200)
    position = models.PositiveSmallIntegerField()
    value = models.FloatField(null=True, blank=True, help_text=_("Its number on an interval or ratio scale"))
    hotkey = models.CharField(max_length=1, blank=True)
    # A removed category keeps its row: history names it.
    retired = models.BooleanField(default=False)

    class Meta:
        ordering = ["position", "code"]
        verbose_name_plural = _("categories")
        constraints = [
            models.UniqueConstraint(fields=["question", "code"], name="category_code_unique"),
            models.UniqueConstraint(
                fields=["question", "label"], condition=Q(retired=False), name="category_label_unique"
            ),
            models.UniqueConstraint(
                fields=["question", "hotkey"],
                condition=Q(retired=False) & ~Q(hotkey=""),
                name="category_hotkey_unique",
            ),
            models.CheckConstraint(condition=~Q(label=""), name="category_label_given"),
        ]

    def __str__(self) -> str:
        return self.label


class Item(models.Model):
    project = models.ForeignKey(Project, models.CASCADE, related_name="items")
    key = models.CharField(max_length=255)
    body = models.JSONField(default=dict, blank=True)
    attributes = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    # How many raters have rated the item or are rating it now: kept by ratings.recording.places alone, exact below the
    # overlap.
    places_taken = models.PositiveIntegerField(default=0, db_default=0, editable=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="item_key_unique"),
            models.CheckConstraint(condition=~Q(key=""), name="item_key_given"),
        ]
        indexes = [
            # "Which items with so many places taken come after this one?" (ratings.desk.queue)
            models.Index(fields=["project", "places_taken", "id"], name="item_by_places"),
        ]

    def __str__(self) -> str:
        return self.key


class Rater(models.Model):
    class Kind(models.TextChoices):
        HUMAN = "human", _("human")
        MODEL = "model", _("model")

    project = models.ForeignKey(Project, models.CASCADE, related_name="raters")
    key = models.CharField(max_length=150)
    name = models.CharField(max_length=200, blank=True)
    kind = models.CharField(max_length=5, choices=Kind.choices, default=Kind.HUMAN)
    group = models.CharField(max_length=64, blank=True, db_default="", help_text=_("A team or vendor, to filter by"))
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="raters")
    # A paused rater gets no items; what they rated counts on.
    paused = models.BooleanField(default=False)

    class Meta:
        ordering = ["key"]
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="rater_key_unique"),
            models.UniqueConstraint(
                fields=["project", "user"], condition=Q(user__isnull=False), name="rater_user_unique"
            ),
            models.CheckConstraint(condition=~Q(key=""), name="rater_key_given"),
            models.CheckConstraint(condition=Q(kind__in=["human", "model"]), name="rater_kind_known"),
        ]

    def __str__(self) -> str:
        return self.name or self.key


class Member(models.Model):
    class Role(models.TextChoices):
        LEAD = "lead", _("lead")
        ANNOTATOR = "annotator", _("annotator")
        VIEWER = "viewer", _("viewer")

    project = models.ForeignKey(Project, models.CASCADE, related_name="members")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "user"], name="member_user_unique"),
            models.CheckConstraint(condition=Q(role__in=["lead", "annotator", "viewer"]), name="member_role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user} ({self.role})"


class ApiToken(models.Model):
    """A key to the API. Only its SHA-256 is stored; it acts as its user, narrowed to a project and to reading."""

    class Scope(models.TextChoices):
        READ = "read", _("read")
        WRITE = "write", _("write")

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    project = models.ForeignKey(Project, models.CASCADE, null=True, blank=True, related_name="api_tokens")
    scope = models.CharField(max_length=5, choices=Scope.choices, default=Scope.WRITE)
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(scope__in=["read", "write"]), name="token_scope_known"),
            models.CheckConstraint(
                condition=Q(expires_at__isnull=True) | Q(expires_at__gt=F("created_at")), name="token_expires_later"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.prefix}… ({self.scope})"
