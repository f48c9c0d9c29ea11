"""Interventions against raters with too many wrong answers on gold."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from projects.models import Question, Rater


class GoldIntervention(models.Model):
    """A warning or a pause of a rater, proposed to the lead or carried out.

    An override ends it, and the evidence starts again.
    """

    class Step(models.TextChoices):
        WARN = "warn", _("Warning")
        PAUSE = "pause", _("Pause")

    class State(models.TextChoices):
        PROPOSED = "proposed", _("proposed")
        DONE = "done", _("carried out")
        OVERRIDDEN = "overridden", _("overridden")

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="gold_interventions")
    step = models.CharField(max_length=5, choices=Step.choices)
    state = models.CharField(max_length=10, choices=State.choices)
    # Highest evidence when it was created, and the number of answers behind it.
    evidence = models.FloatField()
    n_answers = models.PositiveIntegerField()
    created_at = models.DateTimeField()
    # User who carried it out or overrode it; null where the project's rule did.
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    reason = models.TextField(blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["question", "rater", "step"],
                condition=~Q(state="overridden"),
                name="gold_intervention_one_current",
            ),
            models.CheckConstraint(
                condition=Q(step__in=["warn", "pause"]), name="gold_intervention_step_known"
            ),
            models.CheckConstraint(
                condition=Q(state="proposed", decided_at__isnull=True)
                | Q(state__in=["done", "overridden"], decided_at__isnull=False),
                name="gold_intervention_decided_has_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id}: {self.step} {self.state}"
