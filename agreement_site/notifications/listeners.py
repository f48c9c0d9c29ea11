"""Listeners of the hooks of projects: invitations are queued in the transaction of the change."""

from __future__ import annotations

import datetime
import logging
from typing import Any

from django.conf import settings
from django.utils import timezone

from agreement_site.models import QueuedMail
from projects.models import Member, MemberOffer

logger = logging.getLogger(__name__)

Kind = QueuedMail.Kind
# Per lead, so that nobody can use the site for mass mail. Links to copy have no limit.
MAX_INVITATIONS_A_DAY = 500


def queue_invitation(member: Member, by: Any, email: str) -> None:
    """Queue a mail to a member whom somebody else added.

    ``email``: address of a new account. Where it is empty, it is that of an earlier invitation.
    """
    if settings.SMTP_URL:
        earlier = QueuedMail.objects.filter(user=member.user_id, kind=Kind.JOINED)
        addresses = earlier.exclude(address="").order_by("-pk").values_list("address", flat=True)
        address = email or addresses.first() or ""
        if address or member.user.email:
            _queue(Kind.JOINED, member.user_id, member.project_id, by, address=address)


def queue_offer(offer: MemberOffer, by: Any) -> None:
    """Queue a mail to the owner of an account to whom a role was offered."""
    if settings.SMTP_URL and offer.user is not None and offer.user.email:
        _queue(Kind.OFFERED, offer.user.pk, offer.project_id, by)


def _queue(kind: str, user_id: int, project_id: int, by: Any, **fields: Any) -> None:
    now = timezone.now()
    recent = QueuedMail.objects.filter(
        by=by.pk,
        kind__in=[Kind.JOINED, Kind.OFFERED],
        created_at__gt=now - datetime.timedelta(days=1),
    )
    if recent.count() >= MAX_INVITATIONS_A_DAY:
        logger.warning("user %s has invited %s people today", by.pk, MAX_INVITATIONS_A_DAY)
        return
    QueuedMail.objects.create(
        kind=kind,
        user_id=user_id,
        project_id=project_id,
        by_id=by.pk,
        next_at=now,
        created_at=now,
        **fields,
    )
