"""Normalize labels, so that spellings of one label in a file become equal.

Equal numbers are one label (1, 1.0, +1), so are the spellings of a truth value (True, TRUE) and of
a character in Unicode. Labels that differ in case or in blanks are only similar: whoever imports
the file decides whether they are one label.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from decimal import Decimal

TRUTH_VALUES = ("true", "false")
_DECIMAL_DIGIT = re.compile(r"\d")
MINUS_SIGNS = str.maketrans({"\u2212": "-", "\uff0d": "-"})  # the sign for minus, and its wide form
MAX_EXPONENT = 20  # a number with a greater one is written with its exponent

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3},\d{3}", re.ASCII)
_GROUPED_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?", re.ASCII)
# Long and short forms of two answers, which one file may mix.
_SHORT_FORMS = (
    (("yes", "no"), ("y", "n")),
    (("true", "false"), ("t", "f")),
    (("true", "false"), ("1", "0")),
    (("yes", "no"), ("1", "0")),
    (("ja", "nein"), ("j", "n")),
    (("oui", "non"), ("o", "n")),
    (("sí", "no"), ("s", "n")),
)
# Blanks, hyphens and underscores between words, quotation marks, and a full stop at the end.
_SEPARATORS = re.compile(
    r"[\s\u200b\ufeff]+|(?<=[^\W\d])[_-]+(?=[^\W\d])|[\"'“”„«»‘’‚‹›]|(?<=\w)[.!]+$"
)


def normalize_text(label: str) -> str:
    """Return a label in Unicode's composed form (NFC), without blanks at its ends."""
    return (
        label.strip()
        if label.isascii()
        else unicodedata.normalize("NFC", label).strip(" \u200b\ufeff\t\r\n\u00a0")
    )


def parse_decimal(label: str, *, decimal_comma: bool = False) -> Decimal | None:
    """Return the label as an exact number, or None; ``decimal_comma`` also accepts 2,5."""
    text = label.strip().translate(MINUS_SIGNS)
    if not text.isascii():  # digits of other scripts, and wide ones
        text = _DECIMAL_DIGIT.sub(lambda match: str(unicodedata.decimal(match[0])), text)
    if decimal_comma and _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def parse_number(label: str) -> float | None:
    """Return the label as a finite number, or None."""
    number = parse_decimal(label)
    if number is None:
        return None
    value = float(number)
    return value if abs(value) != float("inf") else None


def format_number(number: Decimal) -> str:
    """Return the shortest plain spelling of a number: 1 for 1.0, +1 and 1e0.

    Beyond MAX_EXPONENT it has an exponent: 1E+30.
    """
    if number == 0:
        return "0"
    normal = number.normalize()
    return f"{normal:f}" if abs(normal.adjusted()) <= MAX_EXPONENT else str(normal)


def has_decimal_commas(labels: Collection[str]) -> bool:
    """Return whether the commas in these labels are decimal commas.

    Then all labels are numbers, and at least one, such as 2,5 or 1234,567, cannot be thousands, as
    1,000 may be.
    """
    commas = [label for label in labels if _DECIMAL_COMMA.fullmatch(label)]
    plain_labels = [label for label in labels if not _DECIMAL_COMMA.fullmatch(label)]
    return any(not _THOUSANDS.fullmatch(label) for label in commas) and all(
        parse_decimal(label) is not None for label in plain_labels
    )


def has_thousands_separators(labels: Collection[str]) -> bool:
    """Return whether the commas in these labels separate thousands: 800, 1,000, 2,500.

    Then all labels are numbers, some with such commas, and at least one without a comma is 100 or
    more in magnitude. False without such a label: 1,000 beside 2, or alone, may be a decimal.
    """
    plain_numbers = [parse_decimal(label) for label in labels if "," not in label]
    commas = [label for label in labels if "," in label]
    return (
        bool(commas)
        and all(_GROUPED_THOUSANDS.fullmatch(label) for label in commas)
        and any(number is not None and abs(number) >= 100 for number in plain_numbers)
        and None not in plain_numbers
    )


def get_normal_form(label: str, *, decimal_comma: bool = False) -> str:
    """Return the text that all spellings of a label share: 1 for 1.0, true for TRUE.

    ``decimal_comma``: 2,5 is a number, too.
    """
    text = normalize_text(label)
    number = parse_decimal(text, decimal_comma=decimal_comma)
    if number is not None:
        return format_number(number)
    return text.casefold() if text.casefold() in TRUTH_VALUES else text


def get_similar_forms(labels: Collection[str]) -> dict[str, str]:
    """Return label -> text that it shares with labels that are probably the same.

    Such labels differ only in case, blanks, hyphens and quotation marks, or are the long and short
    form of an answer: Yes and Y, TRUE and 1. Short forms are not joined with each other.
    """
    forms = {label: _SEPARATORS.sub("", get_normal_form(label)).casefold() for label in labels}
    present = set(forms.values())
    for long_forms, short_forms in _SHORT_FORMS:
        has_both = present & set(long_forms) and present & set(short_forms)
        if has_both and present <= {*long_forms, *short_forms}:
            names = dict(zip(short_forms, long_forms, strict=True))
            forms = {label: names.get(form, form) for label, form in forms.items()}
    return forms


def select_spelling(spellings: Collection[str], normal_form: str) -> str:
    """Return the spelling to show for a label that the file spells in these ways.

    ``normal_form`` is the text that they share (``get_normal_form``). A single spelling without a
    decimal point or comma is kept, as it may be intended: 01, +1, 1e3, TRUE. A number with one gets
    its normal form (1.0: 1, 2.50: 2.5), as data frames write 1.0 for 1 in a column with an empty
    cell.
    """
    normalized = {normalize_text(spelling) for spelling in spellings}
    if len(normalized) != 1 or normal_form in normalized:
        return normal_form
    (spelling,) = normalized
    return normal_form if "." in spelling or "," in spelling else spelling
