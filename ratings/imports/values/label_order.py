"""Guess the order of labels on their scale, from the labels alone.

The lead confirms or changes the guess. Imports, the wizard and `manage.py agreement` all use it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from ratings.label_normalization import MINUS_SIGNS, parse_decimal

from .ordered_scales import list_known_scales, normalize_phrase

NUMBERS = "numbers"
NUMBERS_IN_WORDS = "numbers_in_words"
ROMAN_NUMERALS = "roman_numerals"
GRADES = "grades"
SIGNS = "signs"
KNOWN_SCALE = "known_scale"
ALPHABET = "alphabet"  # no order is known
OPTION = "option"  # not guessed: the user gave the order

_SMALL_STEP = 1e-9  # places "<5" before "5" and ">5" behind it
_ROMAN_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_ROMAN = re.compile(r"(?:(xc|xl|l?x{0,3}))(ix|iv|v?i{0,3})([a-d]?\d?)")
_PLAIN_ROMANS = "ii iii iv vi vii viii ix xi xii xiii xiv xv"  # no letters of options
_GRADE = re.compile(r"([a-f])([+-]{0,2})")
_SCHOOL_GRADE = re.compile(r"([1-6])([+-]?)")  # 1 is the best, and 1- comes before 2+
_CREDIT_GRADE = re.compile(r"(aaa|aa|a|bbb|bb|b|ccc|cc|c|ddd|dd|d)([+-]?)")
_MONTH = r"(?:jan|feb|m[aä]rz?|mrz|apr|ma[iy]|jun|jul|aug|sept?|o[ck]t|nov|de[cz])\.?"
# As spreadsheet programs write 1-2 and 3/4 once they have taken them for dates.
_DATE = re.compile(
    rf"\d{{4}}-\d\d-\d\d(t00:00:00)?|\d{{1,2}}[. -]{{1,2}}{_MONTH}|{_MONTH}[. -]\d\d", re.IGNORECASE
)
# A sign, a number, and the letter of a subdivision: 4a.
_NUMBER_IN_TEXT = re.compile(r"((?:^[+-])?)(\d+(?:[.,]\d+)?)([A-Da-d]\b)?", re.ASCII)
_ZERO_WORDS = "none zero never no nil absent kein keine keiner null aucun ninguno 无 零"
_BELOW = re.compile(
    r"(<|≤|<=|under|below|less than|up to|at most|unter|weniger als|bis|moins de|menos de|少于"
    r"|低于)\s*$"
)
_ABOVE = re.compile(
    r"(>|≥|>=|over|above|more than|at least|uber|über|mehr als|ab|plus de|mas de|más de|多于|高于)"
    r"\s*$"
)
# Words before an adjective, from the lowest degree to the highest; those of equal degree share a
# step.
_DEGREE_STEPS = (
    "not at all/not/uberhaupt nicht/gar nicht/nicht/pas du tout/pas/nada/no",
    "barely/hardly/kaum/peu/poco",
    "slightly/a little/a bit/etwas/un peu/un poco",
    "somewhat/partly/partially/teilweise/en partie/algo",
    "moderately/fairly/quite/rather/eher/ziemlich/assez/plutot/bastante",
)
_HIGH_DEGREE_STEPS = (
    "very/highly/strongly/sehr/tres/muy",
    "extremely/completely/fully/ausserst/extremement/extremadamente",
)
_BARE_DEGREE = len(_DEGREE_STEPS)
_DEGREES = {
    word: rank
    for steps, first_rank in ((_DEGREE_STEPS, 0), (_HIGH_DEGREE_STEPS, _BARE_DEGREE + 1))
    for rank, step in enumerate(steps, first_rank)
    for word in step.split("/")
}
# Words that give a name, not a rank, to what is numbered behind them.
_NAMES = (
    "answer candidate case cat category class cluster code document group id image item label "
    "model option output response system team text theme topic type klasse kategorie gruppe thema "
    "antwort classe categorie groupe clase categoria grupo tema opcion 类别 类 主题 选项"
)


class LabelOrder(NamedTuple):
    """Guessed order of labels, from lowest to highest, with the scale and the basis of the guess.

    ``scale`` is "ordinal" or "nominal", ``basis`` a constant of this module; ALPHABET means that no
    order is known. ``is_scale_open``: the labels do not show whether they have an order, because
    they are bare numbers, or names with a number.
    """

    labels: list[str]
    scale: str
    basis: str
    is_scale_open: bool = False


def guess_order(labels: Iterable[str]) -> LabelOrder:
    """Return the probable order of labels.

    The scale of one or two labels is nominal, because their order has no effect.
    """
    unordered = sorted(labels)
    for basis, get_ranks in _BASES:
        ranks = get_ranks(unordered) if unordered else None
        if ranks is not None:
            ordered = sorted(unordered, key=lambda label: (ranks[label], label))
            is_ordinal = len(unordered) > 2 and not (
                basis == NUMBERS_IN_WORDS and _are_numbered_names(unordered)
            )
            is_open = is_ordinal and (
                basis == NUMBERS or (basis == NUMBERS_IN_WORDS and _may_be_numbered_names(ordered))
            )
            return LabelOrder(ordered, "ordinal" if is_ordinal else "nominal", basis, is_open)
    ordered = sorted(unordered, key=lambda label: (label.casefold(), label))
    return LabelOrder(ordered, "nominal", ALPHABET)


def find_known_scale(labels: Collection[str]) -> dict[str, float] | None:
    """Return label -> step on a known scale that contains all of the labels, or None.

    None for a single label. Labels share a step only if they are spellings of one phrase.
    """
    phrases = {label: normalize_phrase(label) for label in labels}
    if len(phrases) < 2:
        return None
    for scale in list_known_scales():
        if all(phrase in scale for phrase in phrases.values()):
            ranks = {label: float(scale[phrase]) for label, phrase in phrases.items()}
            # Spellings of one phrase share a step; different phrases must not.
            if len(set(ranks.values())) == len(set(phrases.values())):
                return ranks
    return None


def is_known_scale(labels: Collection[str]) -> bool:
    """Return whether three or more labels are steps of one scale.

    The steps may be words, grades, signs or Roman numerals; numbers do not count.
    """
    is_scale = guess_order(labels).basis in (KNOWN_SCALE, GRADES, SIGNS, ROMAN_NUMERALS)
    return len(labels) > 2 and is_scale


def is_date_label(label: str) -> bool:
    """Return whether a label looks like a date, as spreadsheet programs write it."""
    return _DATE.fullmatch(label.strip()) is not None


# --- bases of an order: each returns label -> rank, or None


def _rank_numbers(labels: Collection[str]) -> dict[str, float] | None:
    """Return {label: its number}; None unless all labels are numbers."""
    numbers = {label: parse_decimal(label, decimal_comma=True) for label in labels}
    if any(number is None for number in numbers.values()):
        return None
    return {label: float(number) for label, number in numbers.items() if number is not None}


def _rank_numbers_in_words(labels: Collection[str]) -> dict[str, float] | None:
    """Rank labels by a number in the same position of each, as Grade 10; None for other labels."""
    if any(map(is_date_label, labels)):
        return None
    ranks: dict[str, float] = {}
    frames: list[tuple[str, str]] = []
    for label in labels:
        text = label.strip().translate(MINUS_SIGNS)
        if text.casefold() in _ZERO_WORDS.split():
            ranks[label] = 0.0
            continue
        match = _NUMBER_IN_TEXT.search(text)
        if match is None:
            return None
        before, after = text[: match.start()], text[match.end() :]
        ranks[label] = _get_rank(match, before.casefold(), after.casefold())
        frames.append((before.strip().casefold(), after.rstrip().casefold()))
    if len(frames) < 2 or len(set(ranks.values())) < len(ranks):
        return None
    return ranks if _are_in_same_position(frames) else None


def _are_numbered_names(labels: Collection[str]) -> bool:
    """Return whether the numbers in labels only distinguish names: topic 1, topic 2."""
    words = {re.sub(r"[\W\d_]+", " ", label).strip() for label in labels}
    return all(normalize_phrase(word) in _NAMES.split() for word in words)


def _may_be_numbered_names(labels: Collection[str]) -> bool:
    """Return whether numbers in labels may only distinguish names: 1 cat, 2 dog; A1, A2.

    Not if the words are steps of a known scale: 1 poor, 2 good.
    """
    words = [re.sub(r"[\W\d_]+", " ", label).strip() for label in labels]
    if len(set(words)) == 1:
        return len(words[0]) == 1 and all(label.strip()[:1].isalpha() for label in labels)
    return all(words) and len(set(words)) == len(words) and find_known_scale(words) is None


def _get_rank(match: re.Match[str], before: str, after: str) -> float:
    """Return the number in a label, a little less for "<5" or "up to 5", a little more for ">5".

    ``before`` and ``after`` are the texts around the number, in lower case.
    """
    number = float(match[2].replace(",", ".")) * (-1 if match[1] == "-" else 1)
    if match[3]:
        number += (ord(match[3].lower()) - ord("`")) / 1000
    if _BELOW.search(before):
        return number - _SMALL_STEP
    if _ABOVE.search(before) or after.lstrip().startswith("+"):
        return number + _SMALL_STEP
    return number


def _are_in_same_position(frames: list[tuple[str, str]]) -> bool:
    """Return whether the numbers are first or last in all labels, or behind the same words.

    ``frames`` are (text before, text after) the number. Signs and words for less and more before a
    number are ignored.
    """
    befores = {_ABOVE.sub("", _BELOW.sub("", before)).strip() for before, _after in frames}
    afters = {after for _before, after in frames}  # "2x" is a name, "2 h" a number
    if befores == {""}:
        # A letter behind some of the numbers makes them names, such as 2x.
        return len(afters) == 1 or not any(after.isalpha() and len(after) == 1 for after in afters)
    # Codes such as I10 and E11.9 have different letters before their numbers.
    has_letters = any(before[-1:].isalpha() and len(before) < 3 for before, _after in frames)
    return len(befores) == 1 or (afters == {""} and not has_letters)


def _rank_degrees(labels: Collection[str]) -> dict[str, float] | None:
    """Rank labels that are degrees of one word, as toxic, very toxic; None for other labels."""
    ranks: dict[str, float] = {}
    stems = set()
    for label in labels:
        phrase = normalize_phrase(label)
        matches = [word for word in _DEGREES if phrase.startswith(f"{word} ")]
        degree = max(matches, key=len, default="")
        ranks[label] = _DEGREES.get(degree, _BARE_DEGREE)
        stems.add(phrase.removeprefix(degree).strip())
    has_degrees = len(set(ranks.values())) == len(ranks) > 1
    return ranks if len(stems) == 1 and has_degrees else None


def _rank_without_common_words(labels: Collection[str]) -> dict[str, float] | None:
    """Rank labels on a known scale, ignoring a word that all share, as in low risk; else None."""
    words = {label: normalize_phrase(label).split() for label in labels}
    first = next(iter(words.values()))
    common = set.intersection(*map(set, words.values())) & {*first[:1], *first[-1:]}
    short = {label: " ".join(w for w in parts if w not in common) for label, parts in words.items()}
    ranks = find_known_scale(short.values()) if common and len(set(short.values())) > 2 else None
    return ranks and {label: ranks[phrase] for label, phrase in short.items()}


def _rank_roman_numerals(labels: Collection[str]) -> dict[str, float] | None:
    """Rank labels that are Roman numerals, or end in one after the same words: II, Stage IIIa.

    None for other labels, and if all numerals may be letters, as I, V and X.
    """
    words = [label.strip().split() for label in labels]
    if any(not parts for parts in words) or len({tuple(parts[:-1]) for parts in words}) > 1:
        return None
    ranks: dict[str, float] = {}
    has_plain_numeral = False
    for label, parts in zip(labels, words, strict=True):
        numeral = parts[-1]
        match = _ROMAN.fullmatch(numeral.lower())
        if numeral == "0":
            ranks[label] = 0.0
        elif match is None or not (match[1] or match[2]):
            return None
        else:
            suffix = ord(match[3][0]) if match[3] else 0
            ranks[label] = _parse_roman(match[1] + match[2]) + suffix / 1000
            has_plain_numeral |= (match[1] or "") + match[2] in _PLAIN_ROMANS.split()
    return ranks if has_plain_numeral and len(set(ranks.values())) == len(ranks) else None


def _parse_roman(numeral: str) -> int:
    values = [_ROMAN_VALUES[char] for char in numeral]
    total = 0
    for value, following in zip(values, [*values[1:], 0], strict=True):
        total += -value if value < following else value
    return total


def _rank_grades(labels: Collection[str]) -> dict[str, float] | None:
    """Rank letter grades, the best last: F, D, C-, C, C+, B, A.

    Bare letters may be names of options, so there must be a plus or minus, A and F without E, or a
    credit grade of several letters (AA). Grades in numbers keep the order of the numbers, the best
    first, and at least one has a minus. None for other labels.
    """
    texts = {
        label: label.strip().replace("\u2212", "-").replace("\u2013", "-").lower()
        for label in labels
    }
    numbered = {label: _SCHOOL_GRADE.fullmatch(text) for label, text in texts.items()}
    if all(numbered.values()) and any(match and match[2] == "-" for match in numbered.values()):
        steps = {"+": -0.25, "": 0.0, "-": 0.25}
        return {label: int(m[1]) + steps[m[2]] for label, m in numbered.items() if m}
    for pattern, order in ((_GRADE, "abcdef"), (_CREDIT_GRADE, None)):
        matches = {label: pattern.fullmatch(text) for label, text in texts.items()}
        if any(match is None for match in matches.values()):
            continue
        letters = {match[1] for match in matches.values() if match}
        has_signs = any(match[2] for match in matches.values() if match)
        is_school = {"a", "f"} <= letters and "e" not in letters
        is_credit = order is None and any(len(letter) > 1 for letter in letters)
        if not (has_signs or is_school or is_credit):
            continue
        grades = order or ("aaa", "aa", "a", "bbb", "bb", "b", "ccc", "cc", "c", "ddd", "dd", "d")
        return {
            label: -grades.index(match[1]) + (match[2].count("+") - match[2].count("-")) / 5
            for label, match in matches.items()
            if match
        }
    return None


def _rank_stars(labels: Collection[str]) -> dict[str, float] | None:
    """Rank labels by how often each repeats one symbol, as ★ and ★★☆; None for other labels."""
    filled = {label: re.sub(r"[☆○\s]", "", label) for label in labels}
    symbols = set().union(*filled.values())
    ranks = {label: float(len(text)) for label, text in filled.items()}
    has_one_symbol = len(symbols) == 1 and symbols <= set("★⭐🌟●•*!✓")
    return ranks if has_one_symbol and len(set(ranks.values())) == len(ranks) > 1 else None


def _rank_signs(labels: Collection[str]) -> dict[str, float] | None:
    """Rank labels of plus and minus signs, as --, -, 0, +, ++; None for other labels."""
    ranks: dict[str, float] = {}
    for label in labels:
        text = label.strip().translate(MINUS_SIGNS).replace("–", "-")
        if text in ("0", "o", "±", "+/-", "+-", "-/+", "(+)"):
            ranks[label] = 0.5 if "+" in text or text == "±" else 0.0
        elif text and (set(text) == {"+"} or set(text) == {"-"}):
            ranks[label] = len(text) * (1.0 if text[0] == "+" else -1.0)
        else:
            return None
    has_signs = any(label.strip() not in ("0", "o") for label in labels)
    return ranks if has_signs and len(set(ranks.values())) == len(ranks) > 1 else None


_BASES = (
    (NUMBERS, _rank_numbers),
    (SIGNS, _rank_stars),
    (SIGNS, _rank_signs),
    (KNOWN_SCALE, find_known_scale),
    (KNOWN_SCALE, _rank_degrees),
    (KNOWN_SCALE, _rank_without_common_words),
    (GRADES, _rank_grades),
    (ROMAN_NUMERALS, _rank_roman_numerals),
    (NUMBERS_IN_WORDS, _rank_numbers_in_words),
)
