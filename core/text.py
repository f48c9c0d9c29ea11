"""Checks and normalization of texts from forms, API, files and addresses; limits of JSON texts.

No database column takes a NUL character, and no key, label or name has a line end or another
control character. NULs in addresses and cookies are replaced earlier
(agreement_site/middleware/security.py). JSON with NULs is rejected (core/api/parsers.py), and so
are NULs by Django's own form fields.
"""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections.abc import Iterable
from typing import Any, NoReturn, cast

from django.utils.functional import Promise, keep_lazy_text
from django.utils.text import format_lazy
from django.utils.translation import get_language, gettext_lazy, pgettext_lazy
from django.utils.translation import gettext as _

NUL = "\x00"
REPLACEMENT = "\ufffd"  # Unicode's replacement character

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# Characters of zero width, and those that change the writing direction: with them, two different
# keys would look alike. The joiners of Indic and Arabic scripts and of emoji (U+200C, U+200D) are
# part of the text and allowed.
_INVISIBLE = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")

_CHINESE_BEFORE_LATIN = re.compile("([\u4e00-\u9fff])(?=[A-Za-z])")

# Cyrillic and Greek letters, and the Latin ones that look like them in nearly every font.
_LATIN_LOOKALIKES = str.maketrans(
    "АВЕЅІЈКМНОРСТУХԌаеѕіјорсухһԁԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧοϲν",
    "ABESIJKMHOPCTYXGaesijopcyxhdqwABEZHIKMNOPTYXocv",
)


def has_nul(text: str) -> bool:
    """Return True if the text contains NUL, which PostgreSQL rejects."""
    return NUL in text


def replace_nul(text: str) -> str:
    """Return the text with U+FFFD in place of each NUL."""
    return text.replace(NUL, REPLACEMENT)


def parse_id(text: str | None) -> int | None:
    """Return the id of a row that a form or URL names, or None if the text is not an id.

    An id has 18 digits at most, so that every database can compare it.
    """
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 18 else None


def has_control_character(text: str) -> bool:
    """Return True if the text contains a line end, a NUL or another control character."""
    return _CONTROL.search(text) is not None


def has_invisible_character(text: str) -> bool:
    """Return True if the text contains an invisible character.

    Characters that change the writing direction count as invisible.
    """
    return _INVISIBLE.search(text) is not None


def fold_lookalikes(text: str) -> str:
    """Return the text with characters that look alike replaced by one of them, to compare texts.

    Letters are composed (NFC), and Cyrillic and Greek letters become the Latin ones that look like
    them.
    """
    return unicodedata.normalize("NFC", text).translate(_LATIN_LOOKALIKES)


def has_mixed_scripts(text: str) -> bool:
    """Return True if the text mixes Latin letters with Cyrillic or Greek ones.

    They may look alike.
    """
    scripts = {
        unicodedata.name(character, "").partition(" ")[0]
        for character in text
        if character.isalpha()
    }
    return len(scripts & {"LATIN", "CYRILLIC", "GREEK"}) > 1


def classify_key_problem(key: str, *, max_length: int) -> str:
    """Return the problem of an item's or rater's key; an empty text when the key is valid.

    It is "empty", "long" (more than ``max_length`` characters), "blanks" (at its beginning or end)
    or "control" (control or invisible characters).
    """
    if not key:
        return "empty"
    if len(key) > max_length:
        return "long"
    if key != key.strip():
        return "blanks"
    if key.isascii() and key.isprintable():
        return ""
    if has_control_character(key) or has_invisible_character(key):
        return "control"
    return ""


def truncate_to_line(text: str, *, max_length: int) -> str:
    """Return the text on one line, cut after ``max_length`` characters with an ellipsis."""
    words = " ".join(text.split())
    return words if len(words) <= max_length else words[:max_length].rstrip() + "…"


def get_initials(name: object) -> str:
    """Return one or two letters or digits: AL for Ada Lovelace, 39 for w0039, W2 for w2."""
    words = [word for word in str(name).replace("_", " ").replace("-", " ").split() if word]
    last = words[-1] if words else "?"
    if last[-2:].isdecimal():
        return last[-2:]
    if len(words) > 1:
        return (words[0][0] + last[0]).upper()
    return last[0].upper() + last[-1] if len(last) > 1 and last[-1].isdecimal() else last[0].upper()


def describe_range(lowest: float, highest: float) -> str:
    """Return the error message for a number outside a range."""
    return _("Enter a number from %(lowest)s to %(highest)s.") % {
        "lowest": lowest,
        "highest": highest,
    }


def describe_whole_range(lowest: int, highest: int) -> str:
    """Return the error message for a number that is not whole, or outside a range."""
    return _("Enter a whole number from %(lowest)s to %(highest)s.") % {
        "lowest": lowest,
        "highest": highest,
    }


