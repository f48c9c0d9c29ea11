"""What the columns of a table probably mean. The lead has the last word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from .problems import Unreadable, shown

FEW_ROWS = 10  # fewer are a poor sample
SHORT_LABEL = 20  # characters that a label may have in a poor sample

# Role -> the names that a column of it may have, the surest first.
NAMES = {
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
}


@dataclass(frozen=True)
class Look:
    """The start of a file: its delimiter, the names of its columns, and its first rows as (line,
    cells)."""

    delimiter: str
    names: list[str]
    sample: list[tuple[int, list[str]]]


@dataclass
class Guess:
    layout: str = "long"
    columns: dict[str, int] = field(default_factory=dict)  # item, rater, label, ... -> index
    # in the wide layout, columns that are no raters
    leave_out: list[int] = field(default_factory=list)


def checked_names(cells: Sequence[str], line: int) -> list[str]:
    """The names of the columns, each given and given once; Unreadable otherwise."""
    names = [cell.strip() for cell in cells]
    if len(names) == 1:
        raise Unreadable("one_column", line=line)
    seen: dict[str, int] = {}
    for place, name in enumerate(names, 1):
        if not name:
            raise Unreadable("name_empty", line=line, place=place)
        first = seen.setdefault(name, place)
        if first != place:
            raise Unreadable("name_doubled", line=line, name=shown(name), first=first, second=place)
    return names


def guess_columns(look: Look, *, labels: Iterable[str] = ()) -> Guess:
    """Long where columns named like rater and label stand; else wide where the other columns share
    a few values.

    ``labels`` are those that the project's questions know already.
    """
    columns: dict[str, int] = {}
    for role, words in NAMES.items():
        place = _named(look.names, words.split(), taken=columns.values())
        if place is not None:
            columns[role] = place
    if "rater" in columns or "label" in columns:
        return Guess("long", columns)
    raters, others = _raters_among(look, columns.get("item", 0), set(labels))
    if len(raters) >= 2 and ("item" in columns or len(look.names) > 3):
        return Guess("wide", {"item": columns.get("item", 0)}, others)
    return Guess("long", columns)


def _named(names: Sequence[str], words: Sequence[str], *, taken: Collection[int]) -> int | None:
    """The first free column that has the first of these names which any has."""
    for word in words:
        for place, name in enumerate(names):
            if place not in taken and _plain(name) == word:
                return place
    return None


def _raters_among(look: Look, item: int, labels: set[str]) -> tuple[list[int], list[int]]:
    """Columns whose cells mostly say what other columns say, too (raters of one scale), and those
    that are not.

    An empty cell speaks for a rater. A short sample says little: then every short text may be a
    label.
    """
    places = [place for place in range(len(look.names)) if place != item]
    texts = {place: _texts(look, place) for place in places}
    n_columns: Counter[str] = Counter()  # text -> in how many columns it stands
    for found in texts.values():
        n_columns.update(set(found))
    short = len(look.sample) < FEW_ROWS

    def may_be_a_label(text: str) -> bool:
        return text in labels or n_columns[text] > 1 or (short and len(text) <= SHORT_LABEL)

    raters: list[int] = []
    others: list[int] = []
    for place, found in texts.items():
        known = sum(map(may_be_a_label, found))
        (raters if 2 * known >= len(found) else others).append(place)
    return raters, others


def _texts(look: Look, place: int) -> list[str]:
    """What stands in the filled cells of a column of the sample."""
    cells = [cells[place].strip() for _line, cells in look.sample if place < len(cells)]
    return [cell for cell in cells if cell]


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")
