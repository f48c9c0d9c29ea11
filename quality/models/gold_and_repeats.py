"""Scores of raters on gold answers and on repeats, and evidence about the gold answers."""

from __future__ import annotations

from typing import Any, NoReturn, Self

from django.conf import settings
from django.db import models
from django.db.models import Case, F, Q, Value, When
from django.utils.translation import gettext_lazy as _

from metrics.agreement.rater_quality.gold import MIN_ANSWERS, PAUSE_EVIDENCE
from projects.models import GoldAnswer, Item, Question, Rater

from .recomputed import RecomputedResult


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


class GoldState(RecomputedResult):
    """Settings and totals of a question's gold answers: one row per question that ever had gold.

    The worker that computes the scores holds its lease.
    """

    class Rule(models.TextChoices):
        """Consequence when the evidence reaches its limits (quality.gold.services)."""

        OFF = "off", _("Do nothing")
        PROPOSE = "propose", _("Propose a warning or pause")
        AUTOMATIC = "automatic", _("Warn or pause immediately")

    question = models.OneToOneField(
        Question, models.CASCADE, primary_key=True, related_name="gold_state"
    )
    # Pass mark: the accuracy against which the evidence is computed.
    pass_mark = models.FloatField(default=0.7, db_default=0.7)
    rule = models.CharField(
        max_length=9, choices=Rule.choices, default=Rule.OFF, db_default=Rule.OFF
    )
    # Current gold answers: with one category, with several, and with shares (not scored).
    n_single = models.PositiveIntegerField(default=0)
    n_several = models.PositiveIntegerField(default=0)
    n_shares = models.PositiveIntegerField(default=0)
    # Answers to items with gold, by all raters, and those among them that are check answers
    # (hidden gold).
    n_answers = models.PositiveIntegerField(default=0)
    n_check_answers = models.PositiveIntegerField(default=0, db_default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(pass_mark__gt=0, pass_mark__lt=1), name="gold_pass_mark_reachable"
            ),
            models.CheckConstraint(
                condition=Q(rule__in=["off", "propose", "automatic"]), name="gold_rule_known"
            ),
        ]

    def __str__(self) -> str:
        return f"question {self.question_id}: {self.n_answers} answers"


class GoldResult(models.TextChoices):
    """Result of a rater on gold, as all pages define it (docs/statistics.md)."""

    FAILED = "failed", _("Below")  # the evidence has reached that of a pause
    BELOW = "below", _("Probably below")  # the 95% interval is below the pass mark
    FEW = "few", _("Not enough data")
    PASSED = "passed", _("Passed")
    UNDECIDED = "undecided", _("Undecided")


class GoldScoreQuerySet(models.QuerySet["GoldScore"]):
    """Scores on gold, with their results."""

    def with_result(self) -> Self:
        """Annotate each score with its ``result``, a GoldResult."""
        pass_mark = F("question__gold_state__pass_mark")
        return self.annotate(
            result=Case(
                When(max_evidence__gte=PAUSE_EVIDENCE, then=Value(GoldResult.FAILED)),
                When(n__lt=MIN_ANSWERS, then=Value(GoldResult.FEW)),
                When(high__lt=pass_mark, then=Value(GoldResult.BELOW)),
                When(low__gte=pass_mark, then=Value(GoldResult.PASSED)),
                default=Value(GoldResult.UNDECIDED),
            )
        )

    def below_pass_mark(self) -> Self:
        """Return the scores below or probably below the pass mark: reasons for a rater's status."""
        return self.with_result().filter(result__in=(GoldResult.FAILED, GoldResult.BELOW))

    def to_act_on(self) -> Self:
        """Return the scores of unpaused people whose evidence has reached that of a pause."""
        people = self.filter(rater__kind=Rater.Kind.HUMAN, rater__paused=False)
        return people.with_result().filter(result=GoldResult.FAILED)


