"""Questions, their scales, and their categories."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any, TypedDict

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from .project import Project


class Scale(models.TextChoices):
    """The measurement scale of a question's categories."""

    NOMINAL = "nominal", _("nominal")
    ORDINAL = "ordinal", _("ordinal")
    INTERVAL = "interval", _("interval")
    RATIO = "ratio", _("ratio")

    @property
    def ordered(self) -> bool:
        """True if the categories have an order."""
        return self is not Scale.NOMINAL

    @property
    def numeric(self) -> bool:
        """True if each category needs a number."""
        return self in (Scale.INTERVAL, Scale.RATIO)

    @property
    def is_non_negative(self) -> bool:
        """True if numbers of categories must not be negative."""
        return self is Scale.RATIO

    def get_effective_weights(self, selected: str) -> Weights:
        """Return the weights that apply on this scale if a lead selects ``selected``.

        With an ordered scale, quadratic weights replace "none"; without an order, rank weights
        have no meaning (metrics.agreement.headline).
        """
        if self.ordered:
            return Weights.QUADRATIC if selected == Weights.NONE else Weights(selected)
        return Weights.CUSTOM if selected == Weights.CUSTOM else Weights.NONE

    def describe_weights(self, selected: str) -> str:
        """Return the words on pages for the weights that apply if a lead selects ``selected``."""
        if self.numeric and selected == Weights.NONE:
            return str(_("distances between values"))
        weights = self.get_effective_weights(selected)
        if self.ordered and weights != selected:
            return str(_("%(weights)s (default)") % {"weights": weights.label})
        return str(weights.label)


class Weights(models.TextChoices):
    """Weightings of partial agreement between two different categories."""

    NONE = "none", _("none")
    LINEAR = "linear", _("linear")
    QUADRATIC = "quadratic", _("quadratic")
    CUSTOM = "custom", _("custom")


class CategoryDeclaration(TypedDict):
    """A category as it was declared, in a ScaleDeclaration; ``value`` is None without a number."""

    code: int
    label: str
    value: float | None


class ScaleDeclaration(TypedDict):
    """All of a question that coefficients depend on, as it is stored in JSON."""

    scale: str
    weights: str
    matrix: list[list[float]] | None
    headline: str
    note: str
    pooled: bool
    categories: list[CategoryDeclaration]  # in declared order


