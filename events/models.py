"""Models of events, of their feed, and of webhooks with their deliveries."""

from __future__ import annotations

from typing import Any, NoReturn
from urllib.parse import urlsplit

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from core.jobs.lease import Leased
from projects.models import Project


class Event(models.Model):
    """Something that happened in a project or its data, as the feed and webhooks report it.

    Written once, in the transaction of the change that it describes, and never changed, except that
    the keys of raters in its data follow those of the raters.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="events", db_index=False)
    # A name in events.kinds.KINDS.
    kind = models.CharField(max_length=40)
    # The object of the event: "alert/12".
    subject = models.CharField(max_length=100, blank=True)
    # Details, as names and numbers.
    data = models.JSONField(default=dict)
    # The acting user; null when the program did it.
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    at = models.DateTimeField()
    # Place in the feed, given after the commit (events.feed), because ids are given before it: a
    # reader of ids would miss an event that is committed after one with a higher id. Null: not yet.
    number = models.BigIntegerField(null=True, unique=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.CheckConstraint(condition=~Q(kind=""), name="event_kind_not_empty")]
        indexes = [
            models.Index(fields=["project", "number"], name="event_by_project"),
            # The latest event of a kind about something.
            models.Index(fields=["project", "kind", "subject", "id"], name="event_by_subject"),
            # Events without a number.
            models.Index(fields=["id"], condition=Q(number=None), name="event_unpublished"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.subject}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise TypeError("An event is written once and never changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("An event is never deleted.")


class FeedState(models.Model):
    """The last number of the feed: one row, which a publisher locks."""

    last_number = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return str(self.last_number)


class EventBatch(models.Model):
    """Changes of items that are collected into one event, at most one a minute (events.feed)."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=40)
    subject = models.CharField(max_length=100)
    question = models.CharField(max_length=64)  # key of a question
    changes = models.PositiveIntegerField(default=0)  # 0: no event is due
    items = models.JSONField(default=list)  # keys of the first changed items
    next_at = models.DateTimeField()  # no event before this time

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "kind", "subject"], name="event_batch_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.changes}"


class Webhook(Leased):
    """An address that gets the events of a project, or of the whole site.

    The worker that delivers to it holds its lease, so it gets one request at a time.
    """

    class PauseReason(models.TextChoices):
        PERSON = "person", _("paused")
        GONE = "gone", _("paused: the address is gone (410)")
        FAILING = "failing", _("paused: failed for five days")

    class Format(models.TextChoices):
        CONCORD = "concord", _("Signed JSON (Standard Webhooks)")
        SLACK = "slack", "Slack"
        TEAMS = "teams", "Microsoft Teams"
        DINGTALK = "dingtalk", _("DingTalk")
        FEISHU = "feishu", _("Feishu")
        WECOM = "wecom", _("WeCom")

    # Null: all projects; such webhooks are the administrators'.
    project = models.ForeignKey(
        Project, models.CASCADE, null=True, blank=True, related_name="webhooks"
    )
    url = models.CharField(max_length=500)
    # Names in events.kinds.KINDS; empty: all.
    kinds = models.JSONField(default=list, blank=True)
    # Whether the items that an event names are sent with their contents.
    with_items = models.BooleanField(default=False)
    # What is sent: a signed body for programs, or a message for a chat (events.webhooks.chat).
    format = models.CharField(
        max_length=8, choices=Format.choices, default=Format.CONCORD, db_default=Format.CONCORD
    )
    # Language of chat messages: one of settings.LANGUAGES, English when empty.
    language = models.CharField(max_length=10, blank=True, default="", db_default="")
    # The secret that a chat robot expects signatures by. Unlike a webhook's own secret it comes
    # from the other side, so it is stored; neither pages nor the API show it.
    robot_secret = models.CharField(max_length=200, blank=True, default="", db_default="")
    # What its secret is derived from (events.webhooks.signing); the secret itself is not stored.
    nonce = models.CharField(max_length=32)
    previous_nonce = models.CharField(max_length=32, blank=True)
    rotated_at = models.DateTimeField(null=True, blank=True)
    paused_at = models.DateTimeField(null=True, blank=True)
    pause_reason = models.CharField(max_length=7, choices=PauseReason.choices, blank=True)
    # Since when every attempt failed; null after a success.
    failing_since = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(paused_at=None, pause_reason="")
                | Q(paused_at__isnull=False, pause_reason__in=["person", "gone", "failing"]),
                name="webhook_pause_has_reason",
            ),
            models.CheckConstraint(
                condition=Q(
                    format__in=["concord", "slack", "teams", "dingtalk", "feishu", "wecom"]
                ),
                name="webhook_format_valid",
            ),
            models.CheckConstraint(
                condition=Q(format__in=["dingtalk", "feishu"]) | Q(robot_secret=""),
                name="webhook_robot_secret_has_use",
            ),
        ]

    def __str__(self) -> str:
        return self.host

    @property
    def is_paused(self) -> bool:
        return self.paused_at is not None

    @property
    def is_chat(self) -> bool:
        return self.format != self.Format.CONCORD

    @property
    def host(self) -> str:
        """Return the host of the address; pages and logs show no more of it.

        The rest may contain a secret.
        """
        return urlsplit(self.url).hostname or ""


class Delivery(models.Model):
    """An event to be sent to a webhook, with its state and its latest attempts."""

    class State(models.TextChoices):
        PENDING = "pending", _("not delivered yet")
        DELIVERED = "delivered", _("delivered")
        FAILED = "failed", _("not delivered")

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries", db_index=False)
    # Null: a test.
    event = models.ForeignKey(Event, models.CASCADE, null=True, blank=True, related_name="+")
    state = models.CharField(max_length=9, choices=State.choices, default=State.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)  # of the current round of attempts
    next_at = models.DateTimeField(null=True)  # of the next attempt; null when there is none
    created_at = models.DateTimeField()
    # [{"at", "status", "error", "answer", "seconds"}, ...], the oldest attempt first; at most
    # outbox.MAX_LOG_LENGTH.
    log = models.JSONField(default=list)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["webhook", "event"], name="delivery_unique"),
            models.CheckConstraint(
                condition=Q(state="pending", next_at__isnull=False)
                | Q(state__in=["delivered", "failed"], next_at=None),
                name="delivery_pending_has_time",
            ),
        ]
        indexes = [
            # The next ones to send.
            models.Index(
                F("webhook"), F("next_at"), condition=Q(state="pending"), name="delivery_due"
            ),
            # The log of a webhook, newest first.
            models.Index(fields=["webhook", "-id"], name="delivery_by_webhook"),
        ]

    def __str__(self) -> str:
        return f"{self.message_id}: {self.state}"

    @property
    def message_id(self) -> str:
        """Return the header webhook-id: equal at each attempt, to show repetitions."""
        return f"test-{self.pk}" if self.event is None else str(self.event.number)
