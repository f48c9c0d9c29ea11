"""Uploaded files on disk: paths made here, contents bounded, unpacked, and looked at before
anything else does."""

from __future__ import annotations

import codecs
import gzip
import os
import secrets
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import IO

from django.conf import settings

from . import archives
from .decoding import sample
from .decoding.encodings import marked_encoding, wrong_byte
from .problems import Unreadable
from .readers import source_of
from .readers.tables.xlsx import is_workbook

FOLDER = "imports"  # below DATA_DIR
SCRATCH = ".rows"  # the staged rows of "imports/abc" lie in "imports/abc.rows…"
GZIP = b"\x1f\x8b"  # how a packed file begins
CHUNK = 1 << 16  # bytes copied at a time
ABANDONED = 3600.0  # seconds after which a file that no run speaks of is removed


@dataclass(frozen=True)
class Stored:
    """``source`` is a name of SOURCES. ``encoding`` is None where the file is not UTF-8 and nothing
    else gives its encoding away; ``trouble`` then names the first byte that is not UTF-8. It is
    empty where the file is no text."""

    path: str
    source: str
    size: int
    encoding: str | None
    trouble: Unreadable | None


def absolute(path: str) -> Path:
    return Path(settings.DATA_DIR) / path


def store(upload: IO[bytes]) -> Stored:
    """Copy an upload to a path of our own, unpacking gzip on the way, and taking the manifest out
    of a ZIP archive (see `archives`); Unreadable leaves nothing behind.

    An unpacked file has the same bound as a plain one, and is counted while it streams: a bomb ends
    there.
    """
    path = f"{FOLDER}/{secrets.token_hex(16)}"
    target = absolute(path)
    target.parent.mkdir(mode=0o700, exist_ok=True)
    upload.seek(0)
    head = upload.read(2)
    upload.seek(0)
    try:
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as copy:
            chunks = _unpacked(upload) if head == GZIP else _plain(upload)
            size, encoding, trouble = _copy(chunks, copy)
        if _is_archive(target):
            with archives.open_up(target) as manifest, target.open("xb") as copy:
                size, encoding, trouble = _copy(archives.read(manifest), copy)
        source = source_of(sample.look_at(target, encoding=encoding or ""))
        return Stored(path, source, size, encoding, trouble)
    except BaseException:
        remove(path)
        raise


def _is_archive(path: Path) -> bool:
    """Whether it is a ZIP archive that is no workbook. Raises Unreadable."""
    with path.open("rb") as file:
        if file.read(len(sample.ZIP)) != sample.ZIP:
            return False
    archives.guard(path)
    return not is_workbook(path)


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """The file; of one that is packed with gzip a plain copy, for as long as the context lasts.
    Raises Unreadable."""
    with path.open("rb") as source:
        if source.read(2) != GZIP:
            yield path
            return
        source.seek(0)
        with tempfile.NamedTemporaryFile() as copy:
            copy.writelines(_unpacked(source))
            copy.flush()
            yield Path(copy.name)


def _plain(source: IO[bytes]) -> Iterator[bytes]:
    while chunk := source.read(CHUNK):
        yield chunk


def _unpacked(source: IO[bytes]) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=source, mode="rb") as unpacking:
        try:
            while chunk := unpacking.read(CHUNK):
                yield chunk
        except (OSError, EOFError, zlib.error):
            raise Unreadable("gzip") from None


def _copy(chunks: Iterator[bytes], copy: IO[bytes]) -> tuple[int, str | None, Unreadable | None]:
    """Write the chunks; (size, encoding, trouble) as in Stored. Each is tried as UTF-8 while it
    passes."""
    encoding: str | None = None
    trouble: Unreadable | None = None
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    size = line_feeds = 0
    for chunk in chunks:
        if size == 0:
            head = chunk[: sample.HEAD]
            is_text = sample.kind_of(head) not in sample.NO_TEXT
            encoding = marked_encoding(head) if is_text else ""
        size += len(chunk)
        if size > settings.IMPORT_MAX_BYTES:
            raise Unreadable("too_large", limit=settings.IMPORT_MAX_BYTES)
        if encoding is None and trouble is None:
            trouble = _not_utf8(decoder, chunk, line=line_feeds + 1)
            line_feeds += chunk.count(b"\n")
        copy.write(chunk)
    if size == 0:
        raise Unreadable("empty")
    if encoding is None and trouble is None:
        trouble = _not_utf8(decoder, b"", line=line_feeds + 1)
        encoding = None if trouble else "utf-8-sig"
    return size, encoding, trouble


def _not_utf8(decoder: codecs.IncrementalDecoder, chunk: bytes, *, line: int) -> Unreadable | None:
    try:
        decoder.decode(chunk, final=not chunk)
    except UnicodeDecodeError as error:
        return wrong_byte(error, "utf-8-sig", line=line + error.object[: error.start].count(b"\n"))
    return None


def remove(path: str) -> None:
    """The upload and everything made from it; what is gone already is fine."""
    target = absolute(path)
    for file in (target, *target.parent.glob(f"{target.name}{SCRATCH}*")):
        file.unlink(missing_ok=True)
    archives.remove(target)


def remove_abandoned(known: set[str]) -> None:
    """Files that no run speaks of any more (their project was deleted, their worker killed)."""
    folder = absolute(FOLDER)
    if not folder.is_dir():
        return
    names = {PurePath(path).name for path in known}
    for file in folder.iterdir():
        if file.name.split(".")[0] not in names and file.stat().st_mtime < time.time() - ABANDONED:
            file.unlink(missing_ok=True)
