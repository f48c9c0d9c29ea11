"""Send queued mails: each is claimed by one worker, composed, sent, and marked as sent.

The sweep queues what is due, such as digests, first. A mail is composed when it is sent, as the
person may see it then, in the person's language and time zone. Headers tell mail programs what the
mail is and how it is ended; texts of people never become headers unchecked.

SMTP cannot say afterwards whether a message was accepted. A worker that is killed while it sends,
or a connection that breaks, leaves an attempt without an outcome. Such a mail is sent again,
because a doubled mail is better than a lost one (RFC 5321, 4.5.4 and 6.1), with the same
Message-ID, by which many mail servers and programs drop the second one. An interrupted attempt is
not a failed one: each has the usual number of attempts of its own.
"""

from __future__ import annotations

import datetime
import hashlib
import logging
import smtplib
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypedDict
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.db import transaction
from django.db.models import F, Q
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation

from agreement_site.models import NotificationSettings, QueuedMail
from agreement_site.notifications import digest, mail_contents, news, preferences
from agreement_site.notifications.mail_contents import MailContent
from core.jobs.lease import build_unclaimed_filter, claim_row, get_leased_rows
from core.jobs.outbox import delete_old_rows, get_retry_time
from core.web.links import build_absolute_url

from .news import get_last_event_number
from .preferences import PEOPLE_PER_TRANSACTION, compute_next_digest

logger = logging.getLogger(__name__)

Kind, State = QueuedMail.Kind, QueuedMail.State
MAX_SUBJECT_LENGTH = 150
# Mail that could not be sent for longer is not sent any more: what it says is on the pages.
MAX_AGE = datetime.timedelta(days=7)


@dataclass(frozen=True)
class Composer:
    """A function that composes a kind of mail, and the subscription by which people get it.

    ``compose`` returns None if there is nothing to send.
    """

    compose: Callable[[QueuedMail, NotificationSettings], MailContent | None]
    subscription: str = preferences.PERSONAL


COMPOSERS: dict[str, Composer] = {
    Kind.DIGEST: Composer(digest.compose_digest, preferences.DIGEST),
    Kind.NEWS: Composer(mail_contents.compose_news, preferences.NEWS),
    Kind.JOINED: Composer(mail_contents.compose_invitation),
    Kind.OFFERED: Composer(mail_contents.compose_offer),
    Kind.MESSAGE: Composer(mail_contents.compose_message),
    Kind.PAUSED: Composer(mail_contents.compose_pause),
}


def compose_message(mail: QueuedMail) -> EmailMultiAlternatives | None:
    """Build the mail as it is to be sent now; None if it is too old, unwanted or empty."""
    user, composer = mail.user, COMPOSERS[mail.kind]
    row = preferences.get_preferences(user)
    address = mail.address or user.email
    is_old = mail.created_at < timezone.now() - MAX_AGE
    if is_old or not address or not user.is_active or not _wants_mail(row, composer.subscription):
        return None
    language = preferences.get_language(user, row)
    with translation.override(language), timezone.override(ZoneInfo(row.time_zone)):
        content = composer.compose(mail, row)
        if content is None:
            return None
        # A person without a password cannot sign in to change the settings.
        subscription = composer.subscription if not content.is_first else ""
        url = preferences.build_unsubscribe_url(user, subscription) if subscription else ""
        context = {
            "content": content,
            "language": language,
            "unsubscribe_url": url,
            "subscription": preferences.LABELS.get(subscription, ""),
            "settings_url": build_absolute_url(reverse("notifications")),
            "site": urlsplit(settings.SITE_URL).netloc,
        }
        text = render_to_string("notifications/mail.txt", context)
        html = render_to_string("notifications/mail.html", context)
    headers = {"Message-ID": build_message_id(mail), "Auto-Submitted": "auto-generated"}
    if url:
        headers["List-Unsubscribe"] = f"<{url}>"
        headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message = EmailMultiAlternatives(
        clean_header(f"{settings.ACCOUNT_EMAIL_SUBJECT_PREFIX}{content.subject}"),
        text,
        settings.DEFAULT_FROM_EMAIL,
        [address],
        headers=headers,
    )
    message.attach_alternative(html, "text/html")
    return message


def _wants_mail(row: NotificationSettings, subscription: str) -> bool:
    if subscription == preferences.DIGEST:
        return row.digest != NotificationSettings.Digest.OFF
    return bool(row.at_once) if subscription == preferences.NEWS else row.personal


