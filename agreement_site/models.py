"""Models of the site itself: sign-in limits, the audit log, preferences."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from projects.models import Question


class AttemptCounter(models.Model):
    """Number of attempts of a name, network or account since ``since`` (see attempt_limits)."""

    # A digest, because people type passwords into the name field.
    key = models.CharField(max_length=64, unique=True)
    since = models.DateTimeField(db_index=True)  # the index finds the old rows to remove
    count = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name_plural = "attempt counters"

    def __str__(self) -> str:
        return f"{self.count} since {self.since:%Y-%m-%d %H:%M}"


class StaleQuestion(models.Model):
    """A question with counted changes that no result includes yet (monitoring/stale_results.py)."""

    question = models.OneToOneField(Question, models.CASCADE, primary_key=True, related_name="+")
    read_at = models.DateTimeField(null=True)  # CountState.refreshed_at at that time
    since = models.DateTimeField()

    def __str__(self) -> str:
        return f"question {self.question_id}: since {self.since:%Y-%m-%d %H:%M:%S}"


class AuditLogEntry(models.Model):
    """An entry of the audit log: rights, tokens, settings, gold answers, exports, sign-ins.

    It is written once and never changed. It has ids and names as they were and no foreign keys, so
    it stays when the objects are deleted.
    """

    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    action = models.CharField(max_length=40)
    actor_id = models.BigIntegerField(null=True)
    actor = models.CharField(max_length=150, blank=True)
    project_id = models.BigIntegerField(null=True)
    address = models.CharField(max_length=60, blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    details = models.JSONField(default=dict)

    class Meta:
        verbose_name_plural = "audit log entries"
        ordering = ["-id"]
        # one for each filter of the page, in its order
        indexes = [
            models.Index(fields=["project_id", "-id"], name="audit_by_project"),
            models.Index(fields=["project_id", "action", "-id"], name="audit_by_project_action"),
            models.Index(fields=["project_id", "actor", "-id"], name="audit_by_project_actor"),
            models.Index(fields=["action", "-id"], name="audit_by_action"),
            models.Index(fields=["actor", "-id"], name="audit_by_actor"),
        ]

    def __str__(self) -> str:
        return f"{self.created_at:%Y-%m-%d %H:%M:%S} {self.action} by {self.actor or 'nobody'}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("An entry of the audit log is written once and never changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("An entry of the audit log is never deleted.")


class PasswordChangeRequired(models.Model):
    """Marks an account whose password somebody else set, until it is changed.

    The owner must change it before anything else (accounts/required_actions.py).
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="password_change_required",
    )
    since = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"user {self.user_id}, since {self.since:%Y-%m-%d %H:%M}"


class Preference(models.Model):
    """A user's language and theme; empty values, or no row, mean the browser's preference."""

    class Theme(models.TextChoices):
        LIGHT = "light", _("light")
        DARK = "dark", _("dark")

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="preference"
    )
    # One of settings.LANGUAGES. No choices, so a new language needs no migration.
    language = models.CharField(max_length=10, blank=True, default="", db_default="")
    theme = models.CharField(
        max_length=5, choices=Theme.choices, blank=True, default="", db_default=""
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(theme__in=["", "light", "dark"]), name="preference_theme_valid"
            )
        ]

    def __str__(self) -> str:
        return " ".join(filter(None, (self.language, self.theme)))
