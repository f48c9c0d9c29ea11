"""Questions, their scales, and their categories."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from .project import Project


class Scale(models.TextChoices):
    NOMINAL = "nominal", _("nominal")
    ORDINAL = "ordinal", _("ordinal")
    INTERVAL = "interval", _("interval")
    RATIO = "ratio", _("ratio")

    @property
    def ordered(self) -> bool:
        """ "Higher" and "lower" mean something."""
        return self is not Scale.NOMINAL

    @property
    def numeric(self) -> bool:
        """Each category needs a number."""
        return self in (Scale.INTERVAL, Scale.RATIO)

    @property
    def from_zero(self) -> bool:
        """No number of a category may be below 0."""
        return self is Scale.RATIO

    def weights_in_force(self, chosen: str) -> Weights:
        """Those that coefficients take where these are chosen: quadratic ones stand in where there
        is an order and none are; without one, weights by rank say nothing
        (metrics.agreement.headline)."""
        if self.ordered:
            return Weights.QUADRATIC if chosen == Weights.NONE else Weights(chosen)
        return Weights.CUSTOM if chosen == Weights.CUSTOM else Weights.NONE


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
    # The coefficient that the lead wants to read first, and why; empty: the one that the scale, the
    # number of raters and the weights give (metrics.agreement.headline).
    headline = models.CharField(max_length=64, blank=True, default="", db_default="")
    headline_note = models.CharField(max_length=500, blank=True, default="", db_default="")
    # Whether the first number mixes the ratings of people and of models.
    headline_pooled = models.BooleanField(default=False, db_default=False)
    # Rises with every change of scale, categories, weights or headline: readings made under an
    # older one are made anew.
    scale_version = models.PositiveIntegerField(default=1, editable=False)

    class Meta:
        ordering = ["position", "id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="question_key_unique"),
            models.CheckConstraint(condition=~Q(key=""), name="question_key_given"),
            models.CheckConstraint(
                condition=Q(scale__in=Scale.values), name="question_scale_known"
            ),
            models.CheckConstraint(
                condition=Q(weights__in=Weights.values), name="question_weights_known"
            ),
            models.CheckConstraint(
                condition=Q(headline="") | ~Q(headline_note=""), name="question_headline_has_note"
            ),
            models.CheckConstraint(
                condition=~Q(weights=Weights.CUSTOM) | Q(weight_matrix__isnull=False),
                name="question_custom_has_matrix",
            ),
        ]

    def __str__(self) -> str:
        return self.text or self.key

    @property
    def weights_in_force(self) -> Weights:
        return Scale(self.scale).weights_in_force(self.weights)

    @property
    def has_values(self) -> bool:
        """Whether its categories are numbers, whose distances count."""
        return Scale(self.scale).numeric

    def active_categories(self, known: Iterable[Category] | None = None) -> list[Category]:
        """The declared categories in their declared order; of ``known``, all that the question ever
        had, or of a prefetched ``categories``, where there is one."""
        known = self.categories.all() if known is None else known
        return sorted((c for c in known if not c.retired), key=lambda c: (c.position, c.code))

    def declared(self, known: Iterable[Category] | None = None) -> dict[str, Any]:
        """All that coefficients are computed by, as plain JSON; categories in declared order, of
        ``known`` as in `active_categories`."""
        return {
            "scale": self.scale,
            "weights": self.weights,
            "matrix": self.weight_matrix,
            "headline": self.headline,
            "note": self.headline_note,
            "pooled": self.headline_pooled,
            "categories": [
                {"code": one.code, "label": one.label, "value": one.value}
                for one in self.active_categories(known)
            ],
        }


class Category(models.Model):
    """One answer of a question. ``code`` never changes and is never used again; order is
    ``position`` alone."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="categories")
    code = models.PositiveSmallIntegerField()
    label = models.CharField(max_length=200)
    position = models.PositiveSmallIntegerField()
    value = models.FloatField(
        null=True, blank=True, help_text=_("Its number on an interval or ratio scale")
    )
    hotkey = models.CharField(max_length=1, blank=True)
    # A removed category keeps its row: history names it.
    retired = models.BooleanField(default=False)

    class Meta:
        ordering = ["position", "code"]
        verbose_name_plural = _("categories")
        constraints = [
            models.UniqueConstraint(fields=["question", "code"], name="category_code_unique"),
            models.UniqueConstraint(
                fields=["question", "label"],
                condition=Q(retired=False),
                name="category_label_unique",
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
