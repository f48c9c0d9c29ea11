"""Gates of questions, their verdicts, and the public keys of their signatures."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import pgettext_lazy

from core.jobs.on_demand import OnDemandResult
from projects.models import Project, Question

from .recomputed import RecomputedResult

MAX_GATE_NAME_LENGTH = 80


class VerdictValue(models.TextChoices):
    """The verdict of a gate, or of one of its rules."""

    PASS = "pass", pgettext_lazy("a gate", "Passed")
    FAIL = "fail", pgettext_lazy("a gate", "Failed")
    NOT_ENOUGH = "not_enough", pgettext_lazy("a gate", "Not enough data")


class Gate(models.Model):
    """Rules that the ratings of a question must meet, with the last verdict that a worker gave.

    ``rules``: as the API takes them (quality.gates.rules). ``verdict`` is empty until a worker has
    decided; ``document`` is the signed verdict as the API returns it.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="gates", db_index=False)
    question = models.ForeignKey(Question, models.CASCADE, related_name="gates")
    name = models.CharField(max_length=MAX_GATE_NAME_LENGTH)
    rules = models.JSONField()
    verdict = models.CharField(max_length=10, choices=VerdictValue.choices, blank=True)
    document = models.JSONField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="gate_unique"),
            models.CheckConstraint(condition=~Q(name=""), name="gate_has_name"),
            models.CheckConstraint(
                condition=Q(verdict__in=["", *VerdictValue.values]), name="gate_verdict_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class GateState(RecomputedResult):
    """The last verdicts on the gates of a question; the worker that computes them has its lease."""

    question = models.OneToOneField(
        Question, models.CASCADE, primary_key=True, related_name="gate_state"
    )

    def __str__(self) -> str:
        return f"question {self.question_id}"


class GateVerdict(OnDemandResult):
    """A requested verdict on a large question; it can be computed again at any time."""

    gate = models.ForeignKey(Gate, models.CASCADE, related_name="verdicts", db_index=False)
    as_of = models.DateTimeField()
    document = models.JSONField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["gate", "as_of"], name="gate_verdict_unique"),
            models.CheckConstraint(
                condition=Q(pending=True) | Q(document__isnull=False),
                name="gate_verdict_has_document",
            ),
        ]
        indexes = [
            models.Index(
                fields=["requested_at"], condition=Q(pending=True), name="gate_verdict_pending"
            )
        ]

    def __str__(self) -> str:
        return f"{self.gate_id} as of {self.as_of:%Y-%m-%d %H:%M}"


class SigningKey(models.Model):
    """A public key with which verdicts can be verified; the private key is a file.

    Never deleted, so that old verdicts can still be verified. ``key_id``: the SHA-256 of the key
    (RFC 7638); ``public_key``: its 32 bytes in base64url.
    """

    key_id = models.CharField(max_length=43, primary_key=True)
    public_key = models.CharField(max_length=43)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["created_at"]

    def __str__(self) -> str:
        return self.key_id
