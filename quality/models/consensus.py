"""The label that the ratings of an item come to, and how sure it is."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from projects.models import Item, Question, Rater

from .recomputed import Renewed

DOUBT = 0.05  # with less, a label is not worth somebody's decision unless asked for


class Method(models.TextChoices):
    """How ratings of an item become one label (docs/statistics.md, "Consensus")."""

    DAWID_SKENE = "dawid_skene", _("Dawid and Skene: each rater's habits are estimated")
    WEIGHTED = "weighted", _("majority, weighted by the raters' skill")
    MAJORITY = "majority", _("majority, each rater one vote")


class Source(models.TextChoices):
    """Where a label comes from; a decision stands above gold, and gold above the ratings."""

    DECISION = "decision", _("decision")
    GOLD = "gold", _("gold answer")
    CONSENSUS = "consensus", _("ratings")


class Consensus(Renewed):
    """How the labels of a question are made, and what they were made of. One row a question; the
    worker that makes them holds its lease."""

    question = models.OneToOneField(
        Question, models.CASCADE, primary_key=True, related_name="consensus"
    )
    # What the lead chose.
    method = models.CharField(max_length=11, choices=Method.choices, default=Method.DAWID_SKENE)
    with_models = models.BooleanField(default=False, help_text=_("Models count as raters"))
    # The codes of the categories in the order of every list of probabilities here.
    codes = models.JSONField(default=list)
    n_items = models.PositiveIntegerField(default=0)
    n_ratings = models.PositiveIntegerField(default=0)
    expected_errors = models.FloatField(null=True)
    # [{"least", "items", "errors"}, ...]: of the labels at least so sure, how many there are and
    # how many of them are expected to be wrong.
    sure = models.JSONField(default=list)
    # {"classes": [...], "tempering": t, "rounds": n}; empty where nothing was estimated.
    model = models.JSONField(default=dict)
    # [{"low", "high", "n", "said", "was"}, ...]: predicted and seen shares of held-out ratings.
    calibration = models.JSONField(default=list)
    # Why there is no certainty; empty where there is.
    reason = models.CharField(max_length=40, blank=True)

    class Meta:
        verbose_name_plural = "consensus"
        constraints = [
            models.CheckConstraint(
                condition=Q(method__in=Method.values), name="consensus_method_known"
            )
        ]

    def __str__(self) -> str:
        return f"question {self.question_id}: {self.n_items} items by {self.method}"


class ItemLabel(models.Model):
    """The final label of an item. ``code`` null: there is none, and ``reason`` says why."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(Item, models.CASCADE, related_name="labels")
    code = models.SmallIntegerField(null=True)
    source = models.CharField(max_length=9, choices=Source.choices)
    # The probability of the label; null where the method knows none.
    confidence = models.FloatField(null=True)
    # How unsure it is, from 0 to 1: 1 - confidence; without one, the share of votes for others.
    doubt = models.FloatField()
    # Of each category, in the order of ``Consensus.codes``: its probability, or with a majority
    # its share of the votes.
    shares = models.JSONField(default=list)
    mean = models.FloatField(null=True)  # on interval and ratio scales: the expected value
    n_ratings = models.PositiveIntegerField()
    reason = models.CharField(max_length=40, blank=True)
    made_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["question", "item"], name="item_label_unique"),
            models.CheckConstraint(
                condition=Q(source__in=Source.values), name="item_label_source_known"
            ),
        ]
        indexes = [
            # The least certain first: the queue of adjudication.
            models.Index(fields=["question", "-doubt", "item"], name="item_label_by_doubt")
        ]

    def __str__(self) -> str:
        return f"{self.item_id}: {self.code} ({self.source})"


class RaterConfusion(models.Model):
    """What a rater probably says of which true category, as the consensus estimates it."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="+")
    # (k, k): row the true category, column what the rater says; rows sum to 1.
    confusion = models.JSONField()
    # (k,): ratings that each row is expected to rest on.
    rests_on = models.JSONField()
    accuracy = models.FloatField()
    bias = models.FloatField(null=True)  # in ranks, on ordered scales

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["question", "rater"], name="rater_confusion_unique")
        ]

    def __str__(self) -> str:
        return f"{self.rater_id}: {self.accuracy:.2f}"
