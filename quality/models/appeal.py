"""Appeals of raters."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from projects.models import Item, Question, Rater


class Appeal(models.Model):
    """A rater's appeal against a decision or a gold answer.

    At most one per rater, item and subject; answered once.
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