def build_message_id(mail: QueuedMail) -> str:
    """Return the Message-ID: the same at each attempt, and unique among all sites' mails."""
    unique: Any = f"{settings.SECRET_KEY}/{mail.pk}/{mail.created_at.isoformat()}"
    digest_text = hashlib.sha256(unique.encode()).hexdigest()[:32]
    return f"<{digest_text}@{urlsplit(settings.SITE_URL).hostname}>"


def clean_header(text: str) -> str:
    """Return a text as one line without control characters, cut at a maximum length."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= MAX_SUBJECT_LENGTH else f"{line[: MAX_SUBJECT_LENGTH - 1]}…"


NEWS_INTERVAL = datetime.timedelta(minutes=15)  # between two mails about news of a project
LEASE = datetime.timedelta(minutes=5)  # longer than a mail takes to be composed and sent
RUN_SECONDS = 30.0
BATCH_SIZE = 100
# Pauses after an attempt that failed; after the last one there is no further attempt.
RETRY_DELAYS = tuple(datetime.timedelta(minutes=n) for n in (5, 30, 120, 360, 720, 1440))
MAX_INTERRUPTED = len(RETRY_DELAYS) + 1  # attempts whose worker ended; the lease is their pause
REPORT_FAILURES = datetime.timedelta(days=1)  # the system status counts failed mails for as long
PERMANENT = range(500, 600)  # SMTP codes


def send_due_mails() -> int:
    """Send the queued mails that are due, for some seconds; return how many were sent."""
    due = QueuedMail.objects.filter(
        build_unclaimed_filter(), state=State.PENDING, next_at__lte=timezone.now()
    )
    ids = list(due.order_by("next_at", "pk").values_list("pk", flat=True)[:BATCH_SIZE])
    if not ids:
        return 0
    n_sent, started = 0, time.monotonic()
    connection = get_connection()
    try:
        connection.open()
        for mail_id in ids:
            if time.monotonic() - started > RUN_SECONDS:
                break
            n_sent += _send_mail(mail_id, connection)
    # The base of smtplib's errors: the server cannot be reached. No mail counts an attempt.
    except OSError as error:
        logger.warning("The mail server of SMTP_URL does not work: %s", error)
    finally:
        with suppress(OSError):
            connection.close()
    return n_sent


def _send_mail(mail_id: int, connection: Any) -> bool:
    """Send a mail unless another worker does; return whether the server accepted it.

    ``connection``: to the mail server, open. Raises OSError if it cannot be opened again after an
    error.
    """
    mail = _claim_mail(mail_id)
    if mail is None:
        return False
    try:
        message = compose_message(mail)
        if message is not None:
            connection.send_messages([message])
    except Exception as error:
        _store_failure(mail, error)
        with suppress(OSError):
            connection.close()
        connection.open()
        return False
    _store_final_state(mail, State.SKIPPED if message is None else State.SENT)
    logger.info("mail %s (%s) to user %s: %s", mail.pk, mail.kind, mail.user_id, mail.state)
    return message is not None


def _claim_mail(mail_id: int) -> QueuedMail | None:
    """Claim a mail for an attempt and return it.

    Return None if another worker has it, if it must wait for the next news, or if too many workers
    ended while they sent it: it has then failed.
    """
    unclaimed = QueuedMail.objects.filter(build_unclaimed_filter(), pk=mail_id, state=State.PENDING)
    row = unclaimed.first()
    if row is None:
        return None
    if (wait_until := _get_next_news_time(row)) is not None:
        unclaimed.update(next_at=wait_until)
        return None
    mail = claim_row(
        QueuedMail.objects.select_related("user", "project", "by"),
        mail_id,
        Q(state=State.PENDING),
        leased_until=timezone.now() + LEASE,
        attempts=F("attempts") + 1,
    )
    if mail is None:
        return None
    if mail.attempts - mail.failures > MAX_INTERRUPTED:
        logger.error("mail %s: %s workers ended while they sent it", mail.pk, MAX_INTERRUPTED)
        _store_final_state(mail, State.FAILED)
        return None
    return mail


def _get_next_news_time(mail: QueuedMail) -> datetime.datetime | None:
    """Return when this news may be sent if the project's last news was too recent, else None.

    None for other kinds of mail, too.
    """
    if mail.kind != Kind.NEWS:
        return None
    sent = QueuedMail.objects.filter(
        kind=Kind.NEWS,
        state=State.SENT,
        user=mail.user_id,
        project=mail.project_id,
        ended_at__gt=timezone.now() - NEWS_INTERVAL,
    )
    last = sent.order_by("-ended_at").values_list("ended_at", flat=True).first()
    return None if last is None else last + NEWS_INTERVAL


@transaction.atomic
def _store_final_state(mail: QueuedMail, state: str) -> None:
    """Store the final state of a mail, unless its lease is lost."""
    ended = get_leased_rows(mail).update(
        state=state, next_at=None, leased_until=None, ended_at=timezone.now()
    )
    mail.state = state
    if ended and mail.kind == Kind.DIGEST and state != State.FAILED:
        # The next digest contains what a failed one should have contained.
        NotificationSettings.objects.filter(user=mail.user_id).update(digest_event=mail.until_event)


def _store_failure(mail: QueuedMail, error: Exception) -> None:
    """Store and log that an attempt failed, and set the time of the next one, if any."""
    if isinstance(error, OSError):
        logger.warning("mail %s to user %s failed: %s", mail.pk, mail.user_id, error)
    else:
        logger.exception("mail %s to user %s failed", mail.pk, mail.user_id)
    failures = mail.failures + 1
    retry_at = get_retry_time(RETRY_DELAYS, failures, timezone.now())
    if retry_at is None or _is_permanent(error):
        _store_final_state(mail, State.FAILED)
        return
    get_leased_rows(mail).update(failures=failures, next_at=retry_at, leased_until=None)


def _is_permanent(error: Exception) -> bool:
    """Return whether the server's response says that another attempt would fail as well."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return all(code in PERMANENT for code, _text in error.recipients.values())
    if isinstance(error, smtplib.SMTPResponseException):
        return error.smtp_code in PERMANENT
    return isinstance(error, ValueError)  # an address that is none


