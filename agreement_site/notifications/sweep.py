"""The sweep of mail: queue what is due, such as digests, and send what is queued."""

from __future__ import annotations

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from agreement_site.models import NotificationSettings, QueuedMail
from agreement_site.notifications import news, outbox, preferences

from .news import get_feed_head
from .preferences import BATCH_SIZE, compute_next_digest

Kind, State = QueuedMail.Kind, QueuedMail.State


def queue_due_digests() -> int:
    """Queue the digests that are due, and set the times of the next ones; return how many.

    A site whose workers were off sends one digest, not one for each that it missed.
    """
    if not NotificationSettings.objects.filter(next_digest_at__lte=timezone.now()).exists():
        return 0  # without the write lock of SQLite
    n_queued = 0
    while n := _queue_batch():
        n_queued += n
    return n_queued


@transaction.atomic
def _queue_batch() -> int:
    now = timezone.now()
    due = NotificationSettings.objects.filter(next_digest_at__lte=now).order_by("next_digest_at")
    rows = list(
        due.select_related("user").select_for_update(of=("self",), skip_locked=True)[:BATCH_SIZE]
    )
    for row in rows:
        row.next_digest_at = compute_next_digest(row, now)
    NotificationSettings.objects.bulk_update(rows, ["next_digest_at"])
    readers = [row for row in rows if row.user.is_active and row.user.email]
    waiting = QueuedMail.objects.filter(
        kind=Kind.DIGEST, state=State.PENDING, user__in=[row.user_id for row in readers]
    )
    # A digest that could not be sent until now contains what happened since, too.
    head = get_feed_head()
    waiting.filter(attempts=0).update(until_event=head)
    waiting_ids = set(waiting.values_list("user", flat=True))
    QueuedMail.objects.bulk_create(
        QueuedMail(
            kind=Kind.DIGEST,
            user_id=row.user_id,
            after_event=row.digest_event,
            until_event=head,
            next_at=now,
            created_at=now,
        )
        for row in readers
        if row.user_id not in waiting_ids
    )
    return len(rows)


def sweep_mail() -> int:
    """Queue the mails of new events and due digests, and send; return the number of mails sent.

    Without a mail server nothing is queued or sent, and the inbox has everything.
    """
    if not settings.SMTP_URL:
        return 0
    preferences.create_missing_settings()
    news.queue_mails_of_events()
    queue_due_digests()
    return outbox.send_due_mails()
