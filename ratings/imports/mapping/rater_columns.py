"""Find the columns of a wide table that hold ratings, with the rater and question of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from ratings.label_normalization import get_normal_form

from . import role_words
from .column_cells import MAX_SHORT_LABEL, MIN_COMPUTED_ROWS, MIN_RELIABLE_ROWS, TableHead
from .name_tests import (
    are_rater_numbers,
    compact_name,
    is_comparison_name,
    is_criterion_name,
    is_preference_name,
    is_question_name,
    rank_name,
    split_numbered_name,
)
from .role_words import OTHER_STEMS, RATER_STEMS

_SEPARATORS = (r"\.", r"__", r"\s+[-–]\s+", r"[:/|]", r"_", r"\s+", r"-")
_BRACKETS = re.compile(r"(.*?)\s*[\[(]\s*([^\[\]()]+?)\s*[\])]\s*")
_FIELD = re.compile(r"(.+)\.([^.]+)")  # a field of an object
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}")
# The code of a question that LimeSurvey writes before its text: G1Q1[SQ001]. Rate [Image 1].
_SURVEY_CODE = re.compile(r"^\w*\d\w*(\[\w+\])?\. ")
_NUMBER_OR_LETTER = re.compile(r"\d+|\b[A-Z]\b")
# The name of a rater beside the rater's label: rater1_id, Coder 2 name.
_RATER_NAME = re.compile(r"(.+?)[\s_.-]+(?:id|name|initials|email|who)", re.IGNORECASE)


@dataclass
class ValueColumns:
    """Columns with ratings: index -> (rater, question), the question empty if all answer one.

    ``reason`` is a key of COLUMN_REASONS; ``is_certain`` is False if raters and questions may have
    been confused.
    """

    places: dict[int, tuple[str, str]] = field(default_factory=dict)
    reason: str = "pattern"
    is_certain: bool = True


def find_columns_named_by_rater(head: TableHead, candidates: Sequence[int]) -> ValueColumns | None:
    """Return those of the candidates whose names number raters, or name a rater and a question.

    None if there are no such columns.
    """
    short = [
        index
        for index in candidates
        if (head.columns[index].has_short_texts or not head.columns[index].filled)
        and not _is_beside_raters(head.names[index])
    ]
    if any(map(is_preference_name, head.names)):
        # In a table with a winner, model_a and model_b are what is compared, not raters.
        short = [index for index in short if not is_system_number(head.names[index])]
    crossed = _find_crossed_names(head, short)
    if crossed and any(question for _, question in crossed.places.values()):
        return crossed
    return _find_numbered_names(head, short) or crossed


def is_system_number(name: str) -> bool:
    """Return whether a column is named like one of several systems: model_a."""
    number = split_numbered_name(name)
    return number is not None and number[0] in ("model", "system")


def _is_beside_raters(name: str) -> bool:
    """Return whether a column has no labels but belongs to one that has: Comments 1, ITEM_NO."""
    if is_comparison_name(name):
        return True
    number = split_numbered_name(name)
    stem = number[0] if number else name
    beside = ("comment", "seconds", "rated_at", "item")
    return not (number and stem in RATER_STEMS) and (
        any(rank_name(stem, role) is not None for role in beside)
        or (number is None and any(rank_name(name, role) is not None for role in ("item", "rater")))
    )


def _find_numbered_names(head: TableHead, candidates: Sequence[int]) -> ValueColumns | None:
    """Return the columns named rater_1, rater_2 and so on, or None if there are fewer than two."""
    by_stem: dict[str, list[int]] = {}
    for index in candidates:
        number = split_numbered_name(head.names[index])
        if number and number[0] in RATER_STEMS:
            by_stem.setdefault(number[0], []).append(index)
    groups = [indexes for indexes in by_stem.values() if len(indexes) >= 2]
    if not groups:
        return None
    indexes = max(groups, key=len)
    return ValueColumns({index: (head.names[index].strip(), "") for index in indexes})


def _find_crossed_names(head: TableHead, candidates: Sequence[int]) -> ValueColumns | None:
    """Return columns each named for a rater and a question (R1_warmth, ann.relevance), or None."""
    # Complete tables first: each rater answers each question.
    all_parts = sorted(_iter_crossed_parts(head, candidates), key=lambda entry: not entry[1])
    for has_numbers in (True, False):  # `Reviewer A vote`: numbered raters before a rater's name
        for parts, _is_complete in all_parts:
            for place in (0, 1):
                if columns := _build_crossed_columns(head, parts, place, has_numbers=has_numbers):
                    return columns
    for parts, is_complete in all_parts:
        firsts = list(dict.fromkeys(first for first, _ in parts.values()))
        seconds = list(dict.fromkeys(second for _, second in parts.values()))
        if (
            is_complete
            and len(firsts) >= 2
            and not _are_question_or_item_names(firsts, seconds)
            and (len(seconds) > 1 or _may_be_raters_by_cells(head, list(parts)))
        ):
            # `ann.relevance`, `ben.relevance`: the same word after every name is the question.
            # In `warmth_1`, `warmth_2`, the numbers are.
            is_single = len(seconds) == 1
            has_own_labels = [_have_own_labels(head, parts, place) for place in (0, 1)]
            are_questions_first = not is_single and (
                all(second.isdigit() for second in seconds)
                or _are_only_criteria(firsts, seconds)
                or has_own_labels == [True, False]
            )
            return ValueColumns(
                {
                    index: (second, first)
                    if are_questions_first
                    else (first, "" if is_single else second)
                    for index, (first, second) in parts.items()
                },
                is_certain=is_single or has_own_labels[0] != has_own_labels[1],
            )
    return None


def _are_only_criteria(names: Collection[str], others: Collection[str]) -> bool:
    """Return whether all of ``names`` are names of criteria, and none of ``others`` is."""
    return all(map(is_criterion_name, names)) and not any(map(is_criterion_name, others))


def _have_own_labels(head: TableHead, parts: dict[int, tuple[str, str]], place: int) -> bool:
    """Return whether each part of the names has its own labels, which occur with no other part.

    ``parts``: column -> (first, second) part of its name; ``place``: which of the two to compare.
    """
    labels: dict[str, set[str]] = {}
    for index, both in parts.items():
        labels.setdefault(both[place], set()).update(head.columns[index].values)
    counts = Counter(label for group in labels.values() for label in group)
    return max(counts.values(), default=2) == 1


def _build_crossed_columns(
    head: TableHead, parts: dict[int, tuple[str, str]], place: int, *, has_numbers: bool
) -> ValueColumns | None:
    """Return the columns, or None if the parts of their names in this place are not raters.

    ``parts``: column -> (first, second) part of its name; ``place``: index of the part that may
    name raters. ``has_numbers``: these parts must number raters, as R1 and R2; otherwise the other
    part must be the same word for all, such as `rater`.
    """
    raters = list(dict.fromkeys(both[place] for both in parts.values()))
    questions = list(dict.fromkeys(both[1 - place] for both in parts.values()))
    is_single = len(questions) == 1
    is_named = is_single and compact_name(questions[0]) in RATER_STEMS
    if not (are_rater_numbers(raters) if has_numbers else is_named and len(raters) >= 2):
        return None
    counts = Counter(both[1 - place] for both in parts.values())
    places = {i: both for i, both in parts.items() if counts[both[1 - place]] > 1}
    if not places:
        return None
    # `score_fluency`, `score_adequacy`: one rater, and a question for each column.
    is_certain = not (is_named and any(map(is_criterion_name, raters)))
    # `Coder 1 (Anna)`: the number belongs to the name.
    is_numbered = is_named and all(rater[0].isdigit() for rater in raters)
    return ValueColumns(
        {
            index: (
                head.names[index].strip() if is_numbered else both[place],
                "" if is_single else both[1 - place],
            )
            for index, both in places.items()
        },
        is_certain=is_certain,
    )


def _are_question_or_item_names(
    first_parts: Collection[str], second_parts: Collection[str]
) -> bool:
    """Return whether the names number questions or items: Q1_1, Q1_2."""
    numbers = [split_numbered_name(first) for first in first_parts]
    stems = {
        number[0] if number else compact_name(first)
        for number, first in zip(numbers, first_parts, strict=True)
    }
    is_one_series = len(first_parts) == 1 and all(second.isdigit() for second in second_parts)
    if all(map(is_question_name, first_parts)):
        return True
    return stems <= OTHER_STEMS or is_one_series


def _iter_crossed_parts(
    head: TableHead, candidates: Sequence[int]
) -> Iterator[tuple[dict[int, tuple[str, str]], bool]]:
    """Yield {column: (first, second) part of its name}, and whether all combinations occur.

    There is one such mapping for each way to split the names. It leaves out columns that share
    neither part with another column.
    """
    for separator in _SEPARATORS:
        pattern_first = re.compile(rf"(.+?)(?:{separator})(.+)")
        pattern_last = re.compile(rf"(.+)(?:{separator})(.+?)")
        for pattern in (pattern_first, pattern_last):
            parts = {}
            for index in candidates:
                name = head.names[index].strip()
                if not _EMAIL.fullmatch(name) and (match := pattern.fullmatch(name)):
                    parts[index] = (match[1].strip(), match[2].strip())
            # A column such as doc_type shares neither part with another one.
            uses = Counter(part for both in parts.values() for part in enumerate(both))
            parts = {
                i: both for i, both in parts.items() if max(uses[p] for p in enumerate(both)) > 1
            }
            firsts = {first for first, _ in parts.values()}
            seconds = {second for _, second in parts.values()}
            is_unique = len(set(parts.values())) == len(parts) >= 2
            if is_unique and (firsts and seconds):
                yield parts, len(parts) == len(firsts) * len(seconds)


def _may_be_raters_by_cells(head: TableHead, indexes: Sequence[int]) -> bool:
    """Return whether columns may be raters by their cells: all numeric, or with common values."""
    return all(head.columns[index].is_numeric for index in indexes) or len(
        find_columns_with_shared_values(head, indexes, (), sure=True)
    ) == len(indexes)


def find_rater_names(head: TableHead, places: Collection[int]) -> list[int]:
    """Return the columns whose cells name the raters of other, numbered columns, or [].

    As in rater1_id, rater1_score, rater2_id, rater2_score, and in coder1, code1, coder2, code2.
    ``places`` are the columns guessed as ratings.
    """
    numbers = {index: split_numbered_name(name) for index, name in enumerate(head.names)}
    by_stem: dict[str, dict[str, int]] = {}
    for index, number in numbers.items():
        if number is not None:
            by_stem.setdefault(number[0], {})[number[1]] = index
    people = [
        index
        for stem, group in by_stem.items()
        if stem in RATER_STEMS - role_words.LABEL_STEMS
        and any(
            other in role_words.LABEL_STEMS and beside.keys() == group.keys() and len(group) > 1
            for other, beside in by_stem.items()
        )
        for index in group.values()
    ]
    people += [
        index
        for index, name in enumerate(head.names)
        if (match := _RATER_NAME.fullmatch(name.strip()))
        and (number := split_numbered_name(match[1]))
        and number[0] in RATER_STEMS
    ]
    return [
        index
        for index in dict.fromkeys(people)
        if not head.columns[index].is_numeric
        if index in places or not _has_same_name_in_all_rows(head, index)
    ]


def _has_same_name_in_all_rows(head: TableHead, index: int) -> bool:
    return len(head.columns[index].values) < 2


def split_rater_names(names: Sequence[str]) -> list[str]:
    """Return the raters of names that otherwise agree (Vote (Anna), votes.anna), or []."""
    return _split_frame(_BRACKETS, names) or split_field_names(names)


def split_field_names(names: Sequence[str]) -> list[str]:
    """Return the raters of names that are fields of one object, as in votes.anna, or []."""
    return _split_frame(_FIELD, names)


def _split_frame(pattern: re.Pattern[str], names: Sequence[str]) -> list[str]:
    matches = [pattern.fullmatch(name.strip()) for name in names]
    frames = {match[1] if match else "" for match in matches}
    raters = [match[2] for match in matches if match]
    is_frame = len(frames) == 1 and "" not in frames and len(set(raters)) == len(names)
    return raters if is_frame else []


def find_columns_with_shared_values(
    head: TableHead, candidates: Sequence[int], labels: Collection[str], *, sure: bool
) -> list[int]:
    """Return the columns that seem to be raters: at least half of their cells have a shared value.

    A shared value is also in another of the ``candidates``, or among ``labels``. Empty cells are
    not counted. Unless ``sure``, an empty column is returned as well, and every short text counts
    as shared if there are few rows.
    """
    column_counts: Counter[str] = Counter()  # text -> number of columns that contain it
    for index in candidates:
        column_counts.update(set(map(get_normal_form, head.columns[index].values)))
    is_short_sample = len(head.sample_rows) < MIN_RELIABLE_ROWS and not sure

    def is_likely_label(text: str) -> bool:
        return (
            text in labels
            or column_counts[get_normal_form(text)] > 1
            or (is_short_sample and len(text) <= MAX_SHORT_LABEL)
        )

    rater_columns = []
    for index in candidates:
        texts = head.columns[index].filled
        if 2 * sum(map(is_likely_label, texts)) >= len(texts) and bool(texts or not sure):
            rater_columns.append(index)
    return rater_columns


def list_remark_columns(
    head: TableHead, indexes: Sequence[int], doubtful: Collection[int]
) -> list[int]:
    """Return those of the doubtful columns that seem to be remarks, not labels.

    Their texts are no numbers, not repeated and in no other column, and most cells are empty, or
    many are filled, or all others are numeric. [] if fewer than two of ``indexes`` are certain.
    """
    columns = head.columns
    sure_columns = [index for index in indexes if index not in doubtful]
    if len(sure_columns) < 2:
        return []
    labels = set.union(*(columns[index].values for index in sure_columns))
    are_numbers = all(columns[index].is_numeric for index in sure_columns)
    n_rows = len(head.sample_rows)
    return [
        index
        for index in doubtful
        if not columns[index].has_repeats
        and not columns[index].is_numeric
        and columns[index].values.isdisjoint(labels)
        and (
            are_numbers
            or 2 * len(columns[index].filled) < n_rows
            or len(columns[index].filled) >= MIN_COMPUTED_ROWS
        )
    ]


def differ_only_in_number(names: Sequence[str]) -> bool:
    """Return whether names differ only in a number or a text in brackets, as Rate [Photo 1].

    Also if they differ only in a letter between words, as Is A clear?
    """
    frames = {compact_name(_NUMBER_OR_LETTER.sub("#", name.strip())) for name in names}
    if len(names) >= 2 and len(frames) == 1 and len(frames.pop()) > 1:
        return True
    stems = set()
    for name in names:
        bracket = _BRACKETS.fullmatch(_SURVEY_CODE.sub("", name.strip()))
        number = split_numbered_name(name)
        match = re.fullmatch(r"(.*?)[\s_.-]*\d+", name.strip())
        stem = bracket[1] if bracket else (number[0] if number else match[1] if match else name)
        stems.add(compact_name(stem))
    return len(names) >= 2 and len(stems) == 1


def split_grid_names(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return (item, question) of each column, as in Clear? [Text A]; "" for the only question."""
    brackets = [_BRACKETS.fullmatch(_SURVEY_CODE.sub("", name.strip())) for name in names]
    if not all(bracket and bracket[1] for bracket in brackets):
        return [(get_item_name(name), "") for name in names]
    pairs = [(bracket[2], bracket[1]) for bracket in brackets if bracket]
    questions = {question for _, question in pairs}
    return pairs if len(questions) > 1 else [(item, "") for item, _ in pairs]


def is_comment_column_name(name: str) -> bool:
    """Return whether a column has comments on answers, or texts of an option "Other (...)"."""
    bracket = _BRACKETS.fullmatch(name.strip())
    return bracket is not None and (
        rank_name(bracket[2], "comment") is not None or bracket[2].casefold().startswith("other (")
    )


def get_item_name(name: str) -> str:
    """Return the item that a column is named after: the text in brackets, else the whole name."""
    bracket = _BRACKETS.fullmatch(_SURVEY_CODE.sub("", name.strip()))
    return bracket[2] if bracket and bracket[1] else name.strip()
