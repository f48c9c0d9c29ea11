"""Exams before the first real item."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from projects.models import Question, Rater


class ExamRules(models.Model):
    """Whether raters are examined before they rate items of a question, and how. One row a question
    of which that was ever said."""

    question = models.OneToOneField(
        Question, models.CASCADE, primary_key=True, related_name="exam_rules"
    )
    required = models.BooleanField(default=False, db_default=False)
    # Wald's sequential test: who is right with p_fail passes with probability alpha at most, who is
    # right with p_pass fails with beta at most (metrics.agreement.rater_quality.gold.exam).
    p_fail = models.FloatField(default=0.6)
    p_pass = models.FloatField(default=0.8)
    alpha = models.FloatField(default=0.05)
    beta = models.FloatField(default=0.05)
    most = models.PositiveSmallIntegerField(default=50)
    tries = models.PositiveSmallIntegerField(default=2)

    class Meta:
        verbose_name_plural = "exam rules"
        constraints = [
            models.CheckConstraint(
                condition=Q(p_fail__gt=0, p_fail__lt=F("p_pass"), p_pass__lt=1),
                name="exam_rules_apart",
            ),
            models.CheckConstraint(
                condition=Q(alpha__gt=0, alpha__lte=0.5, beta__gt=0, beta__lte=0.5),
                name="exam_rules_errors",
            ),
            models.CheckConstraint(
                condition=Q(most__gte=1, tries__gte=1), name="exam_rules_some_items"
            ),
        ]

    def __str__(self) -> str:
        return f"question {self.question_id}: {'required' if self.required else 'none'}"

    def test(self) -> dict[str, Any]:
        """The numbers of the test, as an exam keeps them."""
        names = ("p_fail", "p_pass", "alpha", "beta", "most")
        return {name: getattr(self, name) for name in names}


class Exam(models.Model):
    """One try of a rater, or that a lead let them off. What was answered stands in Apart as well,
    with all questions of the project."""

    class State(models.TextChoices):
        OPEN = "open", _("under way")
        PASSED = "passed", _("passed")
        FAILED = "failed", _("not passed")
        WAIVED = "waived", _("waived")

    question = models.ForeignKey(Question, models.CASCADE, related_name="+", db_index=False)
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="exams")
    number = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=6, choices=State.choices, default=State.OPEN)
    # The test as it was when the exam was drawn (ExamRules.test), and the ids of the items in the
    # order that was drawn.
    rules = models.JSONField(default=dict)
    items = models.JSONField(default=list)
    # [[item id, code, right, gold id], ...] as answered; right is null where the gold answer was
    # retired meanwhile: it counts for nothing.
    course = models.JSONField(default=list)
    # The probability of the error that the outcome may be (ratings.annotation.assignments.exams.Verdict).
    chance = models.FloatField(null=True, blank=True)
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    # Who granted this try or waived the exam, and why.
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    reason = models.TextField(blank=True)

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
    def answered(self) -> list[bool]:
        """Right or wrong, in the order of answering, without what counts for nothing."""
        return [right for _item, _code, right, _gold in self.course if right is not None]

    @property
    def right(self) -> int:
        return sum(self.answered)

    @property
    def per_ten_fail(self) -> float:
        """Who is right so many times in 10 is not to pass."""
        return 10 * float(self.rules.get("p_fail", 0))

    @property
    def per_ten_pass(self) -> float:
        """Who is right so many times in 10 is to pass."""
        return 10 * float(self.rules.get("p_pass", 0))

    @property
    def one_in(self) -> int | None:
        """The error that the outcome may be happens once in so many at most."""
        return int(1 / self.chance + 1e-9) if self.chance else None

    @property
    def place(self) -> int:
        """The number of the answer that comes next."""
        return len(self.course) + 1

    @property
    def most(self) -> int:
        """So many answers at most."""
        return min(int(self.rules.get("most", 0)), len(self.items))
