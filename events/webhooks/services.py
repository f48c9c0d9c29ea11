"""Create, change, pause and delete webhooks, and send deliveries again.

Every change is in the audit log, with the host of the address alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _

from core import security_log
from core.jobs.dispatch import start_task
from core.web.forms import InvalidFields
from events.kinds import KINDS
from events.models import Delivery, Webhook
from events.services import record_event
from projects.models import Project
from projects.permissions import get_project_or_site

from . import chat, http_client, signing
from .chat import DEFAULT_KINDS

MAX_WEBHOOKS = 20  # of a project, and of the site
MAX_ROBOT_SECRET_LENGTH = 200
Format = Webhook.Format


class InvalidWebhook(InvalidFields):
    """A value of a webhook is not valid, or the action is not possible."""


def list_webhooks(project: Project | None) -> QuerySet[Webhook]:
    """Return the webhooks of a project, or those of the site for None, oldest first."""
    return Webhook.objects.filter(project=project).order_by("pk")


def get_webhook(
    user: Any, project_id: int | None, webhook_id: int, *, token: Any = None
) -> Webhook:
    """Return a webhook that the user may manage, with its project and the user's role in it.

    ``project_id``: None for a webhook of the site; ``token``: the API token of the request, None on
    pages. Raises Http404 or PermissionDenied.
    """
    project = get_project_or_site(user, project_id, token=token)
    webhook = list_webhooks(project).filter(pk=webhook_id).first()
    if webhook is None:
        raise Http404("No such webhook.")
    webhook.project = project
    return webhook


@transaction.atomic
def create_webhook(
    *,
    project: Project | None,
    url: str,
    kinds: Sequence[str],
    with_items: bool = False,
    format: str = Format.CONCORD,
    language: str = "",
    robot_secret: str = "",
    by: Any,
) -> tuple[Webhook, str]:
    """Create a webhook; return it with its secret ("" for a chat), which is not shown again.

    ``project``: None for the site; ``kinds``: names of kinds; if empty, all kinds, or for a chat
    DEFAULT_KINDS. Raises InvalidWebhook for an invalid value, and beyond MAX_WEBHOOKS webhooks.
    """
    webhook = Webhook(
        project=project,
        url=url,
        kinds=list(dict.fromkeys(kinds)),
        with_items=with_items,
        format=format,
        language=language,
        robot_secret=robot_secret,
        nonce=signing.generate_nonce(),
        created_by=by,
        created_at=timezone.now(),
    )
    if webhook.is_chat and not webhook.kinds:
        webhook.kinds = list(DEFAULT_KINDS)
    _validate_webhook(webhook)
    if project is not None:
        Project.objects.select_for_update().get(pk=project.pk)
    if list_webhooks(project).count() >= MAX_WEBHOOKS:
        raise InvalidWebhook(
            url=_("At most %(n)s are allowed. Remove one first.") % {"n": MAX_WEBHOOKS}
        )
    webhook.save()
    _log_change("webhook_created", webhook, by, after=_build_log_values(webhook))
    return webhook, "" if webhook.is_chat else signing.derive_secret(webhook.nonce)


@transaction.atomic
def change_webhook(*, webhook: Webhook, by: Any, **changes: Any) -> Webhook:
    """Change some fields of a webhook and return it.

    ``changes``: any of url, kinds, with_items, format, language, robot_secret and paused. Once it
    is resumed, pending deliveries are sent, and new events are delivered. Raises InvalidWebhook.
    """
    row = Webhook.objects.select_for_update().get(pk=webhook.pk)
    before, secret_before = _build_log_values(row), row.robot_secret
    is_paused = changes.pop("paused", row.is_paused)
    for name, value in changes.items():
        setattr(row, name, value)
    if "robot_secret" not in changes and row.format not in chat.SIGNED_FORMATS:
        row.robot_secret = changes["robot_secret"] = ""
    if row.is_chat and not row.kinds:
        row.kinds = list(DEFAULT_KINDS)
    _validate_webhook(row, is_new_url="url" in changes)
    if is_paused != row.is_paused:
        row.paused_at = timezone.now() if is_paused else None
        row.pause_reason = Webhook.PauseReason.PERSON if is_paused else ""
        row.failing_since = None
    row.save(update_fields=[*{*changes, "kinds"}, "paused_at", "pause_reason", "failing_since"])
    after = _build_log_values(row)
    if before != after or "url" in changes or row.robot_secret != secret_before:
        _log_change("webhook_changed", row, by, before=before, after=after)
    return row


@transaction.atomic
def rotate_secret(*, webhook: Webhook, by: Any) -> str:
    """Replace the webhook's secret and return the new one, which cannot be shown again.

    The old one stays valid for 24 hours. Raises InvalidWebhook for a chat, whose robot has its own.
    """
    row = Webhook.objects.select_for_update().get(pk=webhook.pk)
    if row.is_chat:
        raise InvalidWebhook(format="Chat messages are not signed.")
    row.previous_nonce, row.nonce = row.nonce, signing.generate_nonce()
    row.rotated_at = timezone.now()
    row.save(update_fields=["previous_nonce", "nonce", "rotated_at"])
    _log_change("webhook_secret_changed", row, by)
    return signing.derive_secret(row.nonce)


@transaction.atomic
def delete_webhook(*, webhook: Webhook, by: Any) -> None:
    """Delete a webhook with its deliveries."""
    _log_change("webhook_deleted", webhook, by, before=_build_log_values(webhook))
    webhook.delete()


@transaction.atomic
def send_test(*, webhook: Webhook, by: Any) -> Delivery:
    """Create a test delivery, which a worker sends at once, and return it.

    Raises InvalidWebhook if the webhook is paused.
    """
    _require_active(webhook)
    now = timezone.now()
    delivery = Delivery.objects.create(webhook=webhook, next_at=now, created_at=now)
    _log_change("webhook_sent", webhook, by, delivery=delivery.pk)
    start_delivery_on_commit(webhook)
    return delivery


@transaction.atomic
def resend_delivery(*, delivery: Delivery, by: Any) -> Delivery:
    """Make a delivery due again, with as many attempts as a new one, and return it.

    Raises InvalidWebhook if the webhook is paused.
    """
    _require_active(delivery.webhook)
    row = Delivery.objects.select_for_update(of=("self",)).get(pk=delivery.pk)
    row.state, row.attempts, row.next_at = Delivery.State.PENDING, 0, timezone.now()
    row.save(update_fields=["state", "attempts", "next_at"])
    _log_change("webhook_sent", delivery.webhook, by, delivery=row.pk)
    start_delivery_on_commit(delivery.webhook)
    return row


def start_delivery_on_commit(webhook: Webhook) -> None:
    """Start the task that sends a webhook's deliveries once the transaction is committed.

    If the message is lost, a sweep sends them.
    """
    webhook_id = webhook.pk
    transaction.on_commit(
        lambda: start_task("events.tasks.deliver_to_webhook", webhook_id), robust=True
    )


def pause_webhook(webhook: Webhook, reason: str) -> None:
    """Pause a webhook because its address failed or is gone, in the caller's transaction.

    ``reason``: a Webhook.PauseReason. An event is recorded only for a webhook of a project.
    """
    webhook.paused_at, webhook.pause_reason = timezone.now(), reason
    webhook.save(update_fields=["paused_at", "pause_reason"])
    _log_change("webhook_paused", webhook, None, reason=reason)
    if webhook.project_id is not None:
        record_event(
            project_id=webhook.project_id,
            kind="webhook.paused",
            subject=f"webhook/{webhook.pk}",
            data={"webhook": webhook.pk, "host": webhook.host, "reason": reason},
        )


def _validate_webhook(webhook: Webhook, *, is_new_url: bool = True) -> None:
    """Raise InvalidWebhook for an invalid value; the URL is checked only if ``is_new_url``.

    With a robot secret the URL is always checked, because the signature makes it longer.
    """
    unknown = [kind for kind in webhook.kinds if kind not in KINDS]
    if unknown:
        raise InvalidWebhook(
            kinds=f"Unknown event type “{unknown[0][:60]}”. Use one of {', '.join(KINDS)}."
        )
    choices = {"format": Format.values, "language": ["", *dict(settings.LANGUAGES)]}
    for name, values in choices.items():
        if getattr(webhook, name) not in values:
            message = f"Use one of {', '.join(filter(None, values))}."
            raise InvalidWebhook(**{name: message})
    secret = webhook.robot_secret
    if secret and webhook.format not in chat.SIGNED_FORMATS:
        raise InvalidWebhook(robot_secret=_("Only for DingTalk and Feishu."))
    if len(secret) > MAX_ROBOT_SECRET_LENGTH or not (secret.isascii() and secret.isprintable()):
        message = _("Copy it from the robot's settings.")
        raise InvalidWebhook(robot_secret=message)
    if is_new_url or secret:
        url = webhook.url
        if secret and webhook.format == Format.DINGTALK:  # what is requested
            url = chat.sign_dingtalk_url(url, secret, timezone.now())
        try:
            http_client.validate_url(url)
        except http_client.InvalidUrl as error:
            raise InvalidWebhook(url=str(error)) from None


def _require_active(webhook: Webhook) -> None:
    if webhook.is_paused:
        raise InvalidWebhook(paused=_("Paused: resume it first."))


def _build_log_values(webhook: Webhook) -> dict[str, Any]:
    return {
        "host": webhook.host,
        "format": webhook.format,
        "language": webhook.language,
        "kinds": list(webhook.kinds),
        "with_items": webhook.with_items,
        "paused": webhook.is_paused,
    }


def _log_change(action: str, webhook: Webhook, by: Any, **fields: Any) -> None:
    security_log.log_event(
        action,
        project_id=webhook.project_id,
        by=None if by is None else by.pk,
        webhook=webhook.pk,
        **fields,
    )
