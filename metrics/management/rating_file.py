"""A file `item,rater,label[,timestamp]` as arrays for the agreement library.

No project and no database is needed.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ratings.imports.problems import UnreadableFileError, format_problem
from ratings.imports.readers.tables.csv_records import CsvRecords
from ratings.imports.uploads import open_unpacked
from ratings.imports.values.label_forms import parse_number
from ratings.imports.values.label_notes import MAYBE_MISSING, LabelNote, format_command_note
from ratings.imports.values.label_order import OPTION, guess_order
from ratings.imports.values.label_reading import LabelOptions, read_labels

REQUIRED = ("item", "rater", "label")
OPTIONAL = ("timestamp", "question")


class RatingFileError(Exception):
    """An error in the file, with its line where there is one."""


@dataclass(frozen=True)
class RatingFile:
    """The ratings of a file as arrays (M,): item, rater, code, one rating for each item and rater.

    `categories` in order, with the basis of this order (`label_order`, or "option"); `repeats`:
    number of earlier ratings that were left out; `missing`: number of ratings without a label;
    `notes` on how the labels were read.
    """

    item: npt.NDArray[np.int64]
    rater: npt.NDArray[np.int64]
    code: npt.NDArray[np.int64]
    items: list[str]
    raters: list[str]
    categories: list[str]
    values: list[float]
    repeats: int
    order_basis: str
    missing: int
    notes: list[LabelNote]


@dataclass(frozen=True)
class _FileRow:
    line: int
    item: str
    rater: str
    label: str
    time: datetime.datetime | None


def read_rating_file(
    path: Path,
    *,
    order: Sequence[str] | None = None,
    values: Sequence[float] | None = None,
    question: str | None = None,
    labels: LabelOptions | None = None,
) -> RatingFile:
    """Read a file; the latest rating counts where a rater rated an item twice.

    The latest by time stamp, else by line. Labels are read as an import reads them, with the
    decisions `labels`. Categories are `order`, else the labels of the file in the order that an
    import guesses. Their values are `values`, else the labels' own numbers, else 1, 2, ... Raises
    RatingFileError.
    """
    if not path.is_file():
        raise RatingFileError("There is no such file.")
    try:
        with open_unpacked(path) as unpacked_path:
            rows = list(_iter_rows(unpacked_path, question))
    except UnreadableFileError as error:
        raise RatingFileError(
            _format_message(error.problem.line, format_problem(error.problem.to_json()))
        ) from None
    if not rows:
        raise RatingFileError(
            "There is no rating in the file."
            if question is None
            else f"No row is of question {question!r}."
        )
    n_rows = len(rows)
    rows, notes = _read_labels(rows, labels or LabelOptions(), order or ())
    if not rows:
        raise RatingFileError("Every label in the file stands for a missing value.")
    categories, order_basis = _list_categories(rows, order)
    latest = _select_latest(rows)
    codes = {label: code for code, label in enumerate(categories)}
    items, raters = (
        {name: index for index, name in enumerate(sorted({getattr(row, part) for row in rows}))}
        for part in REQUIRED[:2]
    )
    columns = np.array(
        [(items[row.item], raters[row.rater], codes[row.label]) for row in latest], np.int64
    )
    numbers = _get_values(categories, values)
    item, rater, code = columns.T
    return RatingFile(
        item,
        rater,
        code,
        list(items),
        list(raters),
        categories,
        numbers,
        repeats=len(rows) - len(latest),
        order_basis=order_basis,
        missing=n_rows - len(rows),
        notes=notes,
    )


def _iter_rows(path: Path, question: str | None) -> Iterator[_FileRow]:
    records = iter(CsvRecords(path, encoding="utf-8-sig", delimiter=","))
    line, header = next(records, (1, []))
    columns = _find_columns(line, header, question)
    for line, cells in records:
        if len(cells) != len(header):
            raise RatingFileError(
                _format_message(
                    line, f"{len(cells)} cells, where the line of names has {len(header)}."
                )
            )
        cell = {name: cells[column].strip() for name, column in columns.items()}
        if question is not None and cell["question"] != question:
            continue
        for name in REQUIRED[:2]:
            if not cell[name]:
                raise RatingFileError(_format_message(line, f"The {name} is empty."))
        yield _FileRow(
            line,
            cell["item"],
            cell["rater"],
            cell["label"],
            _parse_time(line, cell.get("timestamp", "")),
        )


def _find_columns(line: int, header: list[str], question: str | None) -> dict[str, int]:
    """Return name -> index of the known columns."""
    names = [name.strip().casefold() for name in header]
    required = [*REQUIRED, *(["question"] if question is not None else [])]
    for name in (*REQUIRED, *OPTIONAL):
        if names.count(name) > 1:
            raise RatingFileError(
                _format_message(
                    line, f"There are {names.count(name)} columns named {name!r}; one is needed."
                )
            )
    missing = [name for name in required if name not in names]
    if missing:
        actual = ", ".join(repr(name) for name in header) or "nothing"
        message = f"No column named {' or '.join(map(repr, missing))}"
        allowed = (
            "the first line must name item, rater, label and may name timestamp and question, "
            "separated by commas"
        )
        raise RatingFileError(_format_message(line, f"{message}: {allowed}; it has {actual}."))
    return {name: names.index(name) for name in (*REQUIRED, *OPTIONAL) if name in names}


def _parse_time(line: int, text: str) -> datetime.datetime | None:
    """Parse a time; UTC where it has no zone, because times only decide which rating is later."""
    if not text:
        return None
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise RatingFileError(
            _format_message(line, f"{text!r} is no time such as 2026-03-01T12:30:00Z.")
        ) from None
    return time if time.tzinfo else time.replace(tzinfo=datetime.UTC)


def _select_latest(rows: list[_FileRow]) -> list[_FileRow]:
    """Return the latest rating of each item and rater.

    A rating with an earlier time stamp than the previous one is ignored.
    """
    latest: dict[tuple[str, str], _FileRow] = {}
    for row in rows:
        previous = latest.get((row.item, row.rater))
        if (
            previous is None
            or previous.time is None
            or row.time is None
            or row.time >= previous.time
        ):
            latest[row.item, row.rater] = row
    return list(latest.values())


def _read_labels(
    rows: list[_FileRow], options: LabelOptions, order: Sequence[str]
) -> tuple[list[_FileRow], list[LabelNote]]:
    """Return the rows that have a label, with this label, and notes on the labels.

    Labels that `order` names are no codes for missing values. Raises RatingFileError for labels
    that may be one, because either number would be wrong in the other case.
    """
    counts = Counter(row.label for row in rows)
    reading = read_labels(counts, options, existing=order)
    for note in reading.undecided:
        if note.kind == MAYBE_MISSING:
            raise RatingFileError(format_command_note(note.to_json()))
    labelled_rows = [
        replace(row, label=label)
        for row in rows
        if (label := reading.labels[row.label]) is not None
    ]
    return labelled_rows, reading.notes


def _list_categories(rows: list[_FileRow], order: Sequence[str] | None) -> tuple[list[str], str]:
    """Return the categories in their order, and what the order is based on."""
    if order is None:
        guess = guess_order({row.label for row in rows})
        return guess.labels, guess.basis
    allowed = set(order)
    if len(allowed) < len(order):
        duplicate = next(label for label in order if list(order).count(label) > 1)
        raise RatingFileError(f"The order names {duplicate!r} twice.")
    for row in rows:
        if row.label not in allowed:
            raise RatingFileError(
                _format_message(
                    row.line, f"Unknown label {row.label!r}; one of {', '.join(order)}."
                )
            )
    return list(order), OPTION


def _get_values(categories: list[str], values: Sequence[float] | None) -> list[float]:
    if values is not None:
        return list(values)
    numbers = [number for label in categories if (number := parse_number(label)) is not None]
    return (
        numbers
        if len(numbers) == len(categories)
        else [float(n) for n in range(1, len(categories) + 1)]
    )


def _format_message(line: int | None, text: str) -> str:
    return text if line is None else f"Line {line}: {text}"
