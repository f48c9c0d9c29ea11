"""How often a password may be guessed, at the sign-in page and wherever else one is asked for: a
few times a name and address, more often an address, and a name alone.

Counted in the database, *before* the password is looked at, so that tries made at the same moment
count too. A right password clears the count of its name and address; while the limit holds, the
right password is refused as well. A name that is guessed from many addresses is never shut: its
tries are looked at one a minute, so that nobody can keep its owner out for long.
"""

from __future__ import annotations

import datetime
import hashlib
import ipaddress

from django.db import transaction
from django.utils import timezone

from agreement_site.models import SignInTries

WINDOW = datetime.timedelta(minutes=5)
TRIES_A_NAME = 10
TRIES_AN_ADDRESS = 100
# of a name, from wherever
LONG_WINDOW = datetime.timedelta(hours=1)
TRIES_A_NAME_ANYWHERE = 50
PAUSE = datetime.timedelta(minutes=1)


class TooManyTries(Exception):
    """The password was not looked at; ``seconds`` until one may be."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"wait {seconds} s")
        self.seconds = seconds


def count_try(username: str, address: str) -> int:
    """Count one try and return how many seconds to wait before the next; 0 when this one may be
    looked at."""
    now = timezone.now()
    SignInTries.objects.filter(since__lte=now - LONG_WINDOW).delete()
    name = username.casefold()
    waits = [
        _count(_key("address", _network(address)), TRIES_AN_ADDRESS, WINDOW, now),
        _count(_key("name", name, _network(address)), TRIES_A_NAME, WINDOW, now),
    ]
    if not any(waits) and _count(_key("name", name), TRIES_A_NAME_ANYWHERE, LONG_WINDOW, now):
        waits.append(_count(_key("slowly", name), 1, PAUSE, now))
    return max(waits)


def clear(username: str, address: str) -> None:
    SignInTries.objects.filter(key=_key("name", username.casefold(), _network(address))).delete()


@transaction.atomic
def _count(key: str, allowed: int, window: datetime.timedelta, now: datetime.datetime) -> int:
    """Seconds until another one is allowed; 0 when this one is."""
    SignInTries.objects.get_or_create(key=key, defaults={"since": now})
    row = SignInTries.objects.select_for_update().filter(key=key).first()
    if row is None:  # cleared this very moment by a right password
        return 0
    if row.since <= now - window:
        row.since, row.tries = now, 0
    row.tries += 1
    row.save(update_fields=["since", "tries"])
    if row.tries <= allowed:
        return 0
    return max(1, round((row.since + window - now).total_seconds()))


def _network(address: str) -> str:
    """Who has one address of IPv6 has all of its /64."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False))


def _key(*parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode("utf-8", "replace")).hexdigest()
