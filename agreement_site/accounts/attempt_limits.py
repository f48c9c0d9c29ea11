"""Limits on attempts: passwords, codes, mails and other actions, by name, network or account.

They apply to the sign-in page and all other pages that ask for a password. Attempts are counted in
the database *before* the password is checked, so simultaneous attempts count too. A correct
password clears the count of its name and network; while a limit holds, even the correct
password is rejected. A name that is tried from many addresses is never locked: its attempts are
checked once a minute, so that nobody can keep its owner out for long.
"""

from __future__ import annotations

import datetime
import hashlib
import ipaddress
from typing import Any

from allauth.core.internal.cryptokit import normalize_user_code
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from agreement_site.error_pages import render_error
from agreement_site.middleware.base import BaseMiddleware
from agreement_site.models import AttemptCounter
from core import security_log

WINDOW = datetime.timedelta(minutes=5)
MAX_ATTEMPTS_PER_NAME = 10
MAX_ATTEMPTS_PER_NETWORK = 100
# The next limits count attempts from all addresses together.
LONG_WINDOW = datetime.timedelta(hours=1)
MAX_ATTEMPTS_PER_NAME_ANYWHERE = 50
MAX_MAILS_PER_ADDRESS = 5
SLOW_INTERVAL = datetime.timedelta(minutes=1)
CODE_LIFETIME = datetime.timedelta(
    minutes=2
)  # an app's code lasts 30 s, with 30 s before and after


class TooManyAttempts(Exception):
    """Too many attempts were made; the next one is allowed in ``seconds``."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"wait {seconds} s")
        self.seconds = seconds


def count_attempt_and_get_wait(username: str, address: str) -> int:
    """Count a password attempt for the name and for the client's network.

    Return the seconds to wait before the next attempt, 0 if this one is allowed.
    """
    now = timezone.now()
    AttemptCounter.objects.filter(since__lte=now - LONG_WINDOW).delete()
    name = username.casefold()
    waits = [
        _count_attempt(
            _hash_key("address", _get_network(address)), MAX_ATTEMPTS_PER_NETWORK, WINDOW, now
        ),
        _count_attempt(
            _hash_key("name", name, _get_network(address)), MAX_ATTEMPTS_PER_NAME, WINDOW, now
        ),
    ]
    if not any(waits) and _count_attempt(
        _hash_key("name", name), MAX_ATTEMPTS_PER_NAME_ANYWHERE, LONG_WINDOW, now
    ):
        waits.append(_count_attempt(_hash_key("slowly", name), 1, SLOW_INTERVAL, now))
    return max(waits)


def count_code_and_get_wait(user_id: int) -> int:
    """Count an attempt at a second-factor code; return the seconds to wait, 0 if it is allowed.

    A person who guesses codes knows the password, so attempts are counted by account only.
    """
    now, account = timezone.now(), str(user_id)
    wait_seconds = _count_attempt(_hash_key("code", account), MAX_ATTEMPTS_PER_NAME, WINDOW, now)
    if not wait_seconds and _count_attempt(
        _hash_key("codes", account), MAX_ATTEMPTS_PER_NAME_ANYWHERE, LONG_WINDOW, now
    ):
        wait_seconds = _count_attempt(_hash_key("codes slowly", account), 1, SLOW_INTERVAL, now)
    return wait_seconds


def count_network_attempt_and_get_wait(address: str) -> int:
    """Count an attempt that names no account, for the client's network.

    Return the seconds to wait before the next attempt, 0 if this one is allowed.
    """
    key = _hash_key("address", _get_network(address))
    return _count_attempt(key, MAX_ATTEMPTS_PER_NETWORK, WINDOW, timezone.now())


def count_mail_and_get_wait(address: str) -> int:
    """Count a mail to the e-mail address; return the seconds to wait, 0 if it may be sent."""
    key = _hash_key("mail", address.casefold())
    return _count_attempt(key, MAX_MAILS_PER_ADDRESS, LONG_WINDOW, timezone.now())


def count_action_and_get_wait(user_id: int, name: str, allowed: int) -> int:
    """Count an action of the user; return the seconds to wait, 0 if it is allowed.

    ``allowed``: number of actions of this name in an hour.
    """
    return _count_attempt(
        _hash_key("act", str(user_id), name), allowed, LONG_WINDOW, timezone.now()
    )


def record_code_use(user_id: int, code: str) -> bool:
    """Record that the account used the code; return whether this was its first use.

    Codes are normalized first, so that 123456 and 123-456 are the same code. A used code is
    remembered for CODE_LIFETIME.
    """
    key = _hash_key("code used", str(user_id), normalize_user_code(code))
    return not _count_attempt(key, 1, CODE_LIFETIME, timezone.now())


def clear_code_attempts(user_id: int) -> None:
    AttemptCounter.objects.filter(key=_hash_key("code", str(user_id))).delete()


def raise_if_limited(seconds: int, **details: Any) -> None:
    """Raise TooManyAttempts and log it, unless ``seconds`` is 0.

    ``details``: fields of the logged event.
    """
    if seconds:
        security_log.log_event("rate_limited", **details)
        raise TooManyAttempts(seconds)


def clear_password_attempts(username: str, address: str) -> None:
    AttemptCounter.objects.filter(
        key=_hash_key("name", username.casefold(), _get_network(address))
    ).delete()


@transaction.atomic
def _count_attempt(
    key: str, allowed: int, window: datetime.timedelta, now: datetime.datetime
) -> int:
    """Count an attempt for ``key``; return 0 if at most ``allowed`` were made in ``window``.

    Otherwise return the seconds until the window ends.
    """
    AttemptCounter.objects.get_or_create(key=key, defaults={"since": now})
    row = AttemptCounter.objects.select_for_update().filter(key=key).first()
    if row is None:  # a correct password has just cleared it
        return 0
    if row.since <= now - window:
        row.since, row.count = now, 0
    row.count += 1
    row.save(update_fields=["since", "count"])
    if row.count <= allowed:
        return 0
    return max(1, round((row.since + window - now).total_seconds()))


def _get_network(address: str) -> str:
    """Return the /64 network of an IPv6 address, usually of one customer; IPv4 unchanged."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False))


def _hash_key(*parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode("utf-8", "replace")).hexdigest()


# Maximum number of POST requests per account and hour, by URL name.
POSTS_PER_HOUR = {
    "label_studio_connections": 30,  # each calls an address of the user's choice
    "member_create": 60,
    "members_invite": 10,  # up to 100 at a time
    "member_link": 120,
    "project_create": 60,
    "tokens": 30,
}


class RateLimitMiddleware(BaseMiddleware):
    """Answer with 429 when an account exceeds the limit of a route."""

    def process_view(
        self, request: HttpRequest, view: Any, view_args: Any, view_kwargs: Any
    ) -> HttpResponse | None:
        match = request.resolver_match
        name = match.url_name or "" if match is not None else ""
        if (
            request.method != "POST"
            or name not in POSTS_PER_HOUR
            or not request.user.is_authenticated
        ):
            return None
        wait_seconds = count_action_and_get_wait(request.user.pk, name, POSTS_PER_HOUR[name])
        if not wait_seconds:
            return None
        security_log.log_event("too_many_requests", action=name)
        message = _("Too many attempts. Wait %(minutes)s minutes.")
        response = render_error(request, 429, message % {"minutes": -(-wait_seconds // 60)})
        response["Retry-After"] = str(wait_seconds)
        return response
