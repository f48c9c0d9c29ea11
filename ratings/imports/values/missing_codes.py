"""Find labels that are codes for a missing value, such as NA and -99."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from enum import Enum

from ratings.label_normalization import parse_decimal

from .label_order import ALPHABET, find_known_scale, guess_order


def _split_phrases(text: str) -> frozenset[str]:
    return frozenset(text.split("|"))


# In lower case. What programs write for an empty cell, and the signs that people use for it.
MISSING_CODES = (
    "nan nat null (null) <null> na <na> n/a n.a. n.a n/a. <missing> #n/a #n/a! #na #null! #value! "
    "- -- – — ? ?? . * \\n"
)
# Phrases that may be an answer, such as an option of the form, or say that there is none.
SUSPECTED_CODES = _split_phrases(
    "missing|blank|empty|tbd|to be determined|todo|unrated|unlabeled|unlabelled|"
    "unanswered|not labeled|not labelled|skipped|refused|#ref!|#div/0!|#name?|#num!|"
    "not applicable|not available|no answer|no response|not answered|not rated|"
    "not assessed|not coded|not done|unable to assess|n.d.|k.a.|k. a.|ka|keine angabe|"
    "keine antwort|nicht beantwortet|nicht bewertet|fehlt|fehlend|leer|non applicable|"
    "non renseigné|sans réponse|nsp|nspp|no aplica|no contesta|sin respuesta|ns/nc|缺失|"
    "不适用|未作答|未回答|未填写|未标注|该题未答|不適用|"
    "não se aplica|não aplicável|não informado|sem resposta|sem informação|s/r|s/d|n/d|ns/nr|"
    "non applicabile|nessuna risposta|n.v.t.|nvt|niet van toepassing|geen antwoord|nie dotyczy|"
    "brak danych|brak odpowiedzi|н/д|нет данных|нет ответа|не применимо|неприменимо|пропуск|"
    "該当なし|無回答|未回答|未記入|欠損|欠損値|해당 없음|해당없음|무응답|결측|결측치|"
    "غير متوفر|لا ينطبق|لا إجابة"
)
# Answers that have no place on a scale; they may be missing values if the others are ordered.
NO_OPINIONS = _split_phrases(
    "don't know|dont know|do not know|dk|can't tell|cannot tell|can't say|not sure|"
    "no opinion|prefer not to say|weiß nicht|weiss nicht|ne sait pas|je ne sais pas|"
    "no sabe|no sé|não sei|não sabe|non so|weet niet|weet ik niet|nie wiem|bilmiyorum|"
    "не знаю|затрудняюсь ответить|затрудняюсь|わからない|分からない|判断できない|모름|"
    "잘 모르겠음|لا أعرف|不知道|不清楚|不确定"
)
STATA_CODE = re.compile(r"\.[a-z]")  # a missing value with its reason, beside "." without one
_VALUE_LABEL = re.compile(r"[\[(]?[+-]?\d+[\])]?\s*[-=:.–—]?\s*(?=[^\W\d])")  # 99 = no answer
MAX_CODE_LENGTH = 20  # characters; a longer label is no code
NEGATIVE_CODES = frozenset((-9, -99, -999, -9999, -98, -998, -97, -997, -88, -888, -77, -777))
RARE_SHARE = 20  # one of so many ratings is rare
POSITIVE_CODES = frozenset((99, 999, 9999, 98, 998, 97, 997, 88, 888, 77, 777))


class CodeStatus(Enum):
    """Status of a label: an answer, a missing value, or possibly a missing value (user decides)."""

    LABEL = "label"
    MISSING = "missing"
    SUSPECTED = "suspected"


def classify_missing_codes(
    counts: Mapping[str, int],
    *,
    missing: Iterable[str] = (),
    not_missing: Iterable[str] = (),
    suspected: Collection[str] = (),
) -> dict[str, CodeStatus]:
    """Return the status of each label that is, or may be, a code for a missing value.

    ``counts`` has all labels of one question with their numbers of ratings, because the same text
    may be a label beside some answers and a code beside others: "-" beside "+", "None" beside
    "mild". ``missing`` are further codes and ``not_missing`` labels that are no codes; both take
    precedence over the codes of this module. ``suspected`` are labels that stand where a table has
    missing values.
    """
    added = {code.strip().casefold() for code in missing}
    removed = {code.strip().casefold() for code in not_missing}
    statuses: dict[str, CodeStatus] = {}
    undecided: list[str] = []
    for label in counts:
        text = label.strip().casefold()
        if text in removed:
            continue
        if not text or text in added or _is_equal_number(text, added):
            statuses[label] = CodeStatus.MISSING
        elif not _is_equal_number(text, removed):
            undecided.append(label)
    signs = {label.strip() for label in counts}
    for label in undecided:
        if _is_missing_code(label, signs):
            statuses[label] = CodeStatus.MISSING
    present = {label: count for label, count in counts.items() if label not in statuses}
    # Answers without a place on the scale come last, when other codes are no part of it.
    for label in sorted(present, key=_is_no_opinion):
        if label in undecided and len(_remove_value(label)) <= MAX_CODE_LENGTH:
            is_suspected = label in suspected or _is_minus_one(label, present)
            remaining = [other for other in present if other == label or other not in statuses]
            context = remaining if _is_no_opinion(label) else present
            status = CodeStatus.SUSPECTED if is_suspected else _classify_in_context(label, context)
            if status is not CodeStatus.LABEL:
                statuses[label] = status
    return statuses


def _remove_value(label: str) -> str:
    """Return a label without the number that statistics programs put before it: 99 = no answer."""
    return _VALUE_LABEL.sub("", label.strip(), count=1) if label[:1] in "[(+-0123456789" else label


def _is_missing_code(label: str, labels: Collection[str]) -> bool:
    """Return whether programs write this label for a missing value, given the other labels."""
    text = label.strip().casefold()
    if STATA_CODE.fullmatch(text):
        return "." in labels
    return text in MISSING_CODES.split() and not _is_minus_sign(label, labels)


def _is_equal_number(text: str, codes: Collection[str]) -> bool:
    """Return whether a label is the same number as one of the codes: -99.0 is -99."""
    number = parse_decimal(text)
    return number is not None and any(parse_decimal(code) == number for code in codes)


def _is_minus_sign(label: str, labels: Collection[str]) -> bool:
    """Return whether "-" is an answer beside "+" in these labels, or "*" one beside "**"."""
    text = label.strip()
    if text == "*":
        return any(sign != text and sign.strip("*") == "" for sign in labels if sign)
    return text in ("-", "--", "–", "—") and any(sign.strip("+") == "" for sign in labels if sign)


def _classify_in_context(label: str, labels: Collection[str]) -> CodeStatus:
    if label.strip().casefold() == "none":
        answers = [answer for answer in labels if answer != label]
        return _classify_none(label.strip(), [o for o in answers if o.strip().casefold() != "none"])
    # Programs write an option to skip in brackets: [skipped].
    text = _remove_value(label).strip().casefold()
    if text.strip("[]<>()") in SUSPECTED_CODES or STATA_CODE.fullmatch(text):
        has_others = any(answer != label for answer in labels)
        return CodeStatus.SUSPECTED if has_others else CodeStatus.LABEL
    if _is_no_opinion(label):
        return CodeStatus.SUSPECTED if _is_beside_scale(label, labels) else CodeStatus.LABEL
    is_code = _is_number_far_from_scale(label, labels)
    return CodeStatus.SUSPECTED if is_code else CodeStatus.LABEL


def _is_number_far_from_scale(label: str, labels: Collection[str]) -> bool:
    """Return whether a number such as 99 is far from all others, or is a 9 beside 1 to 5.

    A negative code also counts if it is the only number beside words.
    """
    number = parse_decimal(label)
    if number is None or number not in {9, *NEGATIVE_CODES, *POSITIVE_CODES}:
        return False
    other_numbers = {parse_decimal(answer) for answer in labels if answer != label}
    codes = NEGATIVE_CODES if number < 0 else POSITIVE_CODES
    scale = [answer for answer in other_numbers if answer is not None and answer not in codes]
    if not scale and number < 0 and len(labels) > 2:
        return True
    if None in other_numbers or len(scale) < 2:
        return False
    if number == 9:
        return 2 <= max(scale) <= 5 and {*scale, 0} == set(range(int(max(scale)) + 1))
    return min(scale) > number / 3 if number < 0 else max(scale) < number / 3


def _is_beside_scale(label: str, labels: Collection[str]) -> bool:
    """Return whether the labels are ordered without those of no opinion, and not with this one.

    This one may have a place in the order if it has a number: 9 = don't know.
    """
    opinions = [answer for answer in labels if not _is_no_opinion(answer)]
    is_scale = guess_order(opinions).scale == "ordinal"
    has_value = _remove_value(label) != label
    return is_scale and (has_value or guess_order([*opinions, label]).basis == ALPHABET)


def _is_no_opinion(label: str) -> bool:
    return _remove_value(label).strip().casefold().replace("’", "'") in NO_OPINIONS


def _is_minus_one(label: str, counts: Mapping[str, int]) -> bool:
    """Return whether a label is a rare -1 beside numbers of which none is negative.

    A frequent -1 is an answer, as on a scale of sentiment.
    """
    if parse_decimal(label) != -1:
        return False
    numbers = [parse_decimal(answer) for answer in counts if answer != label]
    if len(numbers) < 2 or any(number is None or number < 0 for number in numbers):
        return False
    return counts[label] * RARE_SHARE <= sum(counts.values())


def _classify_none(label: str, answers: Collection[str]) -> CodeStatus:
    """Return whether "None" is Python's missing value or an answer beside the other answers.

    Beside numbers alone it is missing, however it is written. Otherwise it is an answer if a known
    scale has it, if it is not written as Python writes it, and if there is no other answer. Beside
    capitalized words it may be either.
    """
    if not answers:
        return CodeStatus.LABEL
    if all(parse_decimal(answer) is not None for answer in answers):
        return CodeStatus.MISSING
    if label != "None" or find_known_scale([label, *answers]) is not None:
        return CodeStatus.LABEL
    words = [answer for answer in answers if answer[:1].isalpha()]
    if words and all(word[:1].isupper() for word in words):
        return CodeStatus.SUSPECTED
    return CodeStatus.MISSING