class GoldScore(models.Model):
    """Score of a rater on the gold answers of a question.

    Suspected gold answers that no lead has confirmed are excluded.
    """

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="gold_scores")
    # Number of answers, and of right ones, on gold with one category or with several accepted ones.
    # accuracy, low, high: right / n with Wilson's 95% interval.
    n = models.PositiveIntegerField()
    right = models.PositiveIntegerField()
    accuracy = models.FloatField()
    low = models.FloatField()
    high = models.FloatField()
    # (k, k) own category x gold, active categories in declared order; gold with one category only.
    table = models.JSONField()
    # Accuracy expected if the rater's answers were assigned to these items at random.
    chance = models.FloatField(null=True)
    # Values (metrics.agreement.estimate.Value); bias null on nominal scales.
    kappa = models.JSONField()
    bias = models.JSONField(null=True)
    # From ``table``: [{"code", "n", "right", "low", "high"}, ...], one per gold category.
    classes = models.JSONField(default=list)
    # [{"start": first day, "n", "right", "low", "high", "evidence"}, ...], one per ISO week.
    weeks = models.JSONField(default=list)
    # Evidence that the accuracy is below the pass mark, over answers in the order given: the
    # current value, and the highest since the last override (quality.gold.services). At most
    # MAX_EVIDENCE (quality.gold.recomputation).
    evidence = models.FloatField()
    max_evidence = models.FloatField()
    # Number of answers, and time, when it first reached the threshold of a pause.
    n_until_pause = models.PositiveIntegerField(null=True)
    pause_reached_at = models.DateTimeField(null=True)

    result: str  # of GoldScoreQuerySet.with_result
    objects = GoldScoreQuerySet.as_manager()

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
    """Statistics of a current gold answer: raters' answers, and evidence that it is wrong."""

    gold = models.OneToOneField(
        GoldAnswer, models.CASCADE, primary_key=True, related_name="gold_item"
    )
    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    item = models.ForeignKey(Item, models.CASCADE, related_name="+")
    # Number of answers by all raters, and of right ones.
    exposures = models.PositiveIntegerField()
    right = models.PositiveIntegerField()
    # For gold with one category, from people's answers: the probability that it is wrong, the
    # number of people, and the most probable category. Null for other gold.
    probability = models.FloatField(null=True)
    n_people = models.PositiveIntegerField(default=0)
    likely_code = models.SmallIntegerField(null=True)
    # People who reach the pass mark on other gold, and those of them who answer ``likely_code``.
    n_passing = models.PositiveIntegerField(default=0)
    n_passing_likely = models.PositiveIntegerField(default=0)
    suspected = models.BooleanField(default=False)  # excluded from scores until a lead decides
    leaked = models.BooleanField(default=False)  # later raters are suddenly more often right

    class Meta:
        indexes = [
            models.Index(fields=["question", "-suspected", "-probability"], name="gold_item_doubt")
        ]

    def __str__(self) -> str:
        return f"{self.item_id}: {self.probability}"


class GoldReview(models.Model):
    """A lead's review of a suspected gold answer. Rows are never updated or deleted."""

    class Verdict(models.TextChoices):
        KEEP = "keep", _("Kept")
        RETIRE = "retire", _("Retired")

    gold = models.ForeignKey(GoldAnswer, models.CASCADE, related_name="reviews")
    verdict = models.CharField(max_length=6, choices=Verdict.choices)
    reason = models.TextField(blank=True)
    # Columns of the GoldItem at that time.
    evidence = models.JSONField(default=dict)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()

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


class RepeatState(RecomputedResult):
    """Agreement of all people of a question with their own earlier answers: one row per question.

    The worker that computes the scores holds its lease.
    """

    question = models.OneToOneField(
        Question, models.CASCADE, primary_key=True, related_name="repeat_state"
    )
    # Items rated twice, and those with equal answers; with Wilson's 95% interval.
    n = models.PositiveIntegerField(default=0)
    same = models.PositiveIntegerField(default=0)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    # Values (metrics.agreement.estimate), stratified by raters; icc is null unless categories have
    # numeric values, as in RepeatScore.
    kappa = models.JSONField(default=dict)
    icc = models.JSONField(null=True)

    def __str__(self) -> str:
        return f"question {self.question_id}: {self.n} repeats"


class RepeatScore(models.Model):
    """Agreement of a rater's second answers with their first ones."""

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="repeat_scores")
    # As in RepeatState.
    n = models.PositiveIntegerField()
    same = models.PositiveIntegerField()
    low = models.FloatField()
    high = models.FloatField()
    # (k, k) first x second, active categories in declared order.
    table = models.JSONField()
    # Values; shift, the mean difference of second and first answer, is null on nominal scales.
    kappa = models.JSONField()
    shift = models.JSONField(null=True)
    icc = models.JSONField(null=True)
    # [{"start": first day, "n", "same", "low", "high"}, ...], one per month with repeats.
    months = models.JSONField(default=list)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["question", "rater"], name="repeat_score_unique"),
            models.CheckConstraint(
                condition=Q(n__gte=1, same__lte=F("n")), name="repeat_score_of_answers"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id}: {self.same} of {self.n}"
