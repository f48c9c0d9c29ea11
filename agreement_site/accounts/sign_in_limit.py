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
from typing import Any

from django.db import transaction
from django.utils import timezone

from agreement_site.models import SignInTries
from core import security_log

WINDOW = datetime.timedelta(minutes=5)
TRIES_A_NAME = 10
TRIES_AN_ADDRESS = 100
# of a name, from wherever
LONG_WINDOW = datetime.timedelta(hours=1)
TRIES_A_NAME_ANYWHERE = 50
MAILS_AN_ADDRESS = 5
PAUSE = datetime.timedelta(minutes=1)
CODES_LIVE = datetime.timedelta(minutes=2)  # of an app: 30 s, and as long before and after


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


def count_code(user_id: int) -> int:
    """The same for a code of a second factor: whoever guesses it has the password, so the account
    alone is counted."""
    now, who = timezone.now(), str(user_id)
    wait = _count(_key("code", who), TRIES_A_NAME, WINDOW, now)
    if not wait and _count(_key("codes", who), TRIES_A_NAME_ANYWHERE, LONG_WINDOW, now):
        wait = _count(_key("codes slowly", who), 1, PAUSE, now)
    return wait


def count_address(address: str) -> int:
    """The same for what names nobody."""
    key = _key("address", _network(address))
    return _count(key, TRIES_AN_ADDRESS, WINDOW, timezone.now())


def count_mail(address: str) -> int:
    """The same for mails to one address, or of one account."""
    key = _key("mail", address.casefold())
    return _count(key, MAILS_AN_ADDRESS, LONG_WINDOW, timezone.now())


def count_act(user_id: int, name: str, allowed: int) -> int:
    """The same for anything else that an account does, so many times an hour."""
    return _count(_key("act", str(user_id), name), allowed, LONG_WINDOW, timezone.now())


def is_first_use(user_id: int, code: str) -> bool:
    """Whether the code was not taken from this account within the time that it is good for."""
    key = _key("code used", str(user_id), code)
    return not _count(key, 1, CODES_LIVE, timezone.now())


def clear_codes(user_id: int) -> None:
    SignInTries.objects.filter(key=_key("code", str(user_id))).delete()


def refuse_too_many(seconds: int, **told: Any) -> None:
    """Raises TooManyTries, where ``seconds`` says so, and writes it down."""
    if seconds:
        security_log.event("locked_out", **told)
        raise TooManyTries(seconds)


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
