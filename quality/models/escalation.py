"""Rules for labels that stay uncertain after the planned ratings, and requested ratings."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from projects.models import Item, Question

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
