"""The judgements."""

from __future__ import annotations

from typing import Any, NoReturn

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from projects.models import Item, Project, Question, Rater

from .querysets import UNCOUNTED, AssignmentQuerySet, RatingQuerySet

NOTHING = -1  # the code of a withdrawn or never counted rating


class Rating(models.Model):
    """What a rater says now about an item.

    ``code`` is the category's code (-1: withdrawn); ``counted`` is the code that the stored counts hold (-1: nothing).
    ``day`` is the day of ``rated_at`` in the project's time zone, in days since 1970-01-01; ``counted_day`` the day
    under which the counts hold it. The rating is uncounted while either pair differs (docs/architecture.md, idea 2).
    """

    question = models.ForeignKey(Question, models.PROTECT, related_name="ratings", db_index=False)
    item = models.ForeignKey(Item, models.PROTECT, related_name="ratings", db_index=False)
    rater = models.ForeignKey(Rater, models.PROTECT, related_name="ratings", db_index=False)
    code = models.SmallIntegerField()
    counted = models.SmallIntegerField(default=NOTHING)
    rated_at = models.DateTimeField(help_text=_("When the rater first gave this rating"))
    changed_at = models.DateTimeField()
    day = models.IntegerField()
    counted_day = models.IntegerField(default=0)
    seconds = models.FloatField(null=True, blank=True, help_text=_("Time spent on the item's form"))
    comment = models.TextField(blank=True)
    # The number of the guidelines it was given under; empty where nobody knows (ratings.recording.guideline_stamp).
    guidelines = models.PositiveSmallIntegerField(null=True, blank=True)

    objects = RatingQuerySet.as_manager()

    class Meta:
        constraints = [
            # Also serves: all ratings of an item, and of a range of items, of one question.
            models.UniqueConstraint(fields=["question", "item", "rater"], name="rating_unique"),
            models.CheckConstraint(condition=Q(code__gte=NOTHING), name="rating_code_valid"),
            models.CheckConstraint(condition=Q(counted__gte=NOTHING), name="rating_counted_valid"),
            models.CheckConstraint(condition=Q(seconds__isnull=True) | Q(seconds__gte=0), name="rating_seconds_valid"),
        ]
        indexes = [
            # "What is left to count?": holds only the uncounted rows, so it is nearly empty and nearly free. SQLite's
            # alone: PostgreSQL has notes instead (ratings.recording.waiting).
            models.Index(fields=["question", "item"], condition=UNCOUNTED, name="rating_uncounted"),
            # A rater's own ratings, newest first (My ratings, rater page).
            models.Index(fields=["rater", "-changed_at"], name="rating_by_rater"),
            # An item's ratings over all questions (item page, deletes).
            models.Index(fields=["item"], name="rating_by_item"),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id} on {self.item_id}: {self.code}"


class UncountedItem(models.Model):
    """PostgreSQL's note that a statement left a rating of this item uncounted. Triggers write it
    (ratings.recording.waiting)."""

    # No foreign keys: a note of what is gone is thrown away when it is read.
    question_id = models.BigIntegerField()
    item_id = models.BigIntegerField()
    ratings = models.IntegerField()  # so many uncounted ones

    class Meta:
        indexes = [models.Index(fields=["question_id", "item_id"], name="uncounted_item")]

    def __str__(self) -> str:
        return f"{self.item_id} of {self.question_id}"


