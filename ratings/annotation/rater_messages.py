"""Messages from leads to raters: possible readers, sending, and marking as read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from core import security_log
from core.text import describe_length, has_nul
from events.services import record_event
from projects.models import Member, Rater
from projects.models.roles import Capability, list_roles_with
from ratings.models import RaterMessage

MAX_LENGTH = 2_000


class InvalidRaterMessage(ValueError):
    """The message cannot be sent; the text of the exception says why."""


def list_readers(raters: Iterable[Rater]) -> list[Rater]:
    """Return those of the raters whose users may rate in the project and so can read messages."""
    member = Member.objects.filter(
        project=OuterRef("project"),
        user=OuterRef("user"),
        role__in=list_roles_with(Capability.RATE),
    )
    rows = Rater.objects.filter(pk__in=[rater.pk for rater in raters], kind=Rater.Kind.HUMAN)
    rows = rows.filter(Exists(member) | Q(user__is_superuser=True), user__is_active=True)
    return list(rows.order_by("key"))


@transaction.atomic
def send_messages(*, raters: Sequence[Rater], text: str, by: Any) -> list[RaterMessage]:
    """Send a text to each rater who does not have the same text unread; return the messages.

    Raises InvalidRaterMessage if the text is empty, too long or has a NUL character, or if there
    are no raters. The audit log and the event name the message, not its text, so that the text
    disappears when the person's data are deleted.
    """
    text = text.replace("\r\n", "\n").strip()
    if not text:
        raise InvalidRaterMessage(_("Enter a message first."))
    if len(text) > MAX_LENGTH or has_nul(text):
        raise InvalidRaterMessage(describe_length(MAX_LENGTH))
    if not raters:
        raise InvalidRaterMessage(_("None of them can read messages."))
    unread = RaterMessage.objects.filter(rater__in=raters, text=text, read_at=None)
    notified_ids = set(unread.values_list("rater_id", flat=True))
    return [_create_message(rater, text, by) for rater in raters if rater.pk not in notified_ids]


def _create_message(rater: Rater, text: str, by: Any) -> RaterMessage:
    message = RaterMessage.objects.create(rater=rater, text=text, sender=by, sent_at=timezone.now())
    security_log.log_event(
        "rater_messaged",
        project_id=rater.project_id,
        by=by.pk,
        rater=rater.pk,
        after={"rater": rater.key, "message": message.pk},
    )
    record_event(
        project_id=rater.project_id,
        kind="rater.messaged",
        subject=f"rater/{rater.pk}",
        data={"rater": rater.key, "message": message.pk},
        by=by,
    )
    return message


def mark_read(*, rater: Rater, message_id: int) -> bool:
    """Mark the message as read, if it is not yet; return False if the rater has no such message."""
    rows = RaterMessage.objects.filter(rater=rater, pk=message_id)
    return bool(rows.filter(read_at=None).update(read_at=timezone.now())) or rows.exists()
