"""Raters against gold answers, and gold answers against raters."""

from __future__ import annotations

from typing import Any, NoReturn

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from projects.models import GoldAnswer, Item, Question, Rater

from .recomputed import Renewed


class GoldState(Renewed):
    """What is asked of a question's raters on gold, and what their stored scores rest on. One row a
    question that ever had gold; the worker that makes the scores holds its lease."""

    class Rule(models.TextChoices):
        """What follows when the evidence reaches its limits (quality.gold.interventions)."""

        OFF = "off", _("nothing follows")
        PROPOSE = "propose", _("a warning or a pause is proposed to the lead")
        AUTOMATIC = "automatic", _("the rater is warned or paused at once")

    question = models.OneToOneField(
        Question, models.CASCADE, primary_key=True, related_name="gold_state"
    )
    # How often a rater is to be right at least: the evidence is against that.
    bar = models.FloatField(default=0.7, db_default=0.7)
    rule = models.CharField(
        max_length=9, choices=Rule.choices, default=Rule.OFF, db_default=Rule.OFF
    )
    # Gold answers in force: of one category, of several, and shares, which are not scored.
    n_single = models.PositiveIntegerField(default=0)
    n_several = models.PositiveIntegerField(default=0)
    n_shares = models.PositiveIntegerField(default=0)
    # What raters say of items that have gold, whoever they are; and how much of it stands apart
    # from the ratings (hidden gold).
    n_answers = models.PositiveIntegerField(default=0)
    n_apart = models.PositiveIntegerField(default=0, db_default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(bar__gt=0, bar__lt=1), name="gold_bar_reachable"),
            models.CheckConstraint(
                condition=Q(rule__in=["off", "propose", "automatic"]), name="gold_rule_known"
            ),
        ]

    def __str__(self) -> str:
        return f"question {self.question_id}: {self.n_answers} answers"


class GoldScore(models.Model):
    """What a rater says against the gold answers of a question. Gold answers that are
    suspected, and not kept, are left out of everything here."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="gold_scores")
    # Answers, and how many of them were right: gold of one category, or of several of which any is
    # right. accuracy, low, high: right / n with Wilson's 95 % interval.
    n = models.PositiveIntegerField()
    right = models.PositiveIntegerField()
    accuracy = models.FloatField()
    low = models.FloatField()
    high = models.FloatField()
    # (k, k) own category x gold, active categories in declared order: of gold of one category.
    table = models.JSONField()
    # What guessing by the same habits would reach on ``table``; null where that is empty.
    chance = models.FloatField(null=True)
    # Values (metrics.agreement.estimate.Value); bias null on nominal scales.
    kappa = models.JSONField()
    bias = models.JSONField(null=True)
    # Of ``table``: [{"code", "n", "right", "low", "high"}, ...] a gold category that was asked.
    classes = models.JSONField(default=list)
    # [{"start": first day, "n", "right", "low", "high", "evidence"}, ...] an ISO week with answers.
    weeks = models.JSONField(default=list)
    # Against being right as often as the bar asks, answers in the order in which they were given:
    # now, and the highest it ever was, since an act was overridden last (quality.gold.interventions). At
    # most HIGHEST (quality.gold.scores).
    evidence = models.FloatField()
    highest = models.FloatField()
    # After how many answers, and when, it first reached the threshold of a pause.
    reached = models.PositiveIntegerField(null=True)
    reached_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["question", "rater"], name="gold_score_unique"),
            models.CheckConstraint(
                condition=Q(n__gte=1, right__lte=models.F("n")), name="gold_score_of_answers"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id}: {self.right} of {self.n}"


class GoldItem(models.Model):
    """A gold answer in force as its raters see it."""

    gold = models.OneToOneField(
        GoldAnswer, models.CASCADE, primary_key=True, related_name="seen_as"
    )
    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(Item, models.CASCADE, related_name="+")
    # Answers by anybody: how often it was shown and answered; and those that are right.
    exposures = models.PositiveIntegerField()
    right = models.PositiveIntegerField()
    # Of gold of one category, by what people say of it: the probability that it is wrong, the
    # number of people who said something, and the answer that they make most probable. Null of
    # other gold.
    probability = models.FloatField(null=True)
    people = models.PositiveIntegerField(default=0)
    better = models.SmallIntegerField(null=True)
    # People who are right on other gold as often as the bar asks, and those of them who say
    # ``better``.
    good = models.PositiveIntegerField(default=0)
    good_better = models.PositiveIntegerField(default=0)
    suspected = models.BooleanField(default=False)  # and so in no score until a lead decides
    leaked = models.BooleanField(default=False)  # later raters know it suddenly better

    class Meta:
        indexes = [
            models.Index(fields=["question", "-suspected", "-probability"], name="gold_item_doubt")
        ]

    def __str__(self) -> str:
        return f"{self.item_id}: {self.probability}"


class GoldReview(models.Model):
    """What a lead decided of a gold answer that raters or numbers put in doubt. Written once."""

    class Verdict(models.TextChoices):
        KEEP = "keep", _("kept: it is right")
        RETIRE = "retire", _("retired")

    gold = models.ForeignKey(GoldAnswer, models.CASCADE, related_name="reviews")
    verdict = models.CharField(max_length=6, choices=Verdict.choices)
    reason = models.TextField(blank=True)
    # What was known then: the columns of its GoldItem.
    evidence = models.JSONField(default=dict)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    made_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(verdict__in=["keep", "retire"]), name="gold_review_verdict_known"
            )
        ]

    def __str__(self) -> str:
        return f"{self.gold_id}: {self.verdict}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("A review is written once and never changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("A review is never deleted.")
