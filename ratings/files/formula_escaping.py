"""Escaping of cells that a spreadsheet would run as formulas, and its reverse.

A text that begins with = + - @, TAB, CR, LF or a full-width form of the signs gets a leading
apostrophe; plain numbers such as -1 do not. So that reading exactly reverses writing, a text that
begins with apostrophes before such a sign gets one more. (OWASP, CSV Injection.)
"""

from __future__ import annotations

import re

_FORMULA_START = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")
_ESCAPED_START = re.compile("''*[=+\\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)


def escape_formula(text: str) -> str:
    """Return the text, with a leading apostrophe where a spreadsheet would run it as a formula."""
    return f"'{text}" if _FORMULA_START.match(text) and not _NUMBER.match(text) else text


def unescape_formula(text: str) -> str:
    """Reverse ``escape_formula``."""
    return text[1:] if text[:1] == "'" and _ESCAPED_START.match(text) else text
