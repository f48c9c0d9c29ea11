"""What happened at the doors: named events in the log, one line each, with who and from where.

A line also has what is known of the request (agreement_site/monitoring/logs.py). The events stand in
docs/operations.md.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest

logger = logging.getLogger("concord.security")

# Who keeps events (agreement_site/audit_log/recorder.py): called in the caller's transaction.
LISTENERS: list[Callable[[str, dict[str, Any]], None]] = []


def event(what: str, **fields: Any) -> None:
    """Say that ``what`` happened. ``by`` is the id of who did it, where that is not who asks;
    ``before`` and ``after`` map names to values, and are kept but not logged: they are texts of
    people."""
    shown = {name: value for name, value in fields.items() if name not in ("before", "after")}
    logger.info(what, extra={"fields": shown})
    for listener in LISTENERS:
        listener(what, fields)


def address_of(request: HttpRequest) -> str:
    """Where the request comes from: behind a proxy, the address that the nearest proxy saw."""
    forwarded: str = request.META.get("HTTP_X_FORWARDED_FOR", "")
    if getattr(settings, "SECURE_PROXY_SSL_HEADER", None) and forwarded:
        return forwarded.rsplit(",", 1)[-1].strip()[:60]
    return str(request.META.get("REMOTE_ADDR", ""))


def unproved(name: str) -> str:
    """What somebody typed as their name, so that the same name can be found again: some type their
    password there."""
    return hashlib.sha256(name.casefold().encode("utf-8", "replace")).hexdigest()[:12]
