"""The text of a stored file, in pieces: what is no text in its encoding is named by its line."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from pathlib import Path

from ratings.imports.problems import Unreadable

from .encodings import wrong_byte

CHUNK = 1 << 16  # bytes read at a time


class TextChunks:
    """Iterates over pieces of the text; line ends are not split over two. ``bytes_read`` tells how
    far it has come. Raises Unreadable."""

    def __init__(self, path: Path, *, encoding: str) -> None:
        self.path = path
        self.encoding = encoding
        self.bytes_read = 0

    def __iter__(self) -> Iterator[str]:
        decoder = io.IncrementalNewlineDecoder(
            codecs.getincrementaldecoder(self.encoding)("strict"), translate=False
        )
        line = 1  # the one that the next character belongs to
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            raise Unreadable("lost") from None
        with file:
            chunk = b"-"
            while chunk:
                chunk = file.read(CHUNK)
                self.bytes_read += len(chunk)
                try:
                    text = decoder.decode(chunk, final=not chunk)
                except UnicodeDecodeError as error:
                    before = error.object[: error.start].decode(self.encoding, "replace")
                    at = line + line_ends(before)
                    raise wrong_byte(error, self.encoding, line=at) from None
                if "\0" in text:
                    raise Unreadable("nul", line=line + line_ends(text[: text.index("\0")]))
                line += line_ends(text)
                yield text


def line_ends(text: str) -> int:
    """How many lines end in the text: by \\n, \\r\\n, or \\r alone."""
    if "\r" not in text:
        return text.count("\n")
    return text.count("\n") + text.count("\r") - text.count("\r\n")
