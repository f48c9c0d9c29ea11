"""Compose a queued mail at the time of sending, as the person may see it then.

The text is in the person's language and time zone. Headers tell mail programs what the mail is and
how it is ended; texts of people never become headers unchecked.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation

from agreement_site.models import NotificationSettings, QueuedMail
from agreement_site.notifications import digest, mail_contents, preferences
from agreement_site.notifications.mail_contents import MailContent
from core.web.links import build_absolute_url

MAX_SUBJECT_LENGTH = 150
# Mail that could not be sent for longer is not sent any more: what it says is on the pages.
MAX_AGE = datetime.timedelta(days=7)
Kind = QueuedMail.Kind


@dataclass(frozen=True)
class Composer:
    """A function that composes a kind of mail, and the subscription that sends it."""

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
    """Return the mail as it is to be sent now; None where there is nothing to send any more."""
    user, composer = mail.user, COMPOSERS[mail.kind]
    row = preferences.get_preferences(user)
    address = mail.address or user.email
    is_old = mail.created_at < timezone.now() - MAX_AGE
    if is_old or not address or not user.is_active or not _wants(row, composer.subscription):
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


def _wants(row: NotificationSettings, subscription: str) -> bool:
    if subscription == preferences.DIGEST:
        return row.digest != NotificationSettings.Digest.OFF
    return bool(row.at_once) if subscription == preferences.NEWS else row.personal


def build_message_id(mail: QueuedMail) -> str:
    """Return the Message-ID, the same at each attempt and in no other mail of any site."""
    unique: Any = f"{settings.SECRET_KEY}/{mail.pk}/{mail.created_at.isoformat()}"
    digest_text = hashlib.sha256(unique.encode()).hexdigest()[:32]
    return f"<{digest_text}@{urlsplit(settings.SITE_URL).hostname}>"


def clean_header(text: str) -> str:
    """Return a text in one line, without control characters, of limited length."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= MAX_SUBJECT_LENGTH else f"{line[: MAX_SUBJECT_LENGTH - 1]}…"