class Revision(models.Model):
    """One line of a rating's history. Written once, never changed."""

    class Source(models.TextChoices):
        FORM = "form", _("form")
        API = "api", _("API")
        IMPORT = "import", _("import")
        EXAMPLE = "example", _("example")

    rating = models.ForeignKey(Rating, models.PROTECT, related_name="revisions")
    code = models.SmallIntegerField()
    rated_at = models.DateTimeField()
    recorded_at = models.DateTimeField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    source = models.CharField(max_length=10, choices=Source.choices)
    comment = models.TextField(blank=True)
    # A line that a file repeated for the same item and rater: kept, but it never stood.
    superseded = models.BooleanField(default=False)
    guidelines = models.PositiveSmallIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(code__gte=NOTHING), name="revision_code_valid"),
            models.CheckConstraint(
                condition=Q(source__in=["form", "api", "import", "example"]), name="revision_source_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rating_id}: {self.code} at {self.recorded_at:%Y-%m-%d %H:%M}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("A revision is written once and never changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("A revision is never deleted.")


class Assignment(models.Model):
    """An item that a rater has been asked to rate."""

    class State(models.TextChoices):
        OPEN = "open", _("open")
        DONE = "done", _("done")
        SKIPPED = "skipped", _("skipped")
        # Never answered: the place is free again, for this rater too.
        EXPIRED = "expired", _("expired")

    item = models.ForeignKey(Item, models.CASCADE, related_name="assignments")
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="assignments", db_index=False)
    state = models.CharField(max_length=7, choices=State.choices, default=State.OPEN)
    # An open assignment holds one of the item's places; after this time whoever looks may close it.
    leased_until = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    skip_reason = models.CharField(max_length=300, blank=True)
    flagged = models.BooleanField(default=False, db_default=False, help_text=_("The rater asks the lead to look at it"))

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "rater"], name="assignment_unique"),
            models.CheckConstraint(
                condition=Q(state__in=["open", "done", "skipped", "expired"]), name="assignment_state_known"
            ),
            models.CheckConstraint(
                condition=Q(state="open") | Q(closed_at__isnull=False), name="assignment_closed_has_time"
            ),
        ]
        indexes = [
            # "What has this rater open? What was done before this one?"
            models.Index(fields=["rater", "state", "closed_at"], name="assignment_by_rater"),
            # "Whose time is over?" Holds only the open ones.
            models.Index(fields=["leased_until"], condition=Q(state="open"), name="assignment_open"),
            # "What did raters put aside?" (the lead's list)
            models.Index(
                fields=["closed_at"], condition=Q(state="skipped") | Q(flagged=True), name="assignment_set_aside"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id} on {self.item_id}: {self.state}"


class DayMove(models.Model):
    """A project whose time zone changed and whose ratings are not all on their new days yet
    (ratings.recording.day_moves).

    The ratings up to this one, in the order (question, item, rater), are.
    """

    project = models.OneToOneField(Project, models.CASCADE, primary_key=True, related_name="+")
    question = models.BigIntegerField(default=0)
    item = models.BigIntegerField(default=0)
    rater = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.project_id} up to {self.question}, {self.item}, {self.rater}"


class Desk(models.Model):
    """Where a rater's queue stands. Locking the row makes the rater's own requests take turns."""

    rater = models.OneToOneField(Rater, models.CASCADE, primary_key=True, related_name="desk")
    # The item that was handed out last: the search for the next one goes on behind it.
    position = models.BigIntegerField(default=0)
    handed_out = models.PositiveIntegerField(default=0)
    # When the rater last answered or skipped: the next item is before their eyes since then.
    last_closed_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.rater_id} at {self.position}"


class ImportRun(models.Model):
    """One file on its way into a question, resumable: ``rows_done`` is committed with the rows it speaks of.

    ``project`` and ``question`` are empty until the lead presses Import, when the file is to become a new one.
    """

    class State(models.TextChoices):
        MAPPING = "mapping", _("choosing columns")
        CHECKING = "checking", _("checking")
        REFUSED = "refused", _("has problems")
        CHECKED = "checked", _("ready")
        WRITING = "writing", _("importing")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")

    project = models.ForeignKey(Project, models.CASCADE, null=True, blank=True, related_name="imports")
    question = models.ForeignKey(Question, models.CASCADE, null=True, blank=True, related_name="imports")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    file_name = models.CharField(max_length=200)
    # Server-made path below DATA_DIR; the uploaded name is only shown.
    path = models.CharField(max_length=300)
    state = models.CharField(max_length=8, choices=State.choices, default=State.MAPPING)
    mapping = models.JSONField(default=dict)
    problems = models.JSONField(default=list)
    summary = models.JSONField(default=dict)
    rows_total = models.PositiveIntegerField(default=0)
    rows_done = models.PositiveIntegerField(default=0)
    # How far the check has come in the file.
    bytes_total = models.PositiveBigIntegerField(default=0)
    bytes_read = models.PositiveBigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    # A run that is being worked on and has not been heard of for a while is taken up again by the sweep.
    heartbeat_at = models.DateTimeField(auto_now_add=True)
    # The worker that has the run in its hands: nobody else may write for it (ratings.importing.leases).
    lease = models.CharField(max_length=32, blank=True)
    # Failures in a row without any progress between them.
    attempts = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["mapping", "checking", "refused", "checked", "writing", "done", "failed"]),
                name="import_state_known",
            ),
            models.CheckConstraint(condition=Q(rows_done__lte=F("rows_total")), name="import_progress_bounded"),
            models.CheckConstraint(
                condition=~Q(state__in=["writing", "done"]) | Q(project__isnull=False, question__isnull=False),
                name="import_writes_into_question",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.file_name} ({self.state})"
