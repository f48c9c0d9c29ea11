"""Uncertain labels: rules, requested ratings, decisions, appeals against them, second opinions."""

from __future__ import annotations

from typing import Any, NoReturn, Self

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from projects.models import Item, Question, Rater

from .consensus import CERTAIN_FROM


class LabelRules(models.Model):
    """A lead's rules for uncertain labels of a question. Requests are off by default."""

    question = models.OneToOneField(
        Question, models.CASCADE, primary_key=True, related_name="label_rules"
    )
    # Labels with less confidence than ``certain_from`` are uncertain: they go to review. Before,
    # ratings are requested up to ``max_ratings`` current ones.
    request_ratings = models.BooleanField(default=False)
    certain_from = models.FloatField(default=CERTAIN_FROM)
    max_ratings = models.PositiveSmallIntegerField(default=5)
    # Total ratings that may be requested beyond the planned ones, and ``n_requested``: those
    # requested so far.
    budget = models.PositiveIntegerField(default=100)
    n_requested = models.PositiveIntegerField(default=0)
    # Share of decided items that are shown to a second adjudicator as well.
    second_opinion_share = models.FloatField(default=0)
    # Whether raters see decisions on items that they rated, and after how many days.
    show_to_raters = models.BooleanField(default=False)
    show_after_days = models.PositiveSmallIntegerField(default=7)
    # Input version of the last update; a different current one means that it is outdated.
    input_version = models.JSONField(default=dict)

    class Meta:
        verbose_name_plural = "label rules"
        constraints = [
            models.CheckConstraint(
                condition=Q(certain_from__gt=0, certain_from__lt=1), name="label_rules_certain_from"
            ),
            models.CheckConstraint(
                condition=Q(max_ratings__gte=2, max_ratings__lte=1000),
                name="label_rules_max_ratings",
            ),
            models.CheckConstraint(
                condition=Q(second_opinion_share__gte=0, second_opinion_share__lte=1),
                name="label_rules_second_opinion_share",
            ),
        ]

    def __str__(self) -> str:
        return f"question {self.question_id}: {self.n_requested} of {self.budget}"


class Escalation(models.Model):
    """Requests for further ratings of an item whose label was uncertain, and their state."""

    class State(models.TextChoices):
        REQUESTED = "requested", _("Waiting for a rating")
        CERTAIN = "certain", _("Became certain")
        REVIEW = "review", _("For review")

    class Reason(models.TextChoices):
        """Reason why an item goes to review."""

        MAX_RATINGS = "max_ratings", _("maximum ratings reached")
        BUDGET = "budget", _("budget used up")
        NO_RATER = "no_rater", _("no rater left for it")
        DISABLED = "disabled", _("extra ratings switched off")

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(Item, models.CASCADE, related_name="+")
    state = models.CharField(max_length=9, choices=State.choices)
    reason = models.CharField(max_length=11, choices=Reason.choices, blank=True)
    # Ratings that this question requested beyond the planned ones.
    n_requested = models.PositiveSmallIntegerField(default=0)
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["question", "item"], name="escalation_unique"),
            models.CheckConstraint(
                condition=Q(state__in=["requested", "certain", "review"]),
                name="escalation_state_known",
            ),
            models.CheckConstraint(
                condition=Q(reason__in=["", "max_ratings", "budget", "no_rater", "disabled"]),
                name="escalation_reason_known",
            ),
        ]
        indexes = [models.Index(fields=["question", "state", "item"], name="escalation_by_state")]

    def __str__(self) -> str:
        return f"{self.item_id}: {self.state}"


