"""Records of a JSON file, streamed: a list of objects, JSON Lines, or concatenated objects.

Memory stays flat whatever the size of the file, and each record has its line. The decoder of the
standard library reads one value at a time from a growing text. The rest of the site uses the same
decoder, so that error messages are the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from core.text import parse_finite_float, reject_constant
from ratings.imports.problems import UnreadableFileError, truncate_text

from .encodings import TextChunks, count_line_ends

MAX_RECORD_LENGTH = 4 << 20  # characters
MAX_DEPTH = 100  # nesting levels named in the message; the decoder's own limit is some thousand
# Escapes that may produce invalid text: NUL and lone surrogates.
_SUSPICIOUS_ESCAPES = re.compile(r"\\u(0000|[dD][89a-fA-F])")
# An odd number of backslashes: a real escape, not an escaped backslash followed by letters.
_NUL_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
WHITESPACE = re.compile("[ \t\r\n\ufeff]*")

JsonObject = dict[str, Any]
Record = tuple[int, JsonObject]  # line, object


class JsonStream:
    """Iterable of (line, record) of a file; iterating may raise UnreadableFileError.

    ``bytes_read`` is the progress. ``list_path``: names of the fields that lead to a list inside
    the file's only object. The records of this list are read, and the other fields are skipped.
    """

    def __init__(self, path: Path, *, encoding: str, list_path: Sequence[str] = ()) -> None:
        self.list_path = list_path
        self.chunks = TextChunks(path, encoding=encoding)
        self.decoder = json.JSONDecoder(
            object_pairs_hook=_build_object,
            parse_constant=reject_constant,
            parse_float=parse_finite_float,
        )
        self.text = ""
        self.position = 0
        self.line = 1  # line of the character at ``position``

    @property
    def bytes_read(self) -> int:
        return self.chunks.bytes_read

    def __iter__(self) -> Iterator[Record]:
        self.remaining_chunks = iter(self.chunks)
        char = self._peek_after_whitespace()
        if self.list_path:
            if char == "{":
                yield from self._iter_nested_fields(self.list_path)
            return
        if char == "[":
            yield from self._iter_list()
            return
        while char:
            yield self._read_record()
            char = self._peek_after_whitespace()

    def _iter_nested_fields(self, path: Sequence[str]) -> Iterator[Record]:
        """Yield the records of the list at ``path`` in the object that begins at ``position``."""
        self._advance(1)
        while self._peek_after_whitespace() == '"':
            _line, name = self._read_value()
            if self._peek_after_whitespace() != ":":
                raise self._build_syntax_error("a colon is missing behind the name of a field")
            self._advance(1)
            char = self._peek_after_whitespace()
            if name == path[0] and len(path) > 1 and char == "{":
                yield from self._iter_nested_fields(path[1:])
            elif name == path[0] and len(path) == 1 and char == "[":
                yield from self._iter_elements()
            else:
                self._read_value()
            if self._peek_after_whitespace() == ",":
                self._advance(1)
        if self._peek_after_whitespace() != "}":
            raise self._build_syntax_error("the name of a field is missing")
        self._advance(1)

    def _iter_list(self) -> Iterator[Record]:
        """Yield the records of a list."""
        yield from self._iter_elements()
        if self._peek_after_whitespace():
            raise self._build_syntax_error("there is something behind the end of the list")

    def _iter_elements(self) -> Iterator[Record]:
        """Yield the records up to the end of the list that begins at ``position``."""
        self._advance(1)
        char = self._peek_after_whitespace()
        while char != "]":
            yield self._read_record()
            char = self._peek_after_whitespace()
            if char == ",":
                self._advance(1)
                char = self._peek_after_whitespace()
                if char == "]":
                    raise self._build_syntax_error("a comma stands before the end of the list")
            elif char != "]":
                raise self._build_syntax_error("a comma is missing between two records")
        self._advance(1)

    def _read_record(self) -> Record:
        """Return (line, record) for the object that begins at ``position``.

        Raises UnreadableFileError if something else begins there, or as ``_read_value``.
        """
        if (char := self.text[self.position]) != "{":
            excerpt = self.text[self.position : self.position + 40].split("\n")[0]
            raise UnreadableFileError(
                "json_object", line=self.line, found=truncate_text(excerpt or char)
            )
        return self._read_value()

    def _read_value(self) -> tuple[int, Any]:
        """Return (line, value) for the value that begins at ``position``, and move past it.

        Raises UnreadableFileError if it is cut off, invalid, too long or nested too deeply.
        """
        while True:
            start, n_buffered = self.position, len(self.text) - self.position
            try:
                value, end = self.decoder.raw_decode(self.text, self.position)
            except RecursionError:
                raise UnreadableFileError("json_deep", line=self.line, limit=MAX_DEPTH) from None
            except json.JSONDecodeError as error:
                if n_buffered > MAX_RECORD_LENGTH:
                    raise self._build_length_error(error, start) from None
                # A record that is cut off at the end of the buffer looks invalid. Double the
                # buffer each time, so that a long record is parsed only a few times.
                if not self._read_at_least(n_buffered):
                    raise self._build_error(error, start) from None
            except ValueError as error:
                raise UnreadableFileError(
                    "json", line=self.line, why=truncate_text(str(error))
                ) from None
            else:
                # A number may continue beyond the buffer.
                if end < len(self.text) or not self._read_at_least(1):
                    return self._finish_record(value, end)

    def _finish_record(self, value: Any, end: int) -> tuple[int, Any]:
        """Validate the record that ends at ``end``, move past it, and return (line, record).

        Raises UnreadableFileError if it is too long or has characters that cannot be stored.
        """
        line = self.line
        if end - self.position > MAX_RECORD_LENGTH:
            raise UnreadableFileError("json_long", line=line, limit=MAX_RECORD_LENGTH)
        if _SUSPICIOUS_ESCAPES.search(self.text, self.position, end):
            _reject_invalid_text(value, line)
        self._advance(end - self.position)
        return line, value

    def _peek_after_whitespace(self) -> str:
        """Move to the next character that is not whitespace and return it.

        Returns an empty text at the end of the file.
        """
        while True:
            whitespace = WHITESPACE.match(self.text, self.position)
            assert whitespace is not None  # the pattern matches the empty text, too
            self._advance(whitespace.end() - self.position)
            if self.position < len(self.text):
                return self.text[self.position]
            if not self._read_at_least(1):
                return ""

    def _advance(self, count: int) -> None:
        if count:
            self.line += count_line_ends(self.text[self.position : self.position + count])
        self.position += count

    def _read_at_least(self, count: int) -> bool:
        """Read at least ``count`` more characters; return False at the end of the file."""
        parts = [self.text[self.position :]]
        n_read = 0
        for text in self.remaining_chunks:
            parts.append(text)
            n_read += len(text)
            if n_read >= count:
                break
        self.text = "".join(parts)
        self.position = 0
        return n_read > 0

    def _build_error(self, error: json.JSONDecodeError, start: int) -> UnreadableFileError:
        """Return the error for a record that is cut off or invalid, with the line.

        ``start`` is the position of the record in the text that the decoder got.
        """
        line = self.line + count_line_ends(error.doc[start : error.pos])
        is_at_end = not error.doc[error.pos :].strip()
        if is_at_end or error.msg.startswith("Unterminated string"):
            return UnreadableFileError("json_cut", line=line)
        return UnreadableFileError("json", line=line, why=error.msg)

    def _build_length_error(self, error: json.JSONDecodeError, start: int) -> UnreadableFileError:
        """Return the error for a record that exceeds MAX_RECORD_LENGTH.

        A syntax error in the first half of this length is reported instead.
        """
        is_unterminated = error.msg.startswith("Unterminated string")
        if error.pos - start < MAX_RECORD_LENGTH // 2 and not is_unterminated:
            return self._build_error(error, start)
        return UnreadableFileError("json_long", line=self.line, limit=MAX_RECORD_LENGTH)

    def _build_syntax_error(self, message: str) -> UnreadableFileError:
        if not self.text[self.position :]:
            return UnreadableFileError("json_cut", line=self.line)
        return UnreadableFileError("json", line=self.line, why=message)


def _reject_invalid_text(value: Any, line: int) -> None:
    """Raise UnreadableFileError for NUL characters and lone surrogates in a value.

    PostgreSQL stores no NUL, and a lone surrogate is half of a character.
    """
    text = json.dumps(value, ensure_ascii=False)
    if _NUL_ESCAPE.search(text):
        raise UnreadableFileError("nul", line=line)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        excerpt = text[max(0, error.start - 20) : error.start]
        raise UnreadableFileError("surrogate", line=line, value=excerpt) from None


def _build_object(pairs: list[tuple[str, Any]]) -> JsonObject:
    """Return the pairs as a dictionary; raise ValueError if a name occurs twice."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        seen_names = set()
        for name, _value in pairs:
            if name in seen_names:
                raise ValueError(f"the field '{truncate_text(name)}' stands twice in one object")
            seen_names.add(name)
    return fields
