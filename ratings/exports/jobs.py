"""Background part of an export: write its file in pieces.

If a worker dies, the run's row has the position after the last complete piece, and the next worker
continues there. A worker that takes over copies the complete pieces to a file of its own, because
the former one may still be alive and write to its file.
"""

from __future__ import annotations

import datetime
import errno
import json
import logging
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import IO, Any

from django.db import DatabaseError
from django.db.models import F, Q
from django.utils import timezone

from core.jobs.lease import (
    LeaseLost,
    build_unclaimed_filter,
    claim_row,
    get_leased_rows,
    release_lease,
    update_leased_row,
)
from ratings.files import export_files, shared_folders
from ratings.models import ExportRun

from .documents import BinaryFormat, Document, TextFormat, build_run_document, iter_pieces

logger = logging.getLogger(__name__)

State = ExportRun.State
# A worker that has not stored a piece for this long counts as dead.
CLAIM_TIMEOUT = datetime.timedelta(seconds=60)
MAX_ATTEMPTS = 5  # consecutive claims without progress before an export is marked as failed
POSITION_FIELDS = ("rows_done", "bytes_written", "sections_done", "last_item_id")
FULL_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _iter_json_lines(rows: Iterable[Any]) -> Iterator[str]:
    encode = json.JSONEncoder().encode
    return (f"{encode(row)}\n" for row in rows)


# The pieces of a file that is encoded when all rows are there, as of Parquet.
JSON_ROWS = TextFormat(_iter_json_lines)


def run_export(run_id: int) -> None:
    """Write the file of an export; do nothing if another worker has claimed it."""
    run = claim_row(
        ExportRun.objects.select_related("project"),
        run_id,
        _build_unfinished_filter(),
        state=State.WRITING,
        attempts=F("attempts") + 1,
        leased_until=timezone.now() + CLAIM_TIMEOUT,
    )
    if run is None:
        return
    try:
        if run.attempts > MAX_ATTEMPTS:
            _mark_failed(run, ExportRun.Error.ERROR)
        else:
            _write_file(run)
    except LeaseLost:
        logger.info("export %s was claimed by another worker, or deleted", run_id)
    except Exception as error:
        logger.exception("export %s failed", run_id)
        with suppress(DatabaseError, LeaseLost):  # if this fails, the lease expires
            if isinstance(error, OSError) and error.errno in FULL_DISK_ERRORS:
                _mark_failed(run, ExportRun.Error.DISK_FULL)
            else:
                release_lease(run)


def _build_unfinished_filter() -> Q:
    """Return the filter for exports without a complete file whose folder this host has."""
    token = shared_folders.get_or_create_folder_token(shared_folders.EXPORTS)
    return Q(state__in=ExportRun.UNFINISHED, folder=token)


def resume_stalled_exports() -> int:
    """Write every unfinished export that has no worker; return their number."""
    stalled = ExportRun.objects.filter(state__in=ExportRun.UNFINISHED)
    if not stalled.exists():
        return 0
    stalled = stalled.filter(build_unclaimed_filter(), _build_unfinished_filter())
    run_ids = list(stalled.order_by("pk").values_list("pk", flat=True))
    for run_id in run_ids:
        run_export(run_id)
    return len(run_ids)


def delete_old_exports(before: datetime.datetime) -> int:
    """Delete exports that ended before this time, and their files; return their number."""
    return export_files.delete_exports(ExportRun.objects.filter(finished_at__lt=before))


def _update_run(run: ExportRun, **changes: Any) -> None:
    """Store changes and renew the lease. Raises LeaseLost."""
    changes = {"leased_until": timezone.now() + CLAIM_TIMEOUT, **changes}
    update_leased_row(run, get_leased_rows(run), **changes)


def _mark_failed(run: ExportRun, error: str) -> None:
    """Mark an export as failed, and delete its incomplete file."""
    path = run.path
    _update_run(
        run,
        state=State.FAILED,
        error=error,
        finished_at=timezone.now(),
        path="",
        leased_until=None,
    )
    export_files.delete_files([path])


