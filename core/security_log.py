"""Security events: written to the log, one line each with user and address, and to listeners.

A line also has what is known of the request (agreement_site/monitoring/logs.py). The events are
listed in docs/operations.md.
"""

from __future__ import annotations

import hashlib
import ipaddress
import logging
from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from core.hooks import Hook

logger = logging.getLogger("concord.security")

# Functions that store events, as the audit log does; called in the caller's transaction.
LISTENERS: Hook[Callable[[str, Mapping[str, Any]], None]] = Hook("security_events")


def log_event(event_type: str, **fields: Any) -> None:
    """Log an event and pass it to all listeners.

    ``by`` is the id of the acting user where that is not the request's user. ``before`` and
    ``after`` map names to values; they are passed to listeners but not logged, because they
    contain text that people wrote.
    """
    logged = {name: value for name, value in fields.items() if name not in ("before", "after")}
    logger.info(event_type, extra={"fields": logged})
    LISTENERS.call(event_type, fields)


def get_client_address(request: HttpRequest) -> str:
    """Return the IP address from which a request came.

    Behind a proxy, it is the address that the nearest proxy reports, or the proxy's own one if the
    header has no valid address. Empty if the request came through a Unix socket.
    """
    forwarded: str = request.META.get("HTTP_X_FORWARDED_FOR", "")
    if getattr(settings, "SECURE_PROXY_SSL_HEADER", None) and forwarded:
        try:
            return str(ipaddress.ip_address(forwarded.rpartition(",")[2].strip()))
        except ValueError:
            pass
    return str(request.META.get("REMOTE_ADDR", ""))


def hash_username(name: str) -> str:
    """Return a short hash of what was entered as a username, for the log.

    It lets the same name be recognized without storing it: some people type their password there.
    """
    return hashlib.sha256(name.casefold().encode("utf-8", "replace")).hexdigest()[:12]
