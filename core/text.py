"""What a text may hold, and how it is shown on one line: one check for every door.

A text may come by a form, the API, a file or an address. No database column takes a NUL, and no
key, label or name has a line end or another control sign. NULs in addresses and cookies never get
so far (agreement_site/middleware/security.py), nor those in JSON (rest/parser.py); Django's own form
fields refuse them, too.
"""

from __future__ import annotations

import re
import unicodedata

NUL = "\x00"
REPLACEMENT = "\ufffd"  # the sign that stands for what is no character

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# Signs of no width, and those that turn the direction of writing: two keys would look alike. The
# joiners of Indic and Arabic scripts and of emoji (U+200C, U+200D) are letters' own.
_UNSEEN = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")

# Letters of Cyrillic and Greek, and the Latin ones that look like them in nearly every font.
_LATIN = str.maketrans(
    "АВЕЅІЈКМНОРСТУХԌаеѕіјорсухһԁԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧοϲν",
    "ABESIJKMHOPCTYXGaesijopcyxhdqwABEZHIKMNOPTYXocv",
)


def has_nul(text: str) -> bool:
    """Whether PostgreSQL would refuse the text."""
    return NUL in text


def without_nul(text: str) -> str:
    """The text with U+FFFD in the place of each NUL."""
    return text.replace(NUL, REPLACEMENT)


def has_control(text: str) -> bool:
    """Whether there is a line end, a NUL or another control sign in the text."""
    return _CONTROL.search(text) is not None


def has_unseen(text: str) -> bool:
    """Whether a sign in the text shows nothing, or turns what stands behind it."""
    return _UNSEEN.search(text) is not None


def likeness(text: str) -> str:
    """What the text looks like, to compare it with another one: the same letter however it is
    composed, and the Latin one for those of other alphabets that are drawn alike."""
    return unicodedata.normalize("NFC", text).translate(_LATIN)


def mixes_alphabets(text: str) -> bool:
    """Whether a word holds letters of Latin and of Cyrillic or Greek script, so that one may stand
    for another that is drawn alike."""
    names = {unicodedata.name(sign, "").partition(" ")[0] for sign in text if sign.isalpha()}
    return len(names & {"LATIN", "CYRILLIC", "GREEK"}) > 1


def key_trouble(key: str, *, longest: int) -> str:
    """What is wrong with the key of an item or a rater: "empty", "long", "blanks" or "control".

    The text is empty when nothing is wrong. ``longest`` counts characters.
    """
    if not key:
        return "empty"
    if len(key) > longest:
        return "long"
    if key != key.strip():
        return "blanks"
    if has_control(key) or has_unseen(key):
        return "control"
    return ""


def one_line(text: str, *, longest: int) -> str:
    """The text on one line, cut behind ``longest`` characters with an ellipsis."""
    words = " ".join(text.split())
    return words if len(words) <= longest else words[:longest].rstrip() + "…"
