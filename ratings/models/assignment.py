"""Who is asked to rate what."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from projects.models import Item, Rater
from ratings.querysets import AssignmentQuerySet


class Assignment(models.Model):
    """An item that a rater has been asked to rate."""

    class Why(models.TextChoices):
        """What the lead knows of it and the rater does not, but for exams: they look alike at the
        desk."""

        ORDINARY = "", _("ordinary")
        # What the rater says of it stands apart (ratings.models.Apart), and it takes no place.
        GOLD = "gold", _("hidden gold")
        REPEAT = "repeat", _("blind repeat")
        EXAM = "exam", _("exam")  # openly

    class State(models.TextChoices):
        OPEN = "open", _("open")
        DONE = "done", _("done")
        SKIPPED = "skipped", _("skipped")
        # Never answered: the place is free again, for this rater too.
        EXPIRED = "expired", _("expired")

    item = models.ForeignKey(Item, models.CASCADE, related_name="assignments")
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="assignments", db_index=False)
    state = models.CharField(max_length=7, choices=State.choices, default=State.OPEN)
    why = models.CharField(
        max_length=6, choices=Why.choices, default=Why.ORDINARY, db_default="", blank=True
    )
    # Whether it was chosen for what others had said of it: by a planned order (QueueOrder.LABELS)
    # or beyond the overlap. Else it was drawn without regard to that, and says what raters agree on
    # in such items at large.
    planned = models.BooleanField(default=False, db_default=False)
    # An open assignment holds one of the item's places; after this time whoever looks may close it.
    leased_until = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    skip_reason = models.CharField(max_length=300, blank=True)
    flagged = models.BooleanField(
        default=False, db_default=False, help_text=_("The rater asks the lead to look at it")
    )

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "rater"], name="assignment_unique"),
            models.CheckConstraint(
                condition=Q(state__in=["open", "done", "skipped", "expired"]),
                name="assignment_state_known",
            ),
            models.CheckConstraint(
                condition=Q(why__in=["", "gold", "repeat", "exam"]), name="assignment_why_known"
            ),
            models.CheckConstraint(
                condition=Q(state="open") | Q(closed_at__isnull=False),
                name="assignment_closed_has_time",
            ),
        ]
        indexes = [
            # "What has this rater open? What was done before this one?"
            models.Index(fields=["rater", "state", "closed_at"], name="assignment_by_rater"),
            # "Whose time is over?" Holds only the open ones.
            models.Index(
                fields=["leased_until"], condition=Q(state="open"), name="assignment_open"
            ),
            # "What stands apart of this rater?", and "how often was this gold shown?"
            models.Index(fields=["rater", "item"], condition=~Q(why=""), name="assignment_apart"),
            models.Index(fields=["item"], condition=Q(why="gold"), name="assignment_gold"),
            # "Which ratings were asked for because of what others had said?"
            models.Index(
                fields=["rater", "item"], condition=Q(planned=True), name="assignment_planned"
            ),
            # "What did raters put aside?" (the lead's list)
            models.Index(
                fields=["closed_at"],
                condition=Q(state="skipped") | Q(flagged=True),
                name="assignment_set_aside",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id} on {self.item_id}: {self.state}"


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
