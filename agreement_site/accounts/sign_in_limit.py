"""How often a password may be guessed: a few times a name and address, and more often an address.

Counted in the database, *before* the password is looked at, so that tries made at the same moment
count too. A right password clears the count of its name; while the limit holds, the right password
is refused as well.
"""

from __future__ import annotations

import datetime
import hashlib

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from agreement_site.models import SignInTries

WINDOW = datetime.timedelta(minutes=5)
TRIES_A_NAME = 10
TRIES_AN_ADDRESS = 100


def address_of(request: HttpRequest) -> str:
    """Where the request comes from: behind a proxy, the address that the nearest proxy saw."""
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "")
    if getattr(settings, "SECURE_PROXY_SSL_HEADER", None) and forwarded:
        return forwarded.rsplit(",", 1)[-1].strip()
    return request.META.get("REMOTE_ADDR", "")


def count_try(username: str, address: str) -> int:
    """Count one try and return how many seconds to wait before the next; 0 when this one may be
    looked at."""
    now = timezone.now()
    SignInTries.objects.filter(since__lte=now - WINDOW).delete()
    waits = [
        _count(_key("address", address), TRIES_AN_ADDRESS, now),
        _count(_key("name", username.casefold(), address), TRIES_A_NAME, now),
    ]
    return max(waits)


def clear(username: str, address: str) -> None:
    SignInTries.objects.filter(key=_key("name", username.casefold(), address)).delete()


@transaction.atomic
def _count(key: str, allowed: int, now: datetime.datetime) -> int:
    SignInTries.objects.get_or_create(key=key, defaults={"since": now})
    row = SignInTries.objects.select_for_update().filter(key=key).first()
    if row is None:  # cleared this very moment by a right password
        return 0
    if row.since <= now - WINDOW:
        row.since, row.tries = now, 0
    row.tries += 1
    row.save(update_fields=["since", "tries"])
    if row.tries <= allowed:
        return 0
    return max(1, round((row.since + WINDOW - now).total_seconds()))


def _key(*parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode("utf-8", "replace")).hexdigest()
