"""Queue the mails that events cause: news for leads, what happened to a rater, and invitations.

One worker at a time reads the feed from the cursor on and queues mails in the transaction that
moves the cursor. So each event causes its mails once, whatever happens to a worker. Invitations are
queued by hooks of projects, in the transaction of the change.
"""

from __future__ import annotations

import datetime
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from agreement_site.models import NewsCursor, NotificationSettings, QueuedMail
from core.text import parse_id
from events.kinds import KINDS, list_kinds
from events.models import Event, FeedState
from projects.models import Member, MemberOffer, Rater
from ratings.models import RaterMessage

logger = logging.getLogger(__name__)

DRIFT, ALERTS, GATES = "drift", "alerts", "gates"
BATCH_SIZE = 200  # events in one transaction
# Older news are in the digest: a site whose mail was off does not catch up.
MAX_AGE = datetime.timedelta(days=1)
# A pause that is undone at once is not mailed.
PAUSE_DELAY = datetime.timedelta(minutes=2)
Kind, State = QueuedMail.Kind, QueuedMail.State


@dataclass(frozen=True)
class News:
    """A kind of news that a person can get by mail at once: a label, and kinds of events.

    The lines of the mail are built by ``mail_contents.describe_changes``.
    """

    label: Promise
    events: tuple[str, ...]


NEWS: dict[str, News] = {
    DRIFT: News(_("A rater drifts"), ("rater.drifted",)),
    ALERTS: News(_("A new alert of any kind"), ("alert.opened",)),
    GATES: News(_("A gate fails"), ("gate.failed",)),
}
NEWS_EVENTS = tuple(event for news in NEWS.values() for event in news.events)
PERSONAL_EVENTS = tuple(name for name, kind in KINDS.items() if kind.is_mailed_to_rater)


def queue_mails_of_events() -> int:
    """Queue the mails of the published events; return the number of mails."""
    n_queued = 0
    while NewsCursor.objects.filter(pk=1, last_number=get_last_event_number()).first() is None:
        n_queued += _queue_mails_of_batch()
    return n_queued


def get_last_event_number() -> int:
    """Return the number of the last published event, 0 without any."""
    return FeedState.objects.values_list("last_number", flat=True).first() or 0


@transaction.atomic
def _queue_mails_of_batch() -> int:
    head = get_last_event_number()
    NewsCursor.objects.get_or_create(pk=1, defaults={"last_number": head})
    cursor = NewsCursor.objects.select_for_update().get(pk=1)
    events = list(
        Event.objects.filter(
            number__gt=cursor.last_number,
            number__lte=head,
            kind__in=[*NEWS_EVENTS, *PERSONAL_EVENTS],
            project__archived_at=None,
            project__is_example=False,
        ).order_by("number")[:BATCH_SIZE]
    )
    # Fewer than asked for: there is none up to the head.
    cursor.last_number = head if len(events) < BATCH_SIZE else events[-1].number or head
    cursor.save(update_fields=["last_number"])
    recent = [event for event in events if event.at >= timezone.now() - MAX_AGE]
    n_queued = 0
    for project_id in sorted({event.project_id for event in recent}):
        own = [event for event in recent if event.project_id == project_id]
        n_queued += _queue_news_mails(
            project_id, [event for event in own if event.kind in NEWS_EVENTS]
        )
    return n_queued + _queue_personal_mails(
        [event for event in recent if event.kind in PERSONAL_EVENTS]
    )


