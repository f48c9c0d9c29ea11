"""Files that may be packed with gzip."""

from __future__ import annotations

import gzip
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ratings.imports.problems import UnreadableFileError

GZIP_SIGNATURE = b"\x1f\x8b"  # first bytes of a gzip file
CHUNK_BYTES = 1 << 16  # bytes read at a time


@contextmanager
def open_unpacked(path: Path) -> Iterator[Path]:
    """Yield the path of the file, or of an unpacked temporary copy if it is packed with gzip.

    The copy is deleted when the context ends. Raises UnreadableFileError.
    """
    with path.open("rb") as source:
        if source.read(2) != GZIP_SIGNATURE:
            yield path
            return
        with tempfile.NamedTemporaryFile() as copy:
            copy.writelines(iter_unpacked_chunks(source))
            copy.flush()
            yield Path(copy.name)


def iter_unpacked_chunks(source: IO[bytes]) -> Iterator[bytes]:
    """Yield the content of a file in chunks, unpacked if it is gzip. Raises UnreadableFileError."""
    source.seek(0)
    is_packed = source.read(2) == GZIP_SIGNATURE
    source.seek(0)
    if not is_packed:
        while chunk := source.read(CHUNK_BYTES):
            yield chunk
        return
    with gzip.GzipFile(fileobj=source, mode="rb") as gzip_file:
        try:
            while chunk := gzip_file.read(CHUNK_BYTES):
                yield chunk
        except (OSError, EOFError, zlib.error):
            raise UnreadableFileError("gzip") from None