class Question(models.Model):
    """A question that raters answer about each item, with its scale and categories."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="questions")
    key = models.CharField(max_length=64)
    text = models.CharField(max_length=500)
    position = models.PositiveSmallIntegerField(default=0)
    scale = models.CharField(max_length=10, choices=Scale.choices, default=Scale.NOMINAL)
    weights = models.CharField(max_length=10, choices=Weights.choices, default=Weights.NONE)
    # (k, k); rows and columns in the order of the categories' positions.
    weight_matrix = models.JSONField(null=True, blank=True)
    # The headline coefficient that the lead chose, and why; empty: the one that follows from the
    # scale, the number of raters and the weights (metrics.agreement.headline).
    headline = models.CharField(max_length=64, blank=True, default="", db_default="")
    headline_note = models.CharField(max_length=500, blank=True, default="", db_default="")
    # True if the headline includes ratings of both people and models.
    headline_pooled = models.BooleanField(default=False, db_default=False)
    # Answers this far from a gold answer also count as right: steps in the order of an ordinal
    # scale, differences of values on a numeric one. Ignored on nominal scales.
    gold_tolerance = models.FloatField(default=0, db_default=0)
    # Incremented by every change of scale, categories, weights or headline; results of an older
    # version are recomputed.
    scale_version = models.PositiveIntegerField(default=1, editable=False)

    class Meta:
        ordering = ["position", "id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "key"], name="question_key_unique"),
            models.CheckConstraint(condition=~Q(key=""), name="question_key_not_empty"),
            models.CheckConstraint(
                condition=Q(scale__in=Scale.values), name="question_scale_valid"
            ),
            models.CheckConstraint(
                condition=Q(weights__in=Weights.values), name="question_weights_valid"
            ),
            models.CheckConstraint(
                condition=Q(headline="") | ~Q(headline_note=""), name="question_headline_has_note"
            ),
            models.CheckConstraint(
                condition=~Q(weights=Weights.CUSTOM) | Q(weight_matrix__isnull=False),
                name="question_custom_has_matrix",
            ),
            models.CheckConstraint(
                condition=Q(gold_tolerance__gte=0), name="question_gold_tolerance_valid"
            ),
        ]

    def __str__(self) -> str:
        return self.text or self.key

    @property
    def weights_description(self) -> str:
        """The weights that coefficients use, in the reader's language."""
        return Scale(self.scale).describe_weights(self.weights)

    @property
    def effective_gold_tolerance(self) -> float:
        """The tolerance of gold answers; 0 if the categories have no order."""
        return self.gold_tolerance if Scale(self.scale).ordered else 0.0

    @property
    def has_confirmed_weights(self) -> bool:
        """False if nobody chose weights for ordered labels, so that quadratic ones are used.

        True with two categories, for which all weights by rank are the same.
        """
        if self.scale != Scale.ORDINAL or self.weights != Weights.NONE:
            return True
        return len(self.active_categories()) < 3

    @property
    def has_values(self) -> bool:
        """True if the categories have numeric values, whose differences are meaningful."""
        return Scale(self.scale).numeric

    def active_categories(self, categories: Iterable[Category] | None = None) -> list[Category]:
        """Return the categories that are not retired, in their declared order.

        ``categories``: all categories of the question, including retired ones; by default they are
        read from the database, or as prefetched.
        """
        categories = self.categories.all() if categories is None else categories
        return sorted(
            (category for category in categories if not category.retired),
            key=lambda category: (category.position, category.code),
        )

    def get_declaration(self, categories: Iterable[Category] | None = None) -> ScaleDeclaration:
        """Return all of the question that coefficients depend on.

        ``categories``: as for ``active_categories``.
        """
        return ScaleDeclaration(
            scale=self.scale,
            weights=self.weights,
            matrix=self.weight_matrix,
            headline=self.headline,
            note=self.headline_note,
            pooled=self.headline_pooled,
            categories=[
                CategoryDeclaration(code=category.code, label=category.label, value=category.value)
                for category in self.active_categories(categories)
            ],
        )


class Category(models.Model):
    """One answer of a question.

    ``code`` never changes and is never reused; the order is ``position``.
    """

    question = models.ForeignKey(Question, models.CASCADE, related_name="categories")
    code = models.PositiveSmallIntegerField()
    label = models.CharField(max_length=200)
    position = models.PositiveSmallIntegerField()
    value = models.FloatField(null=True, blank=True, help_text=_("Value"))
    hotkey = models.CharField(max_length=1, blank=True)
    # A removed category keeps its row, because the history refers to it.
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
            models.CheckConstraint(condition=~Q(label=""), name="category_label_not_empty"),
        ]

    def __str__(self) -> str:
        return self.label


class ScaleVersion(models.Model):
    """A question's declaration before a change of its scale; it applied until ``until``.

    ``number`` is the question's ``scale_version`` at that time. Written once, never changed; the
    current declaration is that of the question itself.
    """

    question = models.ForeignKey(
        Question, models.CASCADE, related_name="scale_versions", db_index=False
    )
    number = models.PositiveIntegerField()
    declaration = models.JSONField()  # Question.get_declaration()
    until = models.DateTimeField()
    # The reason for the change to the next version, if one was given, and the user that made it.
    reason = models.CharField(max_length=500, blank=True, default="", db_default="")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["question", "number"], name="scale_version_unique"),
            models.CheckConstraint(condition=Q(number__gte=1), name="scale_version_from_one"),
        ]

    def __str__(self) -> str:
        return f"{self.question_id}: {self.number}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("A version of a scale is written once and never changed.")
        super().save(*args, **kwargs)

    @classmethod
    def get_version_at(
        cls, question: Question, moment: datetime.datetime
    ) -> tuple[int, ScaleDeclaration]:
        """Return (number, declaration) of the scale version that applied at a moment."""
        next_change = (
            cls.objects.filter(question=question, until__gt=moment).order_by("number").first()
        )
        if next_change is None:
            return question.scale_version, question.get_declaration()
        return next_change.number, next_change.declaration
