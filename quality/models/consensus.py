"""Labels computed from ratings, and how certain they are."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from projects.models import Item, Question, Rater, Scale

from .recomputed import RecomputedResult

# Labels with at least this confidence are certain: no further ratings and no review, except on
# request. Questions may set another (LabelRules.certain_from).
CERTAIN_FROM = 0.9


class ConsensusMethod(models.TextChoices):
    """Method by which the ratings of an item become one label (docs/statistics.md, "Consensus")."""

    DAWID_SKENE = "dawid_skene", _("Dawid–Skene (estimates each rater’s errors)")
    WEIGHTED = "weighted", _("Majority, weighted by rater skill")
    MAJORITY = "majority", _("Majority, one vote per rater")


class LabelSource(models.TextChoices):
    """Source of a label: decisions take precedence over gold answers, and these over ratings."""

    DECISION = "decision", _("Decision")
    GOLD = "gold", _("Gold answer")
    CONSENSUS = "consensus", _("Ratings")


class Consensus(RecomputedResult):
    """Settings and result of the labels of a question: one row per question.

    The worker that computes them holds its lease.
    """

    question = models.OneToOneField(
        Question, models.CASCADE, primary_key=True, related_name="consensus"
    )
    # Settings of the lead.
    method = models.CharField(
        max_length=11, choices=ConsensusMethod.choices, default=ConsensusMethod.DAWID_SKENE
    )
    with_models = models.BooleanField(default=False, help_text=_("Count models as raters"))
    # Codes of the categories, in the order of all lists of probabilities in this module.
    codes = models.JSONField(default=list)
    n_items = models.PositiveIntegerField(default=0)
    n_ratings = models.PositiveIntegerField(default=0)
    expected_errors = models.FloatField(null=True)
    # [{"min_confidence", "n_items", "expected_errors"}, ...]: number of labels with at least this
    # confidence, and the expected number of wrong ones among them.
    certainty_levels = models.JSONField(default=list)
    # {"classes": [...], "pooled": [[...]], "tempering": t, "gold_items": n, "rounds": n,
    # "converged": bool}; empty without an estimate. classes: shares of the true categories (k,);
    # pooled: the confusion matrix of all raters (k, k); gold_items: gold answers that determine the
    # tempering, 0 where held-out ratings do.
    model = models.JSONField(default=dict)
    # [{"low", "high", "n", "predicted", "observed"}, ...]: bins of held-out ratings, with the mean
    # predicted and the observed share.
    calibration = models.JSONField(default=list)
    # Why labels have no confidence; else empty.
    reason = models.CharField(max_length=40, blank=True)

    class Meta:
        verbose_name_plural = "consensus"
        constraints = [
            models.CheckConstraint(
                condition=Q(method__in=ConsensusMethod.values), name="consensus_method_known"
            )
        ]

    def __str__(self) -> str:
        return f"question {self.question_id}: {self.n_items} items by {self.method}"

    @property
    def has_medians(self) -> bool:
        """Return whether labels are medians of estimated probabilities, as on ordered scales."""
        return bool(self.model) and Scale(self.question.scale).ordered

    @property
    def assumes_independence(self) -> bool:
        """Return whether the confidence assumes that raters err independently of each other.

        It does if it comes from the model and was not calibrated on gold answers.
        """
        return bool(self.model) and not self.model.get("gold_items")


class ItemLabelQuerySet(models.QuerySet["ItemLabel"]):
    """Queries of the labels of items."""

    def uncertain(self) -> ItemLabelQuerySet:
        """Return the labels from ratings whose confidence is below their question's threshold."""
        # An alias, because a filter by the rules would leave out questions without them.
        certain_from = Coalesce("question__label_rules__certain_from", CERTAIN_FROM)
        rows = self.alias(certain_from=certain_from)
        return rows.filter(source=LabelSource.CONSENSUS, doubt__gt=1.0 - F("certain_from"))


class ItemLabel(models.Model):
    """The final label of an item. ``code`` is null without a label; ``reason`` then says why."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(Item, models.CASCADE, related_name="labels")
    code = models.SmallIntegerField(null=True)
    source = models.CharField(max_length=9, choices=LabelSource.choices)
    # Probability of the label; null where the method has none.
    confidence = models.FloatField(null=True)
    # From 0 to 1: 1 - confidence; without a confidence, the share of votes for other categories.
    doubt = models.FloatField()
    # Probability of each category in the order of ``Consensus.codes``; with a majority, its share
    # of the votes.
    distribution = models.JSONField(default=list)
    mean = models.FloatField(null=True)  # on interval and ratio scales: the expected value
    n_ratings = models.PositiveIntegerField()
    reason = models.CharField(max_length=40, blank=True)
    computed_at = models.DateTimeField()

    objects = ItemLabelQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["question", "item"], name="item_label_unique"),
            models.CheckConstraint(
                condition=Q(source__in=LabelSource.values), name="item_label_source_known"
            ),
        ]
        indexes = [
            # For the review queue: the most uncertain labels first.
            models.Index(fields=["question", "-doubt", "item"], name="item_label_by_doubt")
        ]

    def __str__(self) -> str:
        return f"{self.item_id}: {self.code} ({self.source})"

    @property
    def is_median(self) -> bool:
        """Return whether another category is more probable than the label.

        This happens on ordered scales, where the label is the median of the distribution.
        """
        return self.confidence is not None and self.confidence < max(self.distribution, default=0)


class RaterConfusion(models.Model):
    """Expected errors of a rater, and the confusion matrix that the consensus estimates."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="+")
    # (k, k): rows are true categories, columns the rater's answers; rows sum to 1. Empty, like
    # expected_counts, for methods that estimate none.
    confusion = models.JSONField()
    # (k,): expected number of ratings behind each row.
    expected_counts = models.JSONField()
    # Expected number of the rater's wrong ratings, each counted by how much the question's weights
    # disagree (quality.rater_status). accuracy: the expected share of right ratings.
    impact = models.FloatField(db_default=0.0)
    accuracy = models.FloatField()
    bias = models.FloatField(null=True)  # in ranks, on ordered scales

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["question", "rater"], name="rater_confusion_unique")
        ]

    def __str__(self) -> str:
        return f"{self.rater_id}: {self.accuracy:.2f}"
