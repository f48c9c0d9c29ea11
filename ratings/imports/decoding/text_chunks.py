"""The text of a stored file in chunks; bytes that are not text are reported with their line."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from pathlib import Path

from ratings.imports.problems import UnreadableFileError

from .encodings import build_encoding_error

CHUNK_BYTES = 1 << 16  # bytes read at a time


class TextChunks:
    """Iterates over chunks of the text without splitting line ends.

    ``bytes_read`` is the progress. Raises UnreadableFileError.
    """

    def __init__(self, path: Path, *, encoding: str) -> None:
        self.path = path
        self.encoding = encoding
        self.bytes_read = 0

    def __iter__(self) -> Iterator[str]:
        decoder = io.IncrementalNewlineDecoder(
            codecs.getincrementaldecoder(self.encoding)("strict"), translate=False
        )
        line = 1  # line of the next character
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            raise UnreadableFileError("file_missing") from None
        with file:
            chunk = b"-"
            while chunk:
                chunk = file.read(CHUNK_BYTES)
                self.bytes_read += len(chunk)
                try:
                    text = decoder.decode(chunk, final=not chunk)
                except UnicodeDecodeError as error:
                    before = error.object[: error.start].decode(self.encoding, "replace")
                    error_line = line + count_line_ends(before)
                    raise build_encoding_error(error, self.encoding, line=error_line) from None
                if "\0" in text:
                    raise UnreadableFileError(
                        "nul", line=line + count_line_ends(text[: text.index("\0")])
                    )
                line += count_line_ends(text)
                yield text


def count_line_ends(text: str) -> int:
    """Return the number of line ends in the text: \\n, \\r\\n, or \\r alone."""
    if "\r" not in text:
        return text.count("\n")
    return text.count("\n") + text.count("\r") - text.count("\r\n")
