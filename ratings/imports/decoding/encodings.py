"""Encodings that a text file may have, their detection, and the text of a file in chunks.

Bytes that are not text are reported with their line.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from pathlib import Path

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from ratings.imports.problems import UnreadableFileError

# Python name -> display name. UTF-8 is accepted with and without a byte-order mark.
ENCODINGS = {
    "utf-8-sig": "UTF-8",
    "windows-1252": "Windows-1252",
    "iso-8859-1": "ISO 8859-1",
    "iso-8859-15": "ISO 8859-15",
    "windows-1250": "Windows-1250",
    "windows-1251": "Windows-1251",
    "mac-roman": "Mac Roman",
    "gb18030": "GB 18030",
    "big5": "Big5",
    "shift_jis": "Shift JIS",
    "euc-kr": "EUC-KR",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16 LE",
    "utf-16-be": "UTF-16 BE",
    "utf-32": "UTF-32",
}
REGIONS: dict[str, str | Promise] = {
    "windows-1252": _("Western Europe"),
    "iso-8859-1": "Latin-1",
    "iso-8859-15": "Latin-9",
    "windows-1250": _("Central Europe"),
    "windows-1251": _("Cyrillic"),
    "gb18030": _("Simplified Chinese"),
    "big5": _("Traditional Chinese"),
    "shift_jis": _("Japanese"),
    "euc-kr": _("Korean"),
}

MAX_WORD_LENGTH = 40  # characters of a word that a message quotes
_WORD_END, _WORD_START = re.compile(rb"[\w\x80-\xff]*\Z"), re.compile(rb"[\w\x80-\xff]*")
# Bytes of frequent characters in East Asian encodings: signs, and the first level of their sets.
_FREQUENT_CHARACTERS = {
    "euc-kr": re.compile(rb"([\xa1-\xa3\xb0-\xc8][\xa1-\xfe])+"),
    "gb18030": re.compile(rb"([\xa1-\xa3\xb0-\xd7][\xa1-\xfe])+"),
    "big5": re.compile(rb"([\xa1-\xc6][\x40-\xfe])+"),
    "shift_jis": re.compile(rb"([\x81-\x98][\x40-\xfc])+"),
}
# The letters of the others, in the order in which equally good guesses count.
_LETTERS = {
    "windows-1251": re.compile(r"[\u0400-\u04ff]+"),
    "windows-1252": re.compile(r"[A-Za-z\u00c0-\u024f]+"),
    "windows-1250": re.compile(r"[A-Za-z\u00c0-\u024f]+"),
    "mac-roman": re.compile(r"[A-Za-z\u00c0-\u024f]+"),
}
_NON_ASCII_RUN = re.compile(r"[^\x00-\x7f]+")
_WORD = re.compile(r"[^\x00-\x40\x5b-\x60\x7b-\x7f\u00a0\u2010-\u2026«»№]+")
_SIGNS_BEFORE, _SIGNS_AFTER = "¿¡±§©€£", "°ªº²³®™€£"  # of words in Latin letters

# Only to preview a file that is not UTF-8: the lead must select its encoding before the check.
# It has a character for every byte.
PROVISIONAL_ENCODING = "iso-8859-1"


def get_encoding_choices() -> list[tuple[str, str]]:
    """Return (Python name, display name) of each encoding."""
    choices = []
    for key, name in ENCODINGS.items():
        label = f"{name} ({REGIONS[key]})" if key in REGIONS else name
        choices.append((key, label))
    return choices


def build_encoding_error(
    error: UnicodeDecodeError, encoding: str, *, line: int
) -> UnreadableFileError:
    """Return the error for a byte that is invalid in this encoding."""
    byte = f"0x{error.object[error.start]:02X}"
    guess = _guess_encoding(error.object)
    # The word with this byte shows whether the guess is right.
    before = _WORD_END.search(error.object[: error.start])
    after = _WORD_START.match(error.object[error.start :])
    word = b"".join(match[0] for match in (before, after) if match)
    text = word.decode(guess, "replace")[:MAX_WORD_LENGTH]
    values = {"byte": byte, "encoding": ENCODINGS[encoding], "text": text}
    return UnreadableFileError("bytes", line=line, **values, option=guess, guess=ENCODINGS[guess])


def _guess_encoding(data: bytes) -> str:
    """Return the encoding in which the largest share of the non-ASCII words is plausible.

    windows-1252 if there are no such words.
    """
    shares = {}
    for encoding in (*_FREQUENT_CHARACTERS, *_LETTERS):
        decoder = codecs.getincrementaldecoder(encoding)("strict")
        try:
            text = decoder.decode(data)  # its last character may be incomplete
        except UnicodeDecodeError:
            continue
        pattern = _NON_ASCII_RUN if encoding in _FREQUENT_CHARACTERS else _WORD
        words = {word for word in pattern.findall(text) if not word.isascii()}
        n_plausible = sum(_is_plausible_word(word, encoding) for word in words)
        shares[encoding] = n_plausible / len(words) if words else 0.0
    best = max(shares, key=lambda encoding: shares[encoding], default="")
    return best if best and shares[best] > 0 else "windows-1252"


def _is_plausible_word(word: str, encoding: str) -> bool:
    """Return whether a word consists of frequent characters, or of letters of one script.

    Of the letters, only the first is a capital, or all are.
    """
    if encoding in _FREQUENT_CHARACTERS:
        return bool(_FREQUENT_CHARACTERS[encoding].fullmatch(word.encode(encoding)))
    letters = word.lstrip(_SIGNS_BEFORE).rstrip(_SIGNS_AFTER)
    has_one_script = not letters or bool(_LETTERS[encoding].fullmatch(letters))
    return has_one_script and (letters[1:] == letters[1:].lower() or letters == letters.upper())


def detect_encoding(head: bytes) -> str | None:
    """Return the encoding shown by a byte-order mark or the zero bytes of UTF-16; else None."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    even, odd, half = head[0::2].count(0), head[1::2].count(0), len(head) // 2
    if half and odd > 0.4 * half and even < 0.05 * half:
        return "utf-16-le"
    if half and even > 0.4 * half and odd < 0.05 * half:
        return "utf-16-be"
    return None


CHUNK_BYTES = 1 << 16  # bytes read at a time


class TextChunks:
    """Iterable of chunks of a file's text; a line end of two characters is never split.

    ``bytes_read`` is the progress. Iterating may raise UnreadableFileError.
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
