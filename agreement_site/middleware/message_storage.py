"""What a page says once, after a redirect."""

from __future__ import annotations

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.messages.storage.session import SessionStorage


class HostCookie(CookieStorage):
    """Bound to the host like our other cookies."""

    cookie_name = "__Host-messages" if settings.HTTPS else "messages"


class Messages(FallbackStorage):
    storage_classes = (HostCookie, SessionStorage)
