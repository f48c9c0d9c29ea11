"""Links that end one stream of mail without signing in (RFC 8058).

A link is signed for one person and stream. It stays valid: mail is kept for years.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core import signing
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from agreement_site.models import NotificationSettings
from core.web.links import build_absolute_url

from . import preferences

_SALT = "notifications.unsubscribe"
DIGEST, NEWS, PERSONAL = "digest", "news", "personal"
# Stream -> the settings that end it.
SETTINGS_WITHOUT: dict[str, dict[str, object]] = {
    DIGEST: {"digest": NotificationSettings.Digest.OFF},
    NEWS: {"at_once": []},
    PERSONAL: {"personal": False},
}
LABELS = {
    DIGEST: _("the digest"),
    NEWS: _("news sent at once"),
    PERSONAL: _("messages, pauses and new projects"),
}


def build_unsubscribe_url(user: Any, stream: str) -> str:
    token = signing.dumps([user.pk, stream], salt=_SALT)
    return build_absolute_url(reverse("unsubscribe", args=[token]))


def parse_token(token: str) -> tuple[User, str] | None:
    """Return the user and the stream of a link; None for one that was not signed here."""
    try:
        user_id, stream = signing.loads(token, salt=_SALT)
    except signing.BadSignature:
        return None
    user = User.objects.filter(pk=user_id).first()
    return (user, stream) if user is not None and stream in SETTINGS_WITHOUT else None


def end_stream(user: User, stream: str) -> None:
    """Change the user's settings so that this stream ends; a second time has no effect."""
    preferences.save_preferences(user=user, **SETTINGS_WITHOUT[stream])
