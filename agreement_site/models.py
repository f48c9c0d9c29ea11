"""Models of the site itself: sign-in limits, the audit log, preferences, mail."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from core.jobs.lease import Leased
from core.text import lower_first
from projects.models import Project, Question


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
    """A question with counted changes that no result includes yet (monitoring/health.py)."""

    question = models.OneToOneField(Question, models.CASCADE, primary_key=True, related_name="+")
    read_at = models.DateTimeField(null=True)  # CountState.refreshed_at at that time
    since = models.DateTimeField()

    def __str__(self) -> str:
        return f"question {self.question_id}: since {self.since:%Y-%m-%d %H:%M:%S}"


class AuditLogEntry(models.Model):
    """An entry of the audit log: rights, tokens, settings, gold answers, exports, sign-ins.

    It is written once and never changed. It has no foreign keys, but ids and names at the time of
    the event: so it stays when the objects are deleted.
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
    """Mark of an account whose password somebody else set; deleted when the owner changes it.

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
        LIGHT = "light", lower_first(_("Light"))
        DARK = "dark", lower_first(_("Dark"))

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


class NotificationSettings(models.Model):
    """A person's choice of mail, its times and language (agreement_site.notifications)."""

    class Digest(models.TextChoices):
        OFF = "off", _("Never")
        DAILY = "daily", _("Every day")
        WEEKLY = "weekly", _("Once a week")

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="notification_settings"
    )
    # Names in notifications.news.NEWS that are mailed when they happen.
    at_once = models.JSONField(default=list, blank=True)
    # Mail about the person: messages from leads, pauses, new projects.
    personal = models.BooleanField(default=True)
    digest = models.CharField(max_length=6, choices=Digest.choices, default=Digest.WEEKLY)
    weekday = models.PositiveSmallIntegerField(default=0)  # of a weekly digest; 0: Monday
    hour = models.PositiveSmallIntegerField(default=8)
    time_zone = models.CharField(max_length=64, default="UTC")
    # One of settings.LANGUAGES; empty: that of the pages.
    language = models.CharField(max_length=10, blank=True, default="")
    next_digest_at = models.DateTimeField(null=True, db_index=True)  # null: digest is off
    # Number of the last event that a digest contained, or that was there before the first.
    digest_event = models.BigIntegerField(default=0)

    class Meta:
        verbose_name_plural = "notification settings"
        constraints = [
            models.CheckConstraint(
                condition=Q(digest="off", next_digest_at=None)
                | Q(digest__in=["daily", "weekly"], next_digest_at__isnull=False),
                name="notifications_digest_has_time",
            ),
            models.CheckConstraint(
                condition=Q(weekday__lte=6, hour__lte=23), name="notifications_time_valid"
            ),
        ]

    def __str__(self) -> str:
        return f"user {self.user_id}: {self.digest}"


class QueuedMail(Leased):
    """A mail to one person, composed when it is sent; the worker that sends it holds the lease.

    Ended rows are kept for 30 days, without contents.
    """

    class Kind(models.TextChoices):
        DIGEST = "digest", lower_first(_("Digest"))
        NEWS = "news", _("project news")
        JOINED = "joined", lower_first(_("Invitation"))  # as a new or an existing account
        OFFERED = "offered", _("role offer")
        MESSAGE = "message", lower_first(_("Message from a lead"))
        PAUSED = "paused", lower_first(_("Pause"))

    class State(models.TextChoices):
        PENDING = "pending", _("not sent yet")
        SENT = "sent", _("sent")
        SKIPPED = "skipped", _("nothing to send")
        FAILED = "failed", _("not sent")

    kind = models.CharField(max_length=7, choices=Kind.choices)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="queued_mails")
    project = models.ForeignKey(Project, models.CASCADE, null=True, related_name="+")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    message_id = models.BigIntegerField(null=True)  # of the lead's message
    # Address of an invitation: it becomes the account's when the mailed link is used.
    address = models.CharField(max_length=254, blank=True)
    # The mail contains the events after `after_event` and up to `until_event`.
    after_event = models.BigIntegerField(default=0)
    until_event = models.BigIntegerField(default=0)
    state = models.CharField(max_length=7, choices=State.choices, default=State.PENDING)
    next_at = models.DateTimeField(null=True)  # of the next attempt; null when there is none
    attempts = models.PositiveSmallIntegerField(default=0)
    failures = models.PositiveSmallIntegerField(default=0)  # attempts that ended with an error
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state="pending", next_at__isnull=False)
                | Q(state__in=["sent", "skipped", "failed"], next_at=None),
                name="queued_mail_pending_has_time",
            ),
            models.CheckConstraint(
                condition=Q(kind="digest", project=None)
                | Q(
                    kind__in=["news", "joined", "offered", "message", "paused"],
                    project__isnull=False,
                ),
                name="queued_mail_kind_has_project",
            ),
            # News is added to the mail that waits.
            models.UniqueConstraint(
                fields=["user"],
                condition=Q(kind="digest", state="pending", attempts=0),
                name="queued_mail_one_digest",
            ),
            models.UniqueConstraint(
                fields=["user", "project"],
                condition=Q(kind="news", state="pending", attempts=0),
                name="queued_mail_one_news",
            ),
        ]
        indexes = [
            models.Index(fields=["next_at"], condition=Q(state="pending"), name="queued_mail_due"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} to user {self.user_id}: {self.state}"


class NewsCursor(models.Model):
    """Number of the last event whose mails are queued: one row, locked while mails are queued."""

    last_number = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return str(self.last_number)
