"""Cells that a spreadsheet would run as formulas, made harmless, and back.

A text that begins with = + - @, TAB, CR, LF or a full-width form of the signs gets an apostrophe in
front; plain numbers such as -1 do not. So that reading is exactly the reverse of writing, a text
that begins with apostrophes before such a sign gets one more. (OWASP, CSV Injection.)
"""

from __future__ import annotations

import re

_DANGER = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")
_GUARDED = re.compile("''*[=+\\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)


def guard(text: str) -> str:
    return f"'{text}" if _DANGER.match(text) and not _NUMBER.match(text) else text


def unguard(text: str) -> str:
    """The reverse of ``guard``."""
    return text[1:] if text[:1] == "'" and _GUARDED.match(text) else text
