"""Assignments of items to raters, their answers to hidden checks, and messages to them.

Check answers are answers to hidden gold, to exam items and to blind repeats.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from core.text import lower_first
from projects.models import Item, Question, Rater

from .rating import NO_CODE, JudgementBase, Revision


class CheckAnswerQuerySet(models.QuerySet):
    def current(self) -> CheckAnswerQuerySet:
        """Return the current check answers, without superseded and withdrawn ones."""
        return self.filter(is_current=True, code__gte=0)


class AssignmentQuerySet(models.QuerySet):
    def checks(self) -> AssignmentQuerySet:
        """Return the assignments that check a rater: hidden gold, blind repeats and exam items.

        For such an item the rater's answer is a check answer, not a rating. Served by the partial
        index.
        """
        return self.exclude(kind="")

    def selected_by_answers_in(self, project: Any) -> AssignmentQuerySet:
        """Return the project's assignments that were selected because of other raters' answers.

        Served by the partial index.
        """
        return self.filter(rater__project=project, planned=True)

    def skipped_or_flagged(self) -> AssignmentQuerySet:
        """Return the skips and flags that no lead has resolved yet, in all projects.

        Served by the partial index.
        """
        return self.filter(Q(state="skipped") | Q(flagged=True), resolved_at=None)

    def skipped_or_flagged_in(self, project: Any) -> AssignmentQuerySet:
        """Return the unresolved skips and flags of one project."""
        # "+ 0" makes SQLite start from the partial index instead of all items of the project.
        return self.skipped_or_flagged().alias(of=F("item__project") + 0).filter(of=project.pk)


class Assignment(models.Model):
    """An item that was assigned to a rater."""

    class Kind(models.TextChoices):
        """The purpose of the assignment.

        Leads see it; raters see it for exams only, because all assignments look alike on the
        annotation page.
        """

        ORDINARY = "", _("ordinary")
        # Its answer is a check answer instead of a rating, and it takes no slot of the item.
        GOLD = "gold", _("hidden gold")
        REPEAT = "repeat", _("blind repeat")
        EXAM = "exam", lower_first(_("Exam"))  # the rater knows

    class State(models.TextChoices):
        OPEN = "open", _("open")
        DONE = "done", _("done")
        SKIPPED = "skipped", _("skipped")
        # Never answered: the slot is free again, also for this rater.
        EXPIRED = "expired", _("expired")

    item = models.ForeignKey(Item, models.CASCADE, related_name="assignments")
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="assignments", db_index=False)
    state = models.CharField(max_length=7, choices=State.choices, default=State.OPEN)
    kind = models.CharField(
        max_length=6, choices=Kind.choices, default=Kind.ORDINARY, db_default="", blank=True
    )
    # True if the item was selected because of other raters' answers: by a planned order
    # (such as QueueOrder.PLANNED_LABELS) or beyond the overlap. Otherwise it was selected
    # independently of them, so its ratings are representative of the project's agreement.
    planned = models.BooleanField(default=False, db_default=False)
    # An open assignment holds one of the item's slots; after this time any request may expire it.
    leased_until = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    skip_reason = models.CharField(max_length=300, blank=True)
    flagged = models.BooleanField(default=False, db_default=False, help_text=_("Flag for the lead"))
    # When a lead resolved the skip or the flag: it is not listed any more.
    resolved_at = models.DateTimeField(null=True, blank=True)

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "rater"], name="assignment_unique"),
            models.CheckConstraint(
                condition=Q(state__in=["open", "done", "skipped", "expired"]),
                name="assignment_state_known",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["", "gold", "repeat", "exam"]), name="assignment_kind_valid"
            ),
            models.CheckConstraint(
                condition=Q(state="open") | Q(closed_at__isnull=False),
                name="assignment_closed_has_time",
            ),
        ]
        indexes = [
            # A rater's open assignments, and the assignment closed before a given one.
            models.Index(fields=["rater", "state", "closed_at"], name="assignment_by_rater"),
            # Expired leases. Contains open assignments only.
            models.Index(
                fields=["leased_until"], condition=Q(state="open"), name="assignment_open"
            ),
            # A rater's check answers, and how often a gold item was shown.
            models.Index(fields=["rater", "item"], condition=~Q(kind=""), name="assignment_check"),
            models.Index(fields=["item"], condition=Q(kind="gold"), name="assignment_gold"),
            # Ratings that were requested because of other raters' answers.
            models.Index(
                fields=["rater", "item"], condition=Q(planned=True), name="assignment_planned"
            ),
            # Skipped and flagged items (the lead's list).
            models.Index(
                fields=["closed_at"],
                condition=Q(state="skipped") | Q(flagged=True),
                name="assignment_skipped_flagged",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id} on {self.item_id}: {self.state}"


class RaterQueue(models.Model):
    """A rater's position in the queue. Locking the row serializes the rater's requests."""

    rater = models.OneToOneField(Rater, models.CASCADE, primary_key=True, related_name="queue")
    # Id of the item that was assigned last: the search for the next one starts after it.
    last_item_id = models.BigIntegerField(default=0)
    n_assigned = models.PositiveIntegerField(default=0)
    # When the rater last submitted or skipped: the next item has been visible since then.
    last_closed_at = models.DateTimeField(null=True, blank=True)
    # Items a day that the rater wants to reach; only the rater sees it.
    daily_goal = models.PositiveSmallIntegerField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.rater_id} at {self.last_item_id}"


class CheckAnswer(JudgementBase):
    """A rater's answer to an item that checks the rater. It is not a rating.

    It does not affect the project's agreement, the item's slots or the rater's earlier rating.
    Changes add rows; the row with ``is_current`` set is the current answer. Columns that a rating
    also has mean the same here.
    """

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(Item, models.CASCADE, related_name="check_answers")
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="check_answers", db_index=False)
    kind = models.CharField(max_length=6, choices=Assignment.Kind.choices)
    # Of a repeat: the code of the rater's rating at the time of the repeat.
    rated_code = models.SmallIntegerField(null=True, blank=True)
    rated_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    seconds = models.FloatField(null=True, blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    source = models.CharField(max_length=10, choices=Revision.Source.choices)
    is_current = models.BooleanField(default=True)

    objects = CheckAnswerQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "check answers"
        constraints = [
            models.UniqueConstraint(
                fields=["question", "item", "rater"],
                condition=Q(is_current=True),
                name="check_answer_one_current",
            ),
            models.CheckConstraint(condition=Q(code__gte=NO_CODE), name="check_answer_code_valid"),
            models.CheckConstraint(
                condition=Q(kind__in=["gold", "repeat", "exam"]), name="check_answer_kind_valid"
            ),
            models.CheckConstraint(
                condition=Q(seconds__isnull=True) | Q(seconds__gte=0),
                name="check_answer_seconds_valid",
            ),
        ]
        indexes = [
            # A rater's own check answers, newest first (as the index of ratings).
            models.Index(fields=["rater", "-changed_at"], name="check_answer_by_rater"),
            # Check answers added since the last computation (input version of gold scores).
            models.Index(fields=["question", "kind", "id"], name="check_answer_by_question"),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id} on {self.item_id}, {self.kind}: {self.code}"


class RaterMessage(models.Model):
    """A message to one rater, shown on the annotation page until the rater marks it as read."""

    rater = models.ForeignKey(Rater, models.CASCADE, related_name="messages")
    text = models.TextField()
    sender = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    sent_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=~Q(text=""), name="rater_message_text_given"),
        ]

    def __str__(self) -> str:
        return f"to rater {self.rater_id}"

    @property
    def sender_name(self) -> str:
        """Return the name of the sender; empty if the account was deleted."""
        return (
            "" if self.sender is None else self.sender.get_full_name() or self.sender.get_username()
        )
