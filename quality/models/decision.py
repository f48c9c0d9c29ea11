"""Review: decisions on items, appeals against them, and second opinions."""

from __future__ import annotations

from typing import Any, NoReturn, Self

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from projects.models import Item, Question, Rater


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
