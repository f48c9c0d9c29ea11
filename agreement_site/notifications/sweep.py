"""The sweep of mail: queue what is due, and send what is queued."""

from __future__ import annotations

from django.conf import settings

from . import news, outbox, preferences, schedule


def sweep_mail() -> int:
    """Queue the mails of new events and due digests, and send; return the number of mails sent.

    Without a mail server nothing is queued or sent, and the inbox has everything.
    """
    if not settings.SMTP_URL:
        return 0
    preferences.create_missing_settings()
    news.queue_mails_of_events()
    schedule.queue_due_digests()
    return outbox.send_due_mails()
