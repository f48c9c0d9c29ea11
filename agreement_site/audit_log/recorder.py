"""Listener that stores security events as entries of the audit log, and in a file or syslog.

An entry is written in the transaction of the change it describes. With the setting AUDIT_LOG_FILE
it is also a line of JSON in that file, which has the hash of the line before; with AUDIT_LOG_SYSLOG
it is sent to syslog. Each machine has a file of its own. The owner of the database can change its
entries; a collector that reads this file at once has them as they were. The chain of hashes shows a
line that was changed, removed or inserted later.
"""

from __future__ import annotations

import datetime
import fcntl
import functools
import hashlib
import json
import logging
import os
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction

from agreement_site.models import AuditLogEntry
from agreement_site.monitoring import logs

logger = logging.getLogger(__name__)

FIRST_HASH = "0" * 64  # "previous" of the first line of a file
COLUMNS = (
    "id", "created_at", "action", "actor_id", "actor", "project_id", "address", "request_id",
    "before", "after", "details",
)  # fmt: skip
TAIL_BYTES = 1 << 16


def append_entry(entry: AuditLogEntry) -> None:
    """Append an entry to AUDIT_LOG_FILE, after the commit of the entry's transaction.

    An error is logged and never fails a request: the entry is in the database.
    """
    path = Path(settings.AUDIT_LOG_FILE)
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(handle, "rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed
            previous = _read_last_hash(file)
            file.write(format_line(get_entry_values(entry), previous))
    except (OSError, ValueError):
        logger.exception("The audit log could not be appended to %s", path)


def format_line(values: Mapping[str, Any], previous: str) -> bytes:
    """Return the line of an entry: its values, the hash of the line before, and its own hash."""
    content = encode_as_json({**values, "previous": previous})
    digest = hashlib.sha256(content.encode()).hexdigest()
    return f'{content[:-1]}, "hash": "{digest}"}}\n'.encode()


@dataclass(frozen=True)
class AuditFileProblem:
    """A problem of an audit log file: its line, counted from 1, and a description in English."""

    line: int
    description: str


@dataclass
class WrittenEntries:
    """The ids of the entries that audit log files contain, and the number of their lines."""

    ids: set[int] = field(default_factory=set)
    n_lines: int = 0

    def iter_missing(self) -> Iterator[int]:
        """Yield the ids of entries in the database that the audit log files lack.

        Only ids between the first and the last one of the files count.
        """
        if self.ids:
            between = (min(self.ids), max(self.ids))
            stored = AuditLogEntry.objects.filter(pk__range=between).order_by("pk")
            for entry_id in stored.values_list("pk", flat=True).iterator():
                if entry_id not in self.ids:
                    yield entry_id


def iter_file_problems(
    lines: Iterable[bytes], written: WrittenEntries
) -> Iterator[AuditFileProblem]:
    """Yield the problems of a file: invalid or changed lines, gaps, and differing stored entries.

    The ids of the entries are added to ``written``.
    """
    previous = FIRST_HASH
    for number, line in enumerate(lines, start=1):
        written.n_lines += 1
        try:
            values = json.loads(line)
            digest, before = values.pop("hash"), values.pop("previous")
            written.ids.add(int(values["id"]))
        except (ValueError, KeyError, AttributeError, TypeError):
            yield AuditFileProblem(number, "it is no entry")
            continue
        if before != previous:
            yield AuditFileProblem(number, "it does not follow the line before")
        if format_line(values, before) != line.rstrip(b"\n") + b"\n":
            yield AuditFileProblem(number, "it was changed after it was written")
        elif _differs_from_database(values):
            yield AuditFileProblem(number, f"entry {values['id']} of the database differs from it")
        previous = digest


def _differs_from_database(values: Mapping[str, Any]) -> bool:
    """Return whether the stored entry differs from the line's values, or is missing.

    An entry or address that a retention setting may have removed is no difference.
    """
    entry = AuditLogEntry.objects.filter(pk=values["id"]).first()
    if entry is None:
        return not settings.KEEP_AUDIT_LOG_DAYS
    stored = json.loads(encode_as_json(get_entry_values(entry)))
    if settings.KEEP_ADDRESSES_DAYS and not stored["address"]:
        stored["address"] = values["address"]
    return bool(stored != values)


def get_entry_values(entry: AuditLogEntry) -> Mapping[str, Any]:
    """Return {column: value} of an entry, as it is written to the file and sent to syslog."""
    return {name: getattr(entry, name) for name in COLUMNS}


def encode_as_json(values: Mapping[str, Any]) -> str:
    """Return the values of an entry as a JSON object whose keys keep their order."""
    return json.dumps(values, cls=DjangoJSONEncoder, ensure_ascii=False)


def _read_last_hash(file: IO[bytes]) -> str:
    """Return the hash of the last line, FIRST_HASH for an empty file.

    Raises ValueError if the file does not end with a line of the audit log.
    """
    size = file.seek(0, os.SEEK_END)
    if not size:
        return FIRST_HASH
    # The hash is the end of each line.
    file.seek(max(size - TAIL_BYTES, 0))
    tail = file.read().rstrip(b"\n").decode(errors="replace")
    marker = '"hash": "'
    start = tail.rfind(marker)
    digest = tail[start + len(marker) : -2]
    if start < 0 or len(digest) != 64 or not tail.endswith('"}'):
        raise ValueError(f"{file.name} does not end with a line of the audit log")
    return digest


SYSLOG_PRIORITY = 13 * 8 + 5  # facility "log audit", severity "notice"
SYSLOG_TIMEOUT_SECONDS = 1.0  # a request waits for it
SYSLOG_PAUSE_SECONDS = 10.0  # after a failure nothing is sent, so that few requests wait

_paused_until = 0.0


def send_to_syslog(entry: AuditLogEntry) -> None:
    """Send an entry to syslog, after the commit of the entry's transaction.

    An error is logged and never fails a request; nothing is sent for SYSLOG_PAUSE_SECONDS then.
    """
    global _paused_until  # noqa: PLW0603 - one pause per process
    if time.monotonic() < _paused_until:
        logger.error("The audit log entry %s was not sent to syslog (paused)", entry.pk)
        return
    try:
        _send_syslog_message(format_syslog_message(get_entry_values(entry), entry.created_at))
    except (OSError, ValueError) as error:  # ValueError: a host name that cannot be encoded
        _paused_until = time.monotonic() + SYSLOG_PAUSE_SECONDS
        logger.error("The audit log entry %s was not sent to syslog: %s", entry.pk, error)


def format_syslog_message(values: Mapping[str, Any], created_at: datetime.datetime) -> bytes:
    """Return the syslog message (RFC 5424) with the entry as JSON."""
    host = socket.gethostname() or "-"
    header = f"<{SYSLOG_PRIORITY}>1 {created_at.isoformat()} {host} concord {os.getpid()} audit -"
    return f"{header} {encode_as_json(values)}".encode()


def _send_syslog_message(message: bytes) -> None:
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
    """Store a security event as an entry, unless it is one of UNRECORDED_EVENTS.

    Registered in core.security_log.LISTENERS.
    """
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
        transaction.on_commit(functools.partial(append_entry, entry), robust=True)
    if settings.AUDIT_LOG_SYSLOG:
        transaction.on_commit(functools.partial(send_to_syslog, entry), robust=True)


def _to_json(values: Mapping[str, object] | None) -> Any:
    """Return the values as JSON data with long texts truncated; None for None."""
    if values is None:
        return None
    truncated = {
        name: value[:MAX_VALUE_LENGTH] if isinstance(value, str) else value
        for name, value in values.items()
    }
    return json.loads(json.dumps(truncated, cls=DjangoJSONEncoder, default=str))
