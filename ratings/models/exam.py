"""Exams that raters pass before they rate real items."""

from __future__ import annotations

from typing import TypedDict

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from projects.models import Question, Rater


class ExamQuerySet(models.QuerySet):
    def latest_failed(self) -> ExamQuerySet:
        """Return the failed exams that are the rater's latest attempt for the question.

        After an attempt that a lead granted, or a waiver, the failed one is not the latest.
        """
        later_attempts = self.model._default_manager.filter(
            question=OuterRef("question"), rater=OuterRef("rater"), number__gt=OuterRef("number")
        )
        return self.filter(~Exists(later_attempts), state="failed")


class ExamTest(TypedDict):
    """Parameters of an exam's sequential test, as ``Exam.rules`` stores them (see ExamRules)."""

    p_fail: float
    p_pass: float
    alpha: float
    beta: float
    max_answers: int


class ExamRules(models.Model):
    """Exam settings of a question: if an exam is required, and its test parameters.

    One row per question whose rules were ever set.
    """

    question = models.OneToOneField(
        Question, models.CASCADE, primary_key=True, related_name="exam_rules"
    )
    required = models.BooleanField(default=False, db_default=False)
    # Wald's sequential test: a rater who is right with probability p_fail passes with probability
    # at most alpha; one who is right with probability p_pass fails with probability at most beta
    # (metrics.agreement.rater_quality.gold.exam).
    p_fail = models.FloatField(default=0.6)
    p_pass = models.FloatField(default=0.8)
    alpha = models.FloatField(default=0.05)
    beta = models.FloatField(default=0.05)
    max_answers = models.PositiveSmallIntegerField(default=50)
    max_attempts = models.PositiveSmallIntegerField(default=2)

    class Meta:
        verbose_name_plural = "exam rules"
        constraints = [
            models.CheckConstraint(
                condition=Q(p_fail__gt=0, p_fail__lt=F("p_pass"), p_pass__lt=1),
                name="exam_rules_pass_above_fail",
            ),
            models.CheckConstraint(
                condition=Q(alpha__gt=0, alpha__lte=0.5, beta__gt=0, beta__lte=0.5),
                name="exam_rules_errors",
            ),
            models.CheckConstraint(
                condition=Q(max_answers__gte=1, max_attempts__gte=1), name="exam_rules_positive"
            ),
        ]

    def __str__(self) -> str:
        return f"question {self.question_id}: {'required' if self.required else 'none'}"

    def get_test_parameters(self) -> ExamTest:
        """Return the parameters of the test as an exam stores them in ``Exam.rules``."""
        return ExamTest(
            p_fail=self.p_fail,
            p_pass=self.p_pass,
            alpha=self.alpha,
            beta=self.beta,
            max_answers=self.max_answers,
        )


class Exam(models.Model):
    """One attempt of a rater at an exam, or a lead's waiver.

    The answers are also stored as check answers.
    """

    class State(models.TextChoices):
        OPEN = "open", _("under way")
        PASSED = "passed", _("passed")
        FAILED = "failed", _("not passed")
        WAIVED = "waived", _("waived")

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="exams")
    number = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=6, choices=State.choices, default=State.OPEN)
    # The test parameters when the exam started (ExamRules.get_test_parameters), and the ids of the
    # items in their random order.
    rules = models.JSONField(default=dict)
    items = models.JSONField(default=list)
    # [[item id, code, right, gold id], ...] in the order of answering; right is null where the gold
    # answer was retired meanwhile: such an answer is not scored.
    answers = models.JSONField(default=list)
    # The error probability of the outcome (ExamResult in ratings.annotation.assignments.exams).
    error_probability = models.FloatField(null=True, blank=True)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    # The lead who granted this attempt or waived the exam, and why.
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    reason = models.TextField(blank=True)

    objects = ExamQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["question", "rater", "number"], name="exam_number_unique"
            ),
            models.UniqueConstraint(
                fields=["question", "rater"], condition=Q(state="open"), name="exam_one_open"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["open", "passed", "failed", "waived"]),
                name="exam_state_known",
            ),
            models.CheckConstraint(
                condition=Q(state="open", ended_at__isnull=True)
                | (~Q(state="open") & Q(ended_at__isnull=False)),
                name="exam_ended_has_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id}, {self.question_id}: {self.number} {self.state}"

    @property
    def n_scored(self) -> int:
        return len(self.scored_answers)

    @property
    def scored_answers(self) -> list[bool]:
        """Return whether each scored answer is correct, in the order of answering."""
        return [right for _item, _code, right, _gold in self.answers if right is not None]

    @property
    def n_right(self) -> int:
        """Return the number of correct answers."""
        return sum(self.scored_answers)

    @property
    def fail_rate_per_ten(self) -> float:
        """Return p_fail times 10: correct answers in 10 of a rater who should fail."""
        return 10 * float(self.rules.get("p_fail", 0))

    @property
    def pass_rate_per_ten(self) -> float:
        """Return p_pass times 10: correct answers in 10 of a rater who should pass."""
        return 10 * float(self.rules.get("p_pass", 0))

    @property
    def wrong_once_in(self) -> int | None:
        """Return N if at most one of N such outcomes is wrong; None without a probability."""
        return int(1 / self.error_probability + 1e-9) if self.error_probability else None

    @property
    def next_answer_number(self) -> int:
        """Return the number of the next answer, from 1."""
        return len(self.answers) + 1

    @property
    def max_answers(self) -> int:
        """Return the maximum number of answers."""
        return min(int(self.rules.get("max_answers", 0)), len(self.items))
