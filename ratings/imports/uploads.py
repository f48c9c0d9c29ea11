"""Uploaded files: stored under generated paths, limited, unpacked and identified.

They are on disk, and in the database for hosts that do not share DATA_DIR/imports. The run says
which folder has its files, and whether they are in the database, too. A host without the file gets
its copy from there.
"""

from __future__ import annotations

import codecs
import os
import secrets
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from django.conf import settings
from django.db import transaction

from ratings.files import shared_folders
from ratings.models import ImportFilePart, ImportRun

from . import zip_archives
from .decoding import sample
from .decoding.encodings import build_encoding_error, detect_encoding
from .problems import UnreadableFileError
from .readers import detect_source
from .readers.tables.xlsx import is_workbook

FOLDER = "imports"  # below DATA_DIR
STAGING_SUFFIX = ".rows"  # the staging database of "imports/abc" is "imports/abc.rows"


@dataclass(frozen=True)
class StoredFile:
    """A stored upload.

    ``source`` is a name of SOURCES. ``encoding`` is empty if the file is not text, and None if the
    text is not UTF-8 and its encoding is unknown; ``encoding_error`` then names the first byte that
    is not UTF-8.
    """

    path: str
    source: str
    size: int
    encoding: str | None
    encoding_error: UnreadableFileError | None


def get_absolute_path(path: str) -> Path:
    """Return the absolute path of a stored file."""
    return Path(settings.DATA_DIR) / path


def store_upload(upload: IO[bytes]) -> StoredFile:
    """Copy an upload to a generated path.

    Raises UnreadableFileError, storing nothing. gzip is unpacked while copying, and the manifest of
    a ZIP archive is extracted (see `zip_archives`). The size limit applies to the unpacked bytes,
    which are counted while they are written, so that an archive bomb is rejected early.
    """
    path = f"{FOLDER}/{secrets.token_hex(16)}"
    target = get_absolute_path(path)
    target.parent.mkdir(mode=0o700, exist_ok=True)
    try:
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as copy:
            size, encoding, encoding_error = _copy_chunks(sample.iter_unpacked_chunks(upload), copy)
        if _is_archive(target):
            with zip_archives.open_manifest(target) as manifest, target.open("xb") as copy:
                size, encoding, encoding_error = _copy_chunks(
                    zip_archives.iter_chunks(manifest), copy
                )
        source = detect_source(sample.read_sample(target, encoding=encoding or ""))
        return StoredFile(path, source, size, encoding, encoding_error)
    except BaseException:
        delete_upload(path)
        raise


def _is_archive(path: Path) -> bool:
    """Return whether the file is a ZIP archive but not a workbook. Raises UnreadableFileError."""
    with path.open("rb") as file:
        if file.read(len(sample.ZIP_SIGNATURE)) != sample.ZIP_SIGNATURE:
            return False
    zip_archives.validate_directory_size(path)
    return not is_workbook(path)


def _copy_chunks(
    chunks: Iterator[bytes], copy: IO[bytes]
) -> tuple[int, str | None, UnreadableFileError | None]:
    """Write the chunks and return (size, encoding, encoding error) as in StoredFile.

    Text is decoded as UTF-8 while it is copied, unless it shows another encoding. Raises
    UnreadableFileError for a file that is empty, too large, or of a kind that cannot be imported.
    """
    encoding: str | None = None
    encoding_error: UnreadableFileError | None = None
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    size = line_feeds = 0
    for chunk in chunks:
        if size == 0:
            head = chunk[: sample.SIGNATURE_BYTES]
            is_text = sample.detect_file_kind(head) not in sample.BINARY_KINDS
            encoding = detect_encoding(head) if is_text else ""
        size += len(chunk)
        if size > settings.IMPORT_MAX_BYTES:
            raise UnreadableFileError("too_large", limit=settings.IMPORT_MAX_BYTES)
        if encoding is None and encoding_error is None:
            encoding_error = _find_invalid_byte(decoder, chunk, line=line_feeds + 1)
            line_feeds += chunk.count(b"\n")
        copy.write(chunk)
    if size == 0:
        raise UnreadableFileError("empty")
    if encoding is None and encoding_error is None:
        encoding_error = _find_invalid_byte(decoder, b"", line=line_feeds + 1)
        encoding = None if encoding_error else "utf-8-sig"
    return size, encoding, encoding_error


def _find_invalid_byte(
    decoder: codecs.IncrementalDecoder, chunk: bytes, *, line: int
) -> UnreadableFileError | None:
    """Return an error for the first byte that is not UTF-8, or None."""
    try:
        decoder.decode(chunk, final=not chunk)
    except UnicodeDecodeError as error:
        return build_encoding_error(
            error, "utf-8-sig", line=line + error.object[: error.start].count(b"\n")
        )
    return None


def delete_upload(path: str) -> None:
    """Delete an upload with its staging database and archive; missing files are ignored."""
    target = get_absolute_path(path)
    for file in (target, *target.parent.glob(f"{target.name}{STAGING_SUFFIX}*")):
        file.unlink(missing_ok=True)
    zip_archives.delete_archive(target)


PART_BYTES = 1 << 20


def needs_database_copy(path: str) -> bool:
    """Return whether other hosts need a copy of the file in the database.

    False for a file with a media archive, which is not copied: only the host that has the archive
    can import the file.
    """
    if zip_archives.has_media_archive(get_absolute_path(path)):
        return False
    return bool(shared_folders.list_separate_hosts(shared_folders.IMPORTS))


@transaction.atomic
def store_in_database(run: ImportRun, suffix: str = "") -> None:
    """Store a file of the run in the database, in place of an earlier one.

    ``suffix`` is empty for the upload, STAGING_SUFFIX for its staging database.
    """
    run.file_parts.filter(suffix=suffix).delete()
    with get_absolute_path(f"{run.path}{suffix}").open("rb") as file:
        number = 0
        while chunk := file.read(PART_BYTES):
            ImportFilePart.objects.create(
                run=run, suffix=suffix, number=number, data=zlib.compress(chunk, 1)
            )
            number += 1


def ensure_local_file(run: ImportRun, suffix: str = "", *, refresh: bool = False) -> Path:
    """Return the path of a file of the run, fetched from the database if it is missing here.

    ``suffix`` is as in ``store_in_database``. With ``refresh`` the file is fetched in any case, as
    another host may have stored a newer one. It may be missing in both places.
    """
    path = get_absolute_path(f"{run.path}{suffix}")
    if run.in_database and (refresh or not path.exists()):
        _fetch_file(run, suffix, path)
    return path


def _fetch_file(run: ImportRun, suffix: str, path: Path) -> None:
    parts = run.file_parts.filter(suffix=suffix).order_by("number").values_list("data", flat=True)
    partial_path = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    path.parent.mkdir(mode=0o700, exist_ok=True)
    try:
        with partial_path.open("xb") as file:
            for data in parts.iterator(chunk_size=1):
                file.write(zlib.decompress(data))
            is_missing = file.tell() == 0
        if not is_missing:
            partial_path.replace(path)
    finally:
        partial_path.unlink(missing_ok=True)
