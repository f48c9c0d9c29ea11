"""Storage of one-time messages shown after a redirect (django.contrib.messages)."""

from __future__ import annotations

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.messages.storage.session import SessionStorage


class HostCookieStorage(CookieStorage):
    """Bind the message cookie to the host, like the site's other cookies."""

    cookie_name = "__Host-messages" if settings.HTTPS else "messages"


class MessageStorage(FallbackStorage):
    storage_classes = (HostCookieStorage, SessionStorage)
