"""Who judges: people and models."""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from .project import Project


class Rater(models.Model):
    class Kind(models.TextChoices):
        HUMAN = "human", _("human")
        MODEL = "model", _("model")

    class Told(models.TextChoices):
        WARNED = "warned", _("warned for answers on gold")
        PAUSED = "paused", _("paused for answers on gold")

    project = models.ForeignKey(Project, models.CASCADE, related_name="raters")
    key = models.CharField(max_length=150)
    name = models.CharField(max_length=200, blank=True)
    kind = models.CharField(max_length=5, choices=Kind.choices, default=Kind.HUMAN)
    # Of a model: its name, and the version of its prompt. Another version is another rater, whose
    # trends begin anew; those of one model are told side by side.
    model = models.CharField(max_length=150, blank=True, default="", db_default="")
    prompt_version = models.CharField(max_length=100, blank=True, default="", db_default="")
    group = models.CharField(
        max_length=64, blank=True, db_default="", help_text=_("A team or vendor, to filter by")
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="raters"
    )
    # A paused rater gets no items; what they rated counts on.
    paused = models.BooleanField(default=False)
    # What their answers on gold brought them, to be told at the desk (quality.gold.interventions).
    told = models.CharField(
        max_length=6, choices=Told.choices, blank=True, default="", db_default=""
    )

    class Meta:
        ordering = ["key"]
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="rater_key_unique"),
            models.UniqueConstraint(
                fields=["project", "user"],
                condition=Q(user__isnull=False),
                name="rater_user_unique",
            ),
            models.CheckConstraint(condition=~Q(key=""), name="rater_key_given"),
            models.CheckConstraint(
                condition=Q(kind__in=["human", "model"]), name="rater_kind_known"
            ),
            models.CheckConstraint(
                condition=Q(kind="model") | Q(model="", prompt_version=""),
                name="rater_model_is_no_person",
            ),
            models.CheckConstraint(
                condition=Q(told__in=["", "warned", "paused"]), name="rater_told_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.key

    @property
    def told_model(self) -> str:
        """Of a model its name and the version of its prompt, as far as they are known."""
        return " · ".join(part for part in (self.model, self.prompt_version) if part)


class KindVersion(models.Model):
    """What a rater's kind was until it was changed, so that what was read of the project then can
    be read again. Written once; the kind of today is the rater's own."""

    rater = models.ForeignKey(Rater, models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=5, choices=Rater.Kind.choices)
    until = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["rater", "until"], name="kind_version_unique"),
            models.CheckConstraint(
                condition=Q(kind__in=["human", "model"]), name="kind_version_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id}: {self.kind}"

    @classmethod
    def models_at(cls, raters: Iterable[Rater], moment: datetime.datetime) -> set[int]:
        """The ids of those of the raters that were models at a moment."""
        now = {rater.pk: rater.kind for rater in raters}
        later = cls.objects.filter(rater__in=list(now), until__gt=moment).order_by("-until")
        kinds = now | dict(later.values_list("rater_id", "kind"))  # the earliest of them wins
        return {pk for pk, kind in kinds.items() if kind == Rater.Kind.MODEL}
