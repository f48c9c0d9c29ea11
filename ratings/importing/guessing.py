"""What a file's columns probably mean, and in which order its labels probably stand. The lead has
the last word."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .problems import Unreadable, shown
from .reading import DELIMITERS, Reader

SAMPLE = 20  # rows that are shown and guessed from
FEW = 10  # rows; fewer are a poor sample
SHORT = 20  # characters that a label may have in a poor sample

# Troubles that another delimiter may not have.
BY_DELIMITER = ("cell_long", "columns_many", "quote_open", "quote_wrong")

NAMES = {
    "item": "item item_id itemid id key task task_id document document_id doc doc_id text_id unit unit_id example"
    " example_id segment segment_id subject subject_id image object record record_id sample",
    "rater": "rater rater_id raterid annotator annotator_id worker worker_id workerid user user_id username coder judge"
    " labeler labeller reviewer evaluator expert author completed_by",
    "label": "label labels rating category code answer score value annotation judgement judgment severity class choice"
    " response verdict grade",
    "rated_at": "rated_at timestamp time date datetime created created_at submitted submitted_at submit_time updated_at"
    " ts",
    "comment": "comment comments note notes remark remarks rationale explanation reason",
    "question": "question question_key",
}

ORDERS = (
    "none trivial minor moderate major severe critical blocker",
    "none mild moderate severe",
    "none neutral low medium high",
    "very low|low|moderate|medium|high|very high|critical",
    "very small|small|medium|large|very large",
    "never rarely sometimes often usually always",
    "strongly disagree|disagree|somewhat disagree|slightly disagree|neither|neutral"
    "|slightly agree|somewhat agree|agree|strongly agree",
    "very negative|negative|neutral|mixed|positive|very positive",
    "terrible|very bad|very poor|bad|poor|fair|ok|okay|average|good|very good|great|excellent|perfect",
    "much worse|worse|slightly worse|same|equal|slightly better|better|much better",
    "not at all|slightly|somewhat|moderately|very|extremely",
    "impossible|very unlikely|unlikely|possible|likely|very likely|certain",
    "beginner intermediate advanced expert",
    "info notice warning error fatal",
    "g pg pg-13 p r nc-17 x",
    "no maybe yes",
    "false true",
)


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


def look(path: Path, *, encoding: str, delimiter: str | None = None) -> Look:
    """Read the line of names and the first rows; the delimiter is guessed where none is given.
    Raises Unreadable."""
    delimiter = delimiter or guess_delimiter(path, encoding=encoding)
    rows = list(itertools.islice(Reader(path, encoding=encoding, delimiter=delimiter), SAMPLE + 1))
    if not rows:
        raise Unreadable("empty")
    line, cells = rows[0]
    names = checked_names(cells, line)
    if len(rows) == 1:
        raise Unreadable("only_names", line=line)
    return Look(delimiter, names, rows[1:])


def guess_delimiter(path: Path, *, encoding: str) -> str:
    """The delimiter that splits the first rows into most columns, alike in every row."""
    best = (0.0, 0, "")
    trouble: Unreadable | None = None
    for delimiter in DELIMITERS:
        try:
            rows = list(
                itertools.islice(Reader(path, encoding=encoding, delimiter=delimiter), SAMPLE + 1)
            )
        except Unreadable as error:
            if error.problem.kind not in BY_DELIMITER:
                raise
            trouble = trouble or error
            continue
        widths = [len(cells) for _, cells in rows]
        if widths and widths[0] > 1:
            alike = sum(width == widths[0] for width in widths) / len(widths)
            best = max(best, (alike, widths[0], delimiter))
    if best[2]:
        return best[2]
    raise trouble or Unreadable("one_column", line=1)


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
        for word in words.split():
            places = [
                i
                for i, name in enumerate(look.names)
                if _plain(name) == word and i not in columns.values()
            ]
            if places:
                columns[role] = places[0]
                break
    if "rater" in columns or "label" in columns:
        return Guess("long", columns)
    raters, others = _raters_among(look, columns.get("item", 0), set(labels))
    if len(raters) >= 2 and ("item" in columns or len(look.names) > 3):
        return Guess("wide", {"item": columns.get("item", 0)}, others)
    return Guess("long", columns)


def _raters_among(look: Look, item: int, labels: set[str]) -> tuple[list[int], list[int]]:
    """Columns whose cells mostly say what other columns say, too (raters of one scale), and those
    that are not.

    An empty cell speaks for a rater. A short sample says little: then every short text may be a
    label.
    """
    places = [place for place in range(len(look.names)) if place != item]
    values = {
        place: [text for _, cells in look.sample if (text := _cell(cells, place))]
        for place in places
    }
    seen = Counter(value for found in values.values() for value in set(found))
    short = len(look.sample) < FEW
    raters = []
    for place, found in values.items():
        known = sum(
            value in labels or seen[value] > 1 or (short and len(value) <= SHORT) for value in found
        )
        if 2 * known >= len(found):
            raters.append(place)
    return raters, [place for place in places if place not in raters]


def _cell(cells: Sequence[str], place: int) -> str:
    return cells[place].strip() if place < len(cells) else ""


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")


def number(label: str) -> float | None:
    """The label as a finite number, or None."""
    try:
        value = float(label)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in label else None


def guess_order(labels: Iterable[str]) -> tuple[list[str], str]:
    """(labels in their probable order, "ordinal" or "nominal"): numbers by value, known words by
    their ladder, the rest by alphabet. Two categories have no order to speak of."""
    found = sorted(labels)
    numbers = {label: number(label) for label in found}
    if found and all(value is not None for value in numbers.values()):
        ordered = sorted(found, key=lambda label: (numbers[label], label))
        return ordered, "ordinal" if len(found) > 2 else "nominal"
    for words in ORDERS:
        ladder = words.split("|") if "|" in words else words.split()
        ranks = {
            label: ladder.index(label.strip().casefold())
            for label in found
            if label.strip().casefold() in ladder
        }
        if len(ranks) == len(found) >= 2 and len(set(ranks.values())) == len(found):
            return sorted(found, key=ranks.__getitem__), "ordinal" if len(found) > 2 else "nominal"
    return sorted(found, key=lambda label: (label.casefold(), label)), "nominal"
