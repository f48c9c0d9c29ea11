"""The audit log as messages to a syslog server (setting AUDIT_LOG_SYSLOG), as of RFC 5424.

By TCP each message begins with its length (RFC 6587). A message that cannot be sent is logged as an
error and lost for the server: the entry is in the database and, where it is set, in AUDIT_LOG_FILE.
"""

from __future__ import annotations

import datetime
import logging
import os
import socket
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from agreement_site.models import AuditLogEntry

from . import stream

logger = logging.getLogger(__name__)

PRIORITY = 13 * 8 + 5  # facility "log audit", severity "notice"
TIMEOUT_SECONDS = 1.0  # a request waits for it
PAUSE_SECONDS = 10.0  # after a failure nothing is sent, so that few requests wait

_paused_until = 0.0


def send_entry(entry: AuditLogEntry) -> None:
    """Send an entry, after the commit of its transaction; silent on failure but for the log."""
    global _paused_until  # noqa: PLW0603 - one pause per process
    if time.monotonic() < _paused_until:
        logger.error("The audit log entry %s was not sent to syslog (paused)", entry.pk)
        return
    try:
        _send(format_message(stream.get_values(entry), entry.created_at))
    except (OSError, ValueError) as error:  # ValueError: a host name that cannot be encoded
        _paused_until = time.monotonic() + PAUSE_SECONDS
        logger.error("The audit log entry %s was not sent to syslog: %s", entry.pk, error)


def format_message(values: Mapping[str, Any], created_at: datetime.datetime) -> bytes:
    """Return the message with the entry as JSON."""
    host = socket.gethostname() or "-"
    header = f"<{PRIORITY}>1 {created_at.isoformat()} {host} concord {os.getpid()} audit -"
    return f"{header} {stream.encode(values)}".encode()


def _send(message: bytes) -> None:
    url = urlsplit(settings.AUDIT_LOG_SYSLOG)
    if url.scheme == "unix":
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.settimeout(TIMEOUT_SECONDS)
            connection.connect(url.path)
            connection.send(message)
    elif url.scheme == "tcp":
        address = (url.hostname or "", url.port or 601)
        with socket.create_connection(address, timeout=TIMEOUT_SECONDS) as connection:
            connection.sendall(b"%d %b" % (len(message), message))
    else:
        host, port = url.hostname or "", url.port or 514
        family, kind, protocol, _name, target = socket.getaddrinfo(
            host, port, type=socket.SOCK_DGRAM
        )[0]
        with socket.socket(family, kind, protocol) as connection:
            connection.settimeout(TIMEOUT_SECONDS)
            connection.sendto(message, target)