def _write_file(run: ExportRun) -> None:
    """Write the remaining pieces and complete the file."""
    document = build_run_document(run)
    file_format = document.format
    with _open_own_file(run) as file:
        if not run.rows_total:
            _update_run(run, rows_total=document.count_rows())
        pieces_format = file_format if isinstance(file_format, TextFormat) else JSON_ROWS
        _write_pieces(run, document, pieces_format, file)
    if isinstance(file_format, BinaryFormat):
        _encode_json_rows(run, file_format)
    else:
        _mark_done(run, run.path)


def _mark_done(run: ExportRun, path: str) -> None:
    _update_run(
        run,
        state=State.DONE,
        path=path,
        bytes_written=export_files.get_absolute_path(path).stat().st_size,
        rows_total=run.rows_done,
        finished_at=timezone.now(),
        leased_until=None,
    )


def _open_own_file(run: ExportRun) -> IO[bytes]:
    """Return a new file of this worker, with the complete pieces that the former worker wrote.

    Without the former file, the export starts again.
    """
    former_path, path = run.path, export_files.generate_path()
    file = _create_file(path)
    try:
        position = {name: getattr(run, name) for name in POSITION_FIELDS}
        if not _copy_complete_pieces(run, file):
            file.truncate(0)
            file.seek(0)
            position = dict.fromkeys(POSITION_FIELDS, 0)
        _update_run(run, path=path, **position)
    except BaseException:
        file.close()
        export_files.delete_files([path])
        raise
    export_files.delete_files([former_path])
    return file


def _create_file(path: str) -> IO[bytes]:
    target = export_files.get_absolute_path(path)
    return os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _copy_complete_pieces(run: ExportRun, file: IO[bytes]) -> bool:
    """Copy the complete pieces of the former file; return False if they are missing."""
    if not run.bytes_written:
        return True
    try:
        with open(export_files.get_absolute_path(run.path), "rb") as former_file:
            shutil.copyfileobj(former_file, file)
    except FileNotFoundError:
        return False
    if file.tell() < run.bytes_written:
        return False
    file.truncate(run.bytes_written)
    file.seek(run.bytes_written)
    return True


def _write_pieces(
    run: ExportRun, document: Document, file_format: TextFormat, file: IO[bytes]
) -> None:
    """Write the remaining pieces: the head before the first, and the tail after the last.

    The run holds the position up to which an earlier task has written.
    """
    if not run.bytes_written:
        file.write(file_format.head.encode())
    for piece in iter_pieces(
        document, n_sections_done=run.sections_done, last_item_id=run.last_item_id
    ):
        lines = list(file_format.format_lines(piece.rows))
        if lines and run.rows_done:
            file.write(file_format.separator.encode())
        file.write(file_format.separator.join(lines).encode())
        _flush_to_disk(file)
        _update_run(
            run,
            rows_done=run.rows_done + len(lines),
            bytes_written=file.tell(),
            sections_done=piece.n_sections_done,
            last_item_id=piece.last_item_id,
            attempts=0,
        )
    file.write(file_format.tail.encode())
    _flush_to_disk(file)


def _flush_to_disk(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _encode_json_rows(run: ExportRun, file_format: BinaryFormat) -> None:
    """Encode the rows, which are stored as JSON lines, as a new file that replaces theirs."""
    json_path, path = run.path, export_files.generate_path()
    try:
        with (
            open(export_files.get_absolute_path(json_path), "rb") as rows,
            _create_file(path) as file,
        ):
            for chunk in file_format.encode(map(json.loads, rows)):
                file.write(chunk)
                _update_run(run)
            _flush_to_disk(file)
        _mark_done(run, path)
    except BaseException:
        export_files.delete_files([path])
        raise
    export_files.delete_files([json_path])