class Decision(models.Model):
    """A decision on the final label of an item. Rows are never updated or deleted.

    Decisions of an item are numbered; the highest number is the current one. If its ``code`` is
    null, it withdraws the decision before.
    """

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(Item, models.CASCADE, related_name="decisions")
    number = models.PositiveIntegerField()
    code = models.SmallIntegerField(null=True)
    reason = models.TextField(blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(
                fields=["question", "item", "number"], name="decision_number_unique"
            ),
            models.CheckConstraint(condition=Q(number__gte=1), name="decision_number_counted"),
        ]

    def __str__(self) -> str:
        return f"{self.item_id}: {self.code} ({self.number})"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("A decision is written once and never changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("A decision is never deleted; the next one withdraws it.")


class ReviewClaim(models.Model):
    """Claim of an adjudicator on an item that they are deciding, so that nobody else gets it."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(Item, models.CASCADE, related_name="+")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    expires_at = models.DateTimeField()
    # The user has postponed the item.
    postponed = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["question", "item"], name="review_claim_unique")
        ]

    def __str__(self) -> str:
        return f"{self.item_id}: {self.by_id}"


class ReviewAssignment(models.Model):
    """An item that a lead sent to review, however certain its label is; deleted by a decision."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(Item, models.CASCADE, related_name="+")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    sent_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "review assignments"
        constraints = [
            models.UniqueConstraint(fields=["question", "item"], name="review_assignment_unique")
        ]

    def __str__(self) -> str:
        return f"{self.item_id}: {self.by_id}"


class NameReveal(models.Model):
    """Record that an adjudicator has seen the raters' names before a decision."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+")
    item = models.ForeignKey(Item, models.CASCADE, related_name="+")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    revealed_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "name reveals"

    def __str__(self) -> str:
        return f"{self.item_id}: {self.by_id}"


class AppealQuerySet(models.QuerySet["Appeal"]):
    """Queries of appeals by what remains to be done."""

    def unsettled(self) -> Self:
        """Return the appeals without an answer, and accepted ones without a new decision since."""
        later_decisions = Decision.objects.filter(
            question=OuterRef("question"),
            item=OuterRef("item"),
            created_at__gt=OuterRef("created_at"),
        )
        is_accepted = Q(state=Appeal.State.UPHELD, about=Appeal.About.DECISION)
        return self.filter(Q(state=Appeal.State.OPEN) | is_accepted & ~Exists(later_decisions))


class Appeal(models.Model):
    """A rater's appeal against a decision or a gold answer.

    There is at most one for each rater, item and subject; it is answered once.
    """

    class About(models.TextChoices):
        DECISION = "decision", _("Decision")
        GOLD = "gold", _("Gold answer")

    class State(models.TextChoices):
        OPEN = "open", pgettext_lazy("waits for an answer", "Open")
        UPHELD = "upheld", _("Accepted")
        REFUSED = "refused", _("Rejected")

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(Item, models.CASCADE, related_name="+")
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="appeals")
    about = models.CharField(max_length=8, choices=About.choices, default=About.DECISION)
    text = models.TextField()
    created_at = models.DateTimeField()
    state = models.CharField(max_length=7, choices=State.choices, default=State.OPEN)
    answer = models.TextField(blank=True)
    answered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    answered_at = models.DateTimeField(null=True, blank=True)

    objects = AppealQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["question", "item", "rater", "about"], name="appeal_unique"
            ),
            models.CheckConstraint(
                condition=Q(about__in=["decision", "gold"]), name="appeal_about_known"
            ),
            models.CheckConstraint(
                condition=Q(state="open", answered_at__isnull=True)
                | Q(state__in=["upheld", "refused"], answered_at__isnull=False),
                name="appeal_answered_has_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id} on {self.item_id}: {self.state}"


class SecondOpinion(models.Model):
    """A blind answer of another adjudicator to a decided item. It changes no label.

    Rows are never updated.
    """

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(Item, models.CASCADE, related_name="+")
    # The decision that was current at that time.
    decision = models.ForeignKey(Decision, models.CASCADE, related_name="+")
    code = models.SmallIntegerField()
    reason = models.TextField(blank=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["question", "item"], name="second_opinion_unique")
        ]

    def __str__(self) -> str:
        return f"{self.item_id}: {self.code}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("A second opinion is written once and never changed.")
        super().save(*args, **kwargs)
