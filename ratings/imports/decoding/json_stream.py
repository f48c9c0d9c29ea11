"""The records of a JSON file, streamed: a list of objects, an object a line, or one object after
another. Memory stays flat whatever the file holds, and each record knows its line.

The standard library's decoder reads one value at a time from a growing text: it is the one that
the rest of the site reads JSON with, and names what is wrong in the same way.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from ratings.imports.problems import Unreadable, shown

from .text_chunks import TextChunks, line_ends

MAX_RECORD = 4 << 20  # characters
DEEPEST = 100  # levels that a record may have; the decoder itself ends at some thousand
# Escapes that may stand for what is no text: NUL, and a half of a character.
_ODD = re.compile(r"\\u(0000|[dD][89a-fA-F])")
# An odd number of backslashes before it: a real escape, not a backslash followed by letters.
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
BLANKS = re.compile("[ \t\r\n\ufeff]*")


class JsonStream:
    """Iterates over (line, record) of a file. ``bytes_read`` tells how far it has come. Raises
    Unreadable."""

    def __init__(self, path: Path, *, encoding: str) -> None:
        self.chunks = TextChunks(path, encoding=encoding)
        self.decoder = json.JSONDecoder(
            object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=_finite
        )
        self.text = ""
        self.place = 0
        self.line = 1  # of the character at ``place``

    @property
    def bytes_read(self) -> int:
        return self.chunks.bytes_read

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        self.more = iter(self.chunks)
        first = self._next_sign()
        if first == "[":
            yield from self._list()
            return
        while first:
            yield self._record()
            first = self._next_sign()

    def _list(self) -> Iterator[tuple[int, dict[str, Any]]]:
        self._pass(1)
        sign = self._next_sign()
        while sign != "]":
            yield self._record()
            sign = self._next_sign()
            if sign == ",":
                self._pass(1)
                sign = self._next_sign()
                if sign == "]":
                    raise self._wrong("a comma stands before the end of the list")
            elif sign != "]":
                raise self._wrong("a comma is missing between two records")
        self._pass(1)
        if self._next_sign():
            raise self._wrong("there is something behind the end of the list")

    def _record(self) -> tuple[int, dict[str, Any]]:
        """The object that begins at ``place``."""
        if (sign := self.text[self.place]) != "{":
            found = self.text[self.place : self.place + 40].split("\n")[0]
            raise Unreadable("json_object", line=self.line, found=shown(found or sign))
        while True:
            start, ahead = self.place, len(self.text) - self.place
            try:
                value, end = self.decoder.raw_decode(self.text, self.place)
            except RecursionError:
                raise Unreadable("json_deep", line=self.line, limit=DEEPEST) from None
            except json.JSONDecodeError as error:
                if ahead > MAX_RECORD:
                    raise self._too_long(error, start) from None
                # What is cut off looks wrong: with more of it, it may be right. Twice as much each
                # time, so that a long record is not read over and over again.
                if not self._read(ahead):
                    raise self._named(error, start) from None
            except ValueError as error:
                raise Unreadable("json", line=self.line, why=shown(str(error))) from None
            else:
                return self._taken(value, end)

    def _taken(self, value: dict[str, Any], end: int) -> tuple[int, dict[str, Any]]:
        """The record that goes on to ``end``, which is passed."""
        line = self.line
        if end - self.place > MAX_RECORD:
            raise Unreadable("json_long", line=line, limit=MAX_RECORD)
        if _ODD.search(self.text, self.place, end):
            _refuse_odd(value, line)
        self._pass(end - self.place)
        return line, value

    def _next_sign(self) -> str:
        """The next character that is no blank; empty at the end of the file. ``place`` is there
        then."""
        while True:
            blank = BLANKS.match(self.text, self.place)
            assert blank is not None  # no blank at all is one, too
            self._pass(blank.end() - self.place)
            if self.place < len(self.text):
                return self.text[self.place]
            if not self._read(1):
                return ""

    def _pass(self, count: int) -> None:
        if count:
            self.line += line_ends(self.text[self.place : self.place + count])
        self.place += count

    def _read(self, wanted: int) -> bool:
        """Read so many characters more; False at the end of the file."""
        parts = [self.text[self.place :]]
        got = 0
        for text in self.more:
            parts.append(text)
            got += len(text)
            if got >= wanted:
                break
        self.text = "".join(parts)
        self.place = 0
        return got > 0

    def _named(self, error: json.JSONDecodeError, start: int) -> Unreadable:
        """The error in the record that began at ``start`` of the error's own text."""
        line = self.line + line_ends(error.doc[start : error.pos])
        at_end = not error.doc[error.pos :].strip()
        if at_end or error.msg.startswith("Unterminated string"):
            return Unreadable("json_cut", line=line)
        return Unreadable("json", line=line, why=error.msg)

    def _too_long(self, error: json.JSONDecodeError, start: int) -> Unreadable:
        """A record that is not over where it has to be; an error near its beginning is one."""
        cut = error.msg.startswith("Unterminated string")
        if error.pos - start < MAX_RECORD // 2 and not cut:
            return self._named(error, start)
        return Unreadable("json_long", line=self.line, limit=MAX_RECORD)

    def _wrong(self, why: str) -> Unreadable:
        if not self.text[self.place :]:
            return Unreadable("json_cut", line=self.line)
        return Unreadable("json", line=self.line, why=why)


def _refuse_odd(value: Any, line: int) -> None:
    """No database takes a NUL, and half of a character is no text."""
    text = json.dumps(value, ensure_ascii=False)
    if _NUL.search(text):
        raise Unreadable("nul_text", line=line)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        around = text[max(0, error.start - 20) : error.start]
        raise Unreadable("surrogate", line=line, value=around) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen = set()
        for name, _value in pairs:
            if name in seen:
                raise ValueError(f"the field '{shown(name)}' stands twice in one object")
            seen.add(name)
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is too large a number")
    return value