def describe_invalid_choice(value: object, allowed: Iterable[str]) -> str:
    """Return the error message for a value that is none of the allowed ones; it lists them."""
    return _("Use one of %(allowed)s, not “%(found)s”.") % {
        "found": str(value)[:40],
        "allowed": get_list_separator().join(allowed),
    }


def describe_length(max_length: int) -> str:
    """Return the error message for a text that is too long or contains NUL."""
    return _("At most %(most)s characters, without NUL.") % {"most": max_length}


def describe_line(max_length: int) -> str:
    """Return the error message for a text that is not one line, or too long."""
    return _("One line of at most %(most)s characters.") % {"most": max_length}


def describe_saved(subject: str) -> str:
    """Return the message that something was saved: “Gate saved.” for the subject “Gate”."""
    return _("%(what)s saved.") % {"what": subject}


# --- limits of JSON texts, counted before they are parsed: an empty list is two characters of a
# text and 56 bytes of memory

_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_NO_BRACKETS = re.compile(r"[^\[\]{}]++")
_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}


def has_more_parts(text: str, limit: int) -> bool:
    """Return True if a JSON text has more than ``limit`` objects, lists and commas together."""
    return _count_parts(text) > limit and _count_parts(_STRING.sub("", text)) > limit


def is_nested_deeper(text: str, limit: int) -> bool:
    """Return True if a JSON text nests objects and lists more than ``limit`` levels deep."""
    if text.count("[") + text.count("{") <= limit:
        return False
    brackets = _NO_BRACKETS.sub("", _STRING.sub("", text))
    return max(itertools.accumulate(map(_STEPS.__getitem__, brackets)), default=0) > limit


def _count_parts(text: str) -> int:
    return text.count("[") + text.count("{") + text.count(",")


def reject_constant(name: str) -> NoReturn:
    """Raise ValueError for NaN and Infinity (``parse_constant`` of JSON decoders)."""
    raise ValueError(f"{name} is not a JSON number")


def parse_finite_float(text: str) -> float:
    """Return the number that a text of JSON denotes (``parse_float`` of JSON decoders).

    Raises ValueError if it is too large for a float.
    """
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:40]} is too large")
    return value


# --- words in sentences


def get_list_separator() -> str:
    """Return the separator of list items in the reader's language."""
    return _(", ")


def remove_full_stop(text: str) -> str:
    """Return a sentence without its full stop, to be continued."""
    return text.removesuffix(_("."))


def get_sentence_separator() -> str:
    """Return the separator of sentences in the reader's language: nothing in Chinese, else " "."""
    return "" if (get_language() or "").startswith("zh") else " "


@keep_lazy_text
def lower_first(text: Any) -> str:
    """Return the text with a lowercase first letter, as within a sentence; acronyms stay."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


@keep_lazy_text
def _separate_scripts(text: Any) -> str:
    """Insert a space between a Chinese character and a following Latin letter."""
    return _CHINESE_BEFORE_LATIN.sub(r"\1 ", str(text))


def describe_action(subject: Promise, action: Promise) -> Promise:
    """Return “Token created” from “Token” and “created”, in the word order of the language."""
    description: Any = _separate_scripts(
        format_lazy(gettext_lazy("{subject} {action}"), subject=subject, action=action)
    )
    return cast(Promise, description)


# What can happen to the subjects of the audit log and of events.
ACCEPTED = pgettext_lazy("action", "accepted")
ADDED = pgettext_lazy("action", "added")
ARCHIVED = pgettext_lazy("action", "archived")
CHANGED = pgettext_lazy("action", "changed")
CREATED = pgettext_lazy("action", "created")
DELETED = pgettext_lazy("action", "deleted")
EXPORTED = pgettext_lazy("action", "exported")
GRANTED = pgettext_lazy("action", "granted")
MESSAGED = pgettext_lazy("action", "messaged")
OVERRIDDEN = pgettext_lazy("action", "overridden")
PAUSED = pgettext_lazy("action", "paused")
PROPOSED = pgettext_lazy("action", "proposed")
REJECTED = pgettext_lazy("action", "rejected")
REMOVED = pgettext_lazy("action", "removed")
REQUESTED = pgettext_lazy("action", "requested")
RESTORED = pgettext_lazy("action", "restored")
RESUMED = pgettext_lazy("action", "resumed")
REVOKED = pgettext_lazy("action", "revoked")
USED = pgettext_lazy("action", "used")
WAIVED = pgettext_lazy("action", "waived")
WARNED = pgettext_lazy("action", "warned")
WITHDRAWN = pgettext_lazy("action", "withdrawn")
