"""Listener that stores security events as entries of the audit log.

An entry is written in the transaction of the change it describes.
"""

from __future__ import annotations

import datetime
import functools
import json
import logging
import os
import socket
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction

from agreement_site.audit_log import stream
from agreement_site.models import AuditLogEntry
from agreement_site.monitoring import logs

logger = logging.getLogger(__name__)

SYSLOG_PRIORITY = 13 * 8 + 5  # facility "log audit", severity "notice"
SYSLOG_TIMEOUT_SECONDS = 1.0  # a request waits for it
SYSLOG_PAUSE_SECONDS = 10.0  # after a failure nothing is sent, so that few requests wait

_paused_until = 0.0


def send_to_syslog(entry: AuditLogEntry) -> None:
    """Send an entry, after the commit of its transaction; silent on failure but for the log."""
    global _paused_until  # noqa: PLW0603 - one pause per process
    if time.monotonic() < _paused_until:
        logger.error("The audit log entry %s was not sent to syslog (paused)", entry.pk)
        return
    try:
        _send(format_message(stream.get_values(entry), entry.created_at))
    except (OSError, ValueError) as error:  # ValueError: a host name that cannot be encoded
        _paused_until = time.monotonic() + SYSLOG_PAUSE_SECONDS
        logger.error("The audit log entry %s was not sent to syslog: %s", entry.pk, error)


def format_message(values: Mapping[str, Any], created_at: datetime.datetime) -> bytes:
    """Return the message with the entry as JSON."""
    host = socket.gethostname() or "-"
    header = f"<{SYSLOG_PRIORITY}>1 {created_at.isoformat()} {host} concord {os.getpid()} audit -"
    return f"{header} {stream.encode(values)}".encode()


def _send(message: bytes) -> None:
    url = urlsplit(settings.AUDIT_LOG_SYSLOG)
    if url.scheme == "unix":
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.settimeout(SYSLOG_TIMEOUT_SECONDS)
            connection.connect(url.path)
            connection.send(message)
    elif url.scheme == "tcp":
        address = (url.hostname or "", url.port or 601)
        with socket.create_connection(address, timeout=SYSLOG_TIMEOUT_SECONDS) as connection:
            connection.sendall(b"%d %b" % (len(message), message))
    else:
        host, port = url.hostname or "", url.port or 514
        family, kind, protocol, _name, target = socket.getaddrinfo(
            host, port, type=socket.SOCK_DGRAM
        )[0]
        with socket.socket(family, kind, protocol) as connection:
            connection.settimeout(SYSLOG_TIMEOUT_SECONDS)
            connection.sendto(message, target)


# Anybody can cause any number of these, so they are only logged.
UNRECORDED_EVENTS = ("rate_limited", "token_rejected", "too_many_requests")
# Characters of a text before and after; guidelines have versions of their own.
MAX_VALUE_LENGTH = 10_000


def record_event(event: str, fields: Mapping[str, Any]) -> None:
    """Store an event, except those of UNRECORDED_EVENTS; one of core.security_log.LISTENERS."""
    if event in UNRECORDED_EVENTS:
        return
    context = logs.get_log_context()
    details = dict(fields)
    actor_id = details.pop("by", None) or details.pop("user_id", None) or context.get("user_id")
    actor = None
    if actor_id is not None:
        users = get_user_model().objects.filter(pk=actor_id)
        actor = users.values_list("username", flat=True).first()
    entry = AuditLogEntry.objects.create(
        action=event,
        actor_id=actor_id,
        actor=actor or "",
        project_id=details.pop("project_id", None) or context.get("project_id"),
        address=logs.get_client_address(),
        request_id=context.get("request_id", ""),
        before=_to_json(details.pop("before", None)),
        after=_to_json(details.pop("after", None)),
        details=_to_json(details),
    )
    if settings.AUDIT_LOG_FILE:
        transaction.on_commit(functools.partial(stream.append_entry, entry), robust=True)
    if settings.AUDIT_LOG_SYSLOG:
        transaction.on_commit(functools.partial(send_to_syslog, entry), robust=True)


def _to_json(values: Mapping[str, object] | None) -> Any:
    """Return the values as JSON data, with long texts truncated."""
    if values is None:
        return None
    truncated = {
        name: value[:MAX_VALUE_LENGTH] if isinstance(value, str) else value
        for name, value in values.items()
    }
    return json.loads(json.dumps(truncated, cls=DjangoJSONEncoder, default=str))