class MailQueueState(TypedDict):
    """Numbers of waiting mails, and of those that failed lately.

    ``late_seconds``: seconds since the oldest waiting mail was due; 0 if none is overdue.
    """

    waiting: int
    late_seconds: float
    failed: int


def summarize_queue(now: datetime.datetime) -> MailQueueState:
    """Return how many mails wait and failed, and by how many seconds the oldest one is late."""
    pending = QueuedMail.objects.filter(state=State.PENDING)
    due = pending.filter(build_unclaimed_filter(), next_at__lte=now)
    oldest = due.order_by("next_at").values_list("next_at", flat=True).first()
    failed = QueuedMail.objects.filter(state=State.FAILED, ended_at__gt=now - REPORT_FAILURES)
    return {
        "waiting": pending.count(),
        "late_seconds": 0 if oldest is None else (now - oldest).total_seconds(),
        "failed": failed.count(),
    }


def delete_old_mails() -> int:
    """Delete the rows of mails that ended longer ago than KEEP_ENDED; return how many."""
    return delete_old_rows(QueuedMail.objects.all(), column="ended_at")


def queue_due_digests() -> int:
    """Queue the digests that are due, and set the times of the next ones; return how many were due.

    A site whose workers were off sends one digest, not one for each that it missed.
    """
    if not NotificationSettings.objects.filter(next_digest_at__lte=timezone.now()).exists():
        return 0  # without the write lock of SQLite
    n_queued = 0
    while n := _queue_digests_of_batch():
        n_queued += n
    return n_queued


@transaction.atomic
def _queue_digests_of_batch() -> int:
    now = timezone.now()
    due = NotificationSettings.objects.filter(next_digest_at__lte=now).order_by("next_digest_at")
    rows = list(
        due.select_related("user").select_for_update(of=("self",), skip_locked=True)[
            :PEOPLE_PER_TRANSACTION
        ]
    )
    for row in rows:
        row.next_digest_at = compute_next_digest(row, now)
    NotificationSettings.objects.bulk_update(rows, ["next_digest_at"])
    readers = [row for row in rows if row.user.is_active and row.user.email]
    waiting = QueuedMail.objects.filter(
        kind=Kind.DIGEST, state=State.PENDING, user__in=[row.user_id for row in readers]
    )
    # A digest that could not be sent until now contains what happened since, too.
    head = get_last_event_number()
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
    """Queue the mails of new events and the due digests, and send; return the number sent.

    Without a mail server, nothing is queued or sent.
    """
    if not settings.SMTP_URL:
        return 0
    preferences.create_missing_settings()
    news.queue_mails_of_events()
    queue_due_digests()
    return send_due_mails()
