"""Roles of the columns of a table, and guesses which column has which role.

The lead confirms or changes the guesses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from projects.services import question_validation
from ratings.imports.problems import UnreadableFileError, truncate_text
from ratings.imports.values.label_forms import get_normal_form

MIN_RELIABLE_ROWS = 10  # fewer rows are a poor sample
MAX_SHORT_LABEL = 20  # characters that a label may have in a poor sample

# Parts of an item's body that the annotation page renders specially, one column each.
CONTENT_ROLES = ("text", "html", "image", "audio", "video")
MEDIA_ROLES = ("image", "audio", "video")
# Roles that one column can have.
ROLES = (
    "item",
    *CONTENT_ROLES,
    "gold",
    "rater",
    "label",
    "rated_at",
    "comment",
    "seconds",
    "guidelines",
    "question",
    "model",
    "prompt_version",
)
MODEL_ROLES = ("model", "prompt_version")  # roles that describe a rater who is a model
# Role -> column names that suggest it, the most reliable first.
NAMES_BY_ROLE = {
    "item": (
        "item item_id itemid id key task task_id document document_id doc doc_id text_id unit "
        "unit_id example example_id segment segment_id subject subject_id image object record "
        "record_id sample"
    ),
    "rater": (
        "rater rater_id raterid annotator annotator_id worker worker_id workerid user user_id "
        "username coder judge labeler labeller reviewer evaluator expert author completed_by"
    ),
    "label": (
        "label labels rating category code answer score value annotation judgement judgment "
        "severity class choice response verdict grade"
    ),
    "rated_at": (
        "rated_at timestamp time date datetime created created_at submitted submitted_at "
        "submit_time updated_at ts"
    ),
    "comment": "comment comments note notes remark remarks rationale explanation reason",
    "question": "question question_key",
    "seconds": "seconds lead_time duration time_spent seconds_spent",
    "guidelines": "guidelines guidelines_version",
    "model": "model",
    "prompt_version": "prompt_version",
    "gold": "gold gold_label ground_truth truth expected correct_label",
    "text": (
        "text content sentence body passage message tweet utterance post review review_text "
        "document_text input prompt"
    ),
    "html": "html",
    "image": "image image_url picture picture_url photo img",
    "audio": "audio audio_url sound sound_url recording",
    "video": "video video_url film film_url",
}
# Column names that suggest content, shown to raters under the column's name.
CONTENT_PART_NAMES = (
    "source target translation reference hypothesis premise instruction question prompt context "
    "title response response1 response2 response_1 response_2 response_a response_b answer_a "
    "answer_b completion output summary"
)
MEDIA_FILE_PATTERN = re.compile(
    r"(https?://|/)?[^\s]*\.(png|jpe?g|gif|webp|avif|mp3|ogg|wav|flac|m4a|mp4|webm)(\?[^\s]*)?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class TableHead:
    """The start of a table.

    ``delimiter`` is empty if it has none; ``sample_rows`` are the first rows as (line, cells).
    """

    delimiter: str
    names: list[str]
    sample_rows: list[tuple[int, Sequence[Any]]]


@dataclass
class ColumnGuess:
    """Guessed layout and column roles of a table; the fields are those of `ImportMapping`."""

    layout: str = "long"
    columns: dict[str, int] = field(default_factory=dict)  # role -> column index
    # Columns of the wide layout that are not raters.
    excluded_columns: list[int] = field(default_factory=list)
    content_columns: list[int] = field(default_factory=list)
    attribute_columns: list[int] = field(default_factory=list)


def validate_column_names(cells: Sequence[str], line: int) -> list[str]:
    """Return the stripped column names; raise UnreadableFileError if one is empty or used twice."""
    names = [cell.strip() for cell in cells]
    positions: dict[str, int] = {}
    for position, name in enumerate(names, 1):
        if not name:
            raise UnreadableFileError("name_empty", line=line, place=position)
        first_position = positions.setdefault(name, position)
        if first_position != position:
            raise UnreadableFileError(
                "duplicate_column_name",
                line=line,
                name=truncate_text(name),
                first=first_position,
                second=position,
            )
    return names


def guess_columns(head: TableHead, *, labels: Iterable[str] = ()) -> ColumnGuess:
    """Guess the layout and the roles of the columns.

    The layout is long if a column is named like a rater or a label; else wide if the other columns
    share a few values; else items alone, if there is content. ``labels`` are those of the project's
    existing questions.
    """
    columns: dict[str, int] = {}
    for role, candidates in NAMES_BY_ROLE.items():
        index = _find_named_column(head, role, candidates.split(), used_columns=columns.values())
        if index is not None:
            columns[role] = index
    if not {"rater", "model", "prompt_version"} <= columns.keys():
        # Without the other two, `model` is mostly the author of the text that is rated.
        columns = {role: index for role, index in columns.items() if role not in MODEL_ROLES}
    content_columns = _find_content_parts(head, columns)
    has_content = bool(content_columns) or any(role in columns for role in CONTENT_ROLES)
    remaining = [
        index
        for index in range(len(head.names))
        if index not in columns.values() and index not in content_columns
    ]
    if "rater" in columns or "label" in columns:
        attributes = _find_attribute_columns(head, columns, remaining) if has_content else []
        return ColumnGuess(
            "long", columns, content_columns=content_columns, attribute_columns=attributes
        )
    # Ratings of a wide file have none of these.
    for role in ("rated_at", "comment", "question", "seconds", "guidelines"):
        if (index := columns.pop(role, None)) is not None:
            remaining = sorted([*remaining, index])
    if not has_content:
        return _guess_without_content(head, columns, set(labels))
    item_columns = {"item": columns.get("item", -1)}
    rater_columns, other_columns = _split_rater_columns(
        head, item_columns["item"], set(labels), candidates=remaining, sure=True
    )
    if len(rater_columns) >= 2:
        return ColumnGuess(
            "wide", columns, content_columns=content_columns, attribute_columns=other_columns
        )
    return ColumnGuess(
        "items", columns, content_columns=content_columns, attribute_columns=remaining
    )


def _guess_without_content(
    head: TableHead, columns: dict[str, int], labels: set[str]
) -> ColumnGuess:
    """Return the guess for a table without content: wide, or else long."""
    item_index = columns.get("item", 0)
    all_indexes = range(len(head.names))
    rater_columns, other_columns = _split_rater_columns(
        head, item_index, labels, candidates=all_indexes, sure=False
    )
    gold = {"gold": columns["gold"]} if "gold" in columns else {}
    if len(rater_columns) >= 2 and ("item" in columns or len(head.names) > 3):
        return ColumnGuess("wide", {"item": item_index}, other_columns)
    return ColumnGuess("long", {**columns, **gold})


def _find_named_column(
    head: TableHead, role: str, candidates: Sequence[str], *, used_columns: Collection[int]
) -> int | None:
    """Return the first free column with the most reliable candidate name, or None."""
    for candidate in candidates:
        for index, name in enumerate(head.names):
            if (
                index not in used_columns
                and _normalize_name(name) == candidate
                and _can_have_role(head, role, index)
            ):
                return index
    return None


def _can_have_role(head: TableHead, role: str, index: int) -> bool:
    """Return whether the cells of a column are compatible with a role."""
    texts = _list_column_texts(head, index)
    if role == "question":
        return all(question_validation.KEY_PATTERN.fullmatch(text) for text in texts)
    if role == "guidelines":
        return all(text.isdigit() for text in texts)
    if role in MEDIA_ROLES:
        return bool(texts) and all(MEDIA_FILE_PATTERN.fullmatch(text) for text in texts)
    if role == "item" and _normalize_name(head.names[index]) in MEDIA_ROLES:
        return not _can_have_role(head, "image", index)
    return True


def _find_content_parts(head: TableHead, columns: dict[str, int]) -> list[int]:
    """Return further columns of content: by name, or by length of text if none has such a name."""
    free_columns = [index for index in range(len(head.names)) if index not in columns.values()]
    named_columns = [
        index
        for index in free_columns
        if _normalize_name(head.names[index]) in CONTENT_PART_NAMES.split()
    ]
    if named_columns or any(role in columns for role in CONTENT_ROLES):
        return named_columns
    long_columns = []
    for index in free_columns:
        texts = _list_column_texts(head, index)
        if texts and sum(map(len, texts)) > 2 * MAX_SHORT_LABEL * len(texts):
            long_columns.append(index)
    return long_columns


def _find_attribute_columns(
    head: TableHead, columns: dict[str, int], candidates: Sequence[int]
) -> list[int]:
    """Return the columns with one value for each item: attributes of the item, not of a rating."""
    item_index = columns.get("item")
    if item_index is None:
        return list(candidates)
    attribute_columns = []
    for index in candidates:
        value_by_item: dict[str, str] = {}
        texts = [
            (_get_cell_text(cells, item_index), _get_cell_text(cells, index))
            for _line, cells in head.sample_rows
        ]
        if all(value_by_item.setdefault(key, text) == text for key, text in texts):
            attribute_columns.append(index)
    return attribute_columns


def _split_rater_columns(
    head: TableHead, item_index: int, labels: set[str], *, candidates: Iterable[int], sure: bool
) -> tuple[list[int], list[int]]:
    """Return (rater columns, other columns).

    The cells of a rater column mostly have values that occur in other columns, too, because raters
    share one scale. An empty cell counts in favour of a rater. In a short sample every short text
    may be a label, unless the guess has to be ``sure``.
    """
    indexes = [index for index in candidates if index != item_index]
    # Raters may write the same number as 1 and as 1.0.
    texts = {
        index: [get_normal_form(text) for text in _list_column_texts(head, index)]
        for index in indexes
    }
    column_counts: Counter[str] = Counter()  # text -> number of columns that contain it
    for column_texts in texts.values():
        column_counts.update(set(column_texts))
    is_short_sample = len(head.sample_rows) < MIN_RELIABLE_ROWS and not sure

    def is_likely_label(text: str) -> bool:
        return (
            text in labels
            or column_counts[text] > 1
            or (is_short_sample and len(text) <= MAX_SHORT_LABEL)
        )

    rater_columns: list[int] = []
    other_columns: list[int] = []
    for index, column_texts in texts.items():
        n_likely_labels = sum(map(is_likely_label, column_texts))
        is_rater = 2 * n_likely_labels >= len(column_texts) and bool(column_texts or not sure)
        (rater_columns if is_rater else other_columns).append(index)
    return rater_columns, other_columns


def _list_column_texts(head: TableHead, index: int) -> list[str]:
    """Return the non-empty cells of a column of the sample, as stripped texts."""
    cells = [_get_cell_text(cells, index) for _line, cells in head.sample_rows]
    return [cell for cell in cells if cell]


def _get_cell_text(cells: Sequence[Any], index: int) -> str:
    """Return a cell as stripped text, empty if the row has no such cell."""
    if index >= len(cells) or cells[index] is None:
        return ""
    return str(cells[index]).strip()


def _normalize_name(name: str) -> str:
    """Return a column name in lower case with underscores between its words."""
    return re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")
