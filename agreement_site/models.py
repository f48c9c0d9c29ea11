"""What the site itself keeps."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from projects.models import Question


class SignInTries(models.Model):
    """Tries to sign in, counted since ``since``: of one name from one address, or of one address.
    See sign_in_limit."""

    # A digest: people type passwords into the field of the name.
    key = models.CharField(max_length=64, unique=True)
    since = models.DateTimeField(db_index=True)  # read when old rows are removed
    tries = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name_plural = "sign-in tries"

    def __str__(self) -> str:
        return f"{self.tries} since {self.since:%Y-%m-%d %H:%M}"


class UnreadSince(models.Model):
    """Something of a question is counted and in no reading since then (answers/unread.py)."""

    question = models.OneToOneField(Question, models.CASCADE, primary_key=True, related_name="+")
    read_at = models.DateTimeField(null=True)  # CountState.read_at as it was then
    since = models.DateTimeField()

    def __str__(self) -> str:
        return f"question {self.question_id}: since {self.since:%Y-%m-%d %H:%M:%S}"


class TrailLine(models.Model):
    """What somebody did that others may ask about: rights, tokens, settings, gold answers, exports,
    signing in. Written once, never changed.

    Ids and names as they were, and no foreign keys: a line stays when what it speaks of is gone.
    """

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    what = models.CharField(max_length=40)
    actor_id = models.BigIntegerField(null=True)
    actor = models.CharField(max_length=150, blank=True)
    project_id = models.BigIntegerField(null=True)
    address = models.CharField(max_length=60, blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    details = models.JSONField(default=dict)

    class Meta:
        ordering = ["-id"]
        # each way in which the page narrows them, in its order
        indexes = [
            models.Index(fields=["project_id", "-id"], name="trail_by_project"),
            models.Index(fields=["project_id", "what", "-id"], name="trail_by_project_act"),
            models.Index(fields=["project_id", "actor", "-id"], name="trail_by_project_actor"),
            models.Index(fields=["what", "-id"], name="trail_by_act"),
            models.Index(fields=["actor", "-id"], name="trail_by_actor"),
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.what} by {self.actor or 'nobody'}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("A line of the trail is written once and never changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("A line of the trail is never deleted.")


class KnownPassword(models.Model):
    """The account's password is known to somebody else: who made it, or a file. Its owner chooses
    another one before anything else (accounts/requirement.py)."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="known_password",
    )
    since = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"user {self.user_id}, since {self.since:%Y-%m-%d %H:%M}"


class Preference(models.Model):
    """What a user has chosen about the site itself; what is empty, and all without a row, is as the
    browser asks for it."""

    class Theme(models.TextChoices):
        LIGHT = "light", _("light")
        DARK = "dark", _("dark")

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="preference"
    )
    # one of settings.LANGUAGES; a new one there is no migration here
    language = models.CharField(max_length=10, blank=True, default="", db_default="")
    theme = models.CharField(
        max_length=5, choices=Theme.choices, blank=True, default="", db_default=""
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(theme__in=["", "light", "dark"]), name="preference_theme_known"
            )
        ]

    def __str__(self) -> str:
        return " ".join(filter(None, (self.language, self.theme)))
