"""Audit log file: JSON lines, each with the hash of the line before.

The owner of the database can change its entries; a collector that reads this file at once has them
as they were. The chain shows a line that was changed, removed or inserted later. The setting
AUDIT_LOG_FILE names the file; without it nothing is written. Each machine has a file of its own.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder

from agreement_site.models import AuditLogEntry

logger = logging.getLogger(__name__)

FIRST_HASH = "0" * 64  # "previous" of the first line of a file
COLUMNS = (
    *("id", "created_at", "action", "actor_id", "actor", "project_id", "address", "request_id"),
    *("before", "after", "details"),
)
TAIL_BYTES = 1 << 16


def append_entry(entry: AuditLogEntry) -> None:
    """Append an entry to the file, after the commit of its transaction.

    An error is logged and never fails a request: the entry is in the database.
    """
    path = Path(settings.AUDIT_LOG_FILE)
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(handle, "rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed
            previous = _read_last_hash(file)
            file.write(format_line(get_values(entry), previous))
    except (OSError, ValueError):
        logger.exception("The audit log could not be appended to %s", path)


def format_line(values: Mapping[str, Any], previous: str) -> bytes:
    """Return the line of an entry: its values, the hash of the line before, and its own hash."""
    content = encode({**values, "previous": previous})
    digest = hashlib.sha256(content.encode()).hexdigest()
    return f'{content[:-1]}, "hash": "{digest}"}}\n'.encode()


@dataclass(frozen=True)
class StreamProblem:
    """A changed, missing or invalid line of an audit log file; ``line`` is counted from 1."""

    line: int
    description: str


@dataclass
class WrittenEntries:
    """The entries that audit log files have."""

    ids: set[int] = field(default_factory=set)
    n_lines: int = 0

    def iter_missing(self) -> Iterator[int]:
        """Yield ids of stored entries that no file has, between the first and the last one."""
        if self.ids:
            between = (min(self.ids), max(self.ids))
            stored = AuditLogEntry.objects.filter(pk__range=between).order_by("pk")
            for entry_id in stored.values_list("pk", flat=True).iterator():
                if entry_id not in self.ids:
                    yield entry_id


def iter_stream_problems(
    lines: Iterable[bytes], written: WrittenEntries
) -> Iterator[StreamProblem]:
    """Yield broken links of the chain of hashes, and lines that differ from stored entries.

    The entries of the lines are added to ``written``.
    """
    previous = FIRST_HASH
    for number, line in enumerate(lines, start=1):
        written.n_lines += 1
        try:
            values = json.loads(line)
            digest, before = values.pop("hash"), values.pop("previous")
            written.ids.add(int(values["id"]))
        except (ValueError, KeyError, AttributeError, TypeError):
            yield StreamProblem(number, "it is no entry")
            continue
        if before != previous:
            yield StreamProblem(number, "it does not follow the line before")
        if format_line(values, before) != line.rstrip(b"\n") + b"\n":
            yield StreamProblem(number, "it was changed after it was written")
        elif _differs_from_database(values):
            yield StreamProblem(number, f"entry {values['id']} of the database differs from it")
        previous = digest


def _differs_from_database(values: Mapping[str, Any]) -> bool:
    """Return True if the stored entry differs; an entry or address may be gone by retention."""
    entry = AuditLogEntry.objects.filter(pk=values["id"]).first()
    if entry is None:
        return not settings.KEEP_AUDIT_LOG_DAYS
    stored = json.loads(encode(get_values(entry)))
    if settings.KEEP_ADDRESSES_DAYS and not stored["address"]:
        stored["address"] = values["address"]
    return bool(stored != values)


def get_values(entry: AuditLogEntry) -> Mapping[str, Any]:
    """Return the values of an entry as the file and syslog have them."""
    return {name: getattr(entry, name) for name in COLUMNS}


def encode(values: Mapping[str, Any]) -> str:
    """Return the values as JSON, in their order."""
    return json.dumps(values, cls=DjangoJSONEncoder, ensure_ascii=False)


def _read_last_hash(file: IO[bytes]) -> str:
    """Return the hash of the last line. Raises ValueError for a file that is no such log."""
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
