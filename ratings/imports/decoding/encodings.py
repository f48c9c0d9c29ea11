"""The encodings that a text file may have, and what its first bytes say of it."""

from __future__ import annotations

import codecs

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from ratings.imports.problems import Unreadable

# Name in Python -> name for people. UTF-8 is tried with and without a byte-order mark.
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


# Only to show what is in a file that is not UTF-8: the lead must choose before anything is read in
# earnest.
PROVISIONAL_ENCODING = "windows-1252"


def encoding_choices() -> list[tuple[str, str]]:
    """(name in Python, words for people) of each encoding."""
    choices = []
    for key, name in ENCODINGS.items():
        words = f"{name} ({REGIONS[key]})" if key in REGIONS else name
        choices.append((key, words))
    return choices


def wrong_byte(error: UnicodeDecodeError, encoding: str, *, line: int) -> Unreadable:
    byte = f"0x{error.object[error.start]:02X}"
    return Unreadable("bytes", line=line, byte=byte, encoding=ENCODINGS[encoding])


def marked_encoding(head: bytes) -> str | None:
    """The encoding that the file's first bytes give away: by a byte-order mark, or by UTF-16's
    zeros; else None."""
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