def _queue_news_mails(project_id: int, events: Sequence[Event]) -> int:
    """Queue one mail about these events of a project to each member who wants any of them at once.

    If a mail about the project is still waiting for a member, it is extended to these events
    instead. Returns the number of new mails.
    """
    if not events:
        return 0
    roles = Member.objects.filter(project=project_id, user__is_active=True).exclude(user__email="")
    role_of = dict(roles.values_list("user", "role"))
    wanting: dict[int, list[int]] = {}  # numbers of events by user
    for row in NotificationSettings.objects.filter(user__in=list(role_of)).exclude(at_once=[]):
        kinds = get_wanted_events(row.at_once) & set(list_kinds(role_of[row.user_id]))
        numbers = [event.number for event in events if event.kind in kinds and event.number]
        if numbers:
            wanting[row.user_id] = numbers
    waiting = QueuedMail.objects.filter(
        kind=Kind.NEWS, project=project_id, state=State.PENDING, attempts=0, user__in=list(wanting)
    )
    waiting_ids = set(waiting.select_for_update().values_list("user", flat=True))
    waiting.filter(user__in=waiting_ids).update(until_event=max(e.number or 0 for e in events))
    now = timezone.now()
    mails = [
        QueuedMail(
            kind=Kind.NEWS,
            user_id=user_id,
            project_id=project_id,
            after_event=numbers[0] - 1,
            until_event=numbers[-1],
            next_at=now,
            created_at=now,
        )
        for user_id, numbers in sorted(wanting.items())
        if user_id not in waiting_ids
    ]
    QueuedMail.objects.bulk_create(mails, batch_size=BATCH_SIZE)
    return len(mails)


def get_wanted_events(at_once: Sequence[str]) -> set[str]:
    """Return the kinds of events in the news that are named in ``at_once``.

    Whether the person may see these events is not considered.
    """
    return {event for name in at_once if name in NEWS for event in NEWS[name].events}


def _queue_personal_mails(events: Sequence[Event]) -> int:
    """Queue a mail for each message to a rater and each pause of one; return the number of mails.

    Nobody gets a mail about their own action.
    """
    mails, now = [], timezone.now()
    messages = RaterMessage.objects.select_related("rater").in_bulk(
        [event.data["message"] for event in events if event.kind == "rater.messaged"]
    )
    raters = Rater.objects.in_bulk(
        [parse_id(event.subject.partition("/")[2]) or 0 for event in events]
    )
    for event in events:
        rater = raters.get(parse_id(event.subject.partition("/")[2]) or 0)
        if rater is None or rater.user_id is None or rater.user_id == event.by_id:
            continue
        mail = QueuedMail(
            user_id=rater.user_id,
            project_id=event.project_id,
            by_id=event.by_id,
            created_at=now,
            next_at=now,
        )
        if event.kind == "rater.paused":
            mail.kind, mail.next_at = Kind.PAUSED, now + PAUSE_DELAY
        elif event.data["message"] in messages:
            mail.kind, mail.message_id = Kind.MESSAGE, event.data["message"]
        else:  # deleted since
            continue
        mails.append(mail)
    QueuedMail.objects.bulk_create(mails)
    return len(mails)


# Per lead, so that nobody can use the site for mass mail. Links to copy have no limit.
MAX_INVITATIONS_A_DAY = 500


def queue_invitation(member: Member, by: Any, email: str) -> None:
    """Queue a mail to a member whom somebody else added, if the site sends mail and has an address.

    ``email``: address of a new account; if empty, that of an earlier invitation or of the account
    is used.
    """
    if settings.SMTP_URL:
        earlier = QueuedMail.objects.filter(user=member.user_id, kind=Kind.JOINED)
        addresses = earlier.exclude(address="").order_by("-pk").values_list("address", flat=True)
        address = email or addresses.first() or ""
        if address or member.user.email:
            _queue_mail(Kind.JOINED, member.user_id, member.project_id, by, address=address)


def queue_offer(offer: MemberOffer, by: Any) -> None:
    """Queue a mail to the owner of an account to whom a role was offered."""
    if settings.SMTP_URL and offer.user is not None and offer.user.email:
        _queue_mail(Kind.OFFERED, offer.user.pk, offer.project_id, by)


def _queue_mail(kind: str, user_id: int, project_id: int, by: Any, **fields: Any) -> None:
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
