"""A file `item,rater,label[,timestamp]` as arrays for the agreement library, without a project or a
database."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ratings.imports.problems import Unreadable, message
from ratings.imports.readers.tables.csv_records import Records
from ratings.imports.uploads import unpacked

REQUIRED = ("item", "rater", "label")
OPTIONAL = ("timestamp", "question")


class BadFile(Exception):
    """What is wrong with the file, with its line where it has one."""


@dataclass(frozen=True)
class RatingFile:
    """item, rater, code (M,), one rating for an item and rater; `categories` in order, `repeats`
    left out."""

    item: npt.NDArray[np.int64]
    rater: npt.NDArray[np.int64]
    code: npt.NDArray[np.int64]
    items: list[str]
    raters: list[str]
    categories: list[str]
    values: list[float]
    repeats: int


@dataclass(frozen=True)
class _Row:
    line: int
    item: str
    rater: str
    label: str
    time: datetime.datetime | None


def read(
    path: Path,
    *,
    order: Sequence[str] | None = None,
    values: Sequence[float] | None = None,
    question: str | None = None,
) -> RatingFile:
    """Read a file whose latest rating stands where a rater rated an item twice: by time stamp, else
    by line.

    Categories are `order`, else the labels found: numbers in numeric order, other texts in
    alphabetical order. Their values are `values`, else the labels' own numbers, else 1, 2, ...
    Raises BadFile.
    """
    if not path.is_file():
        raise BadFile("There is no such file.")
    try:
        with unpacked(path) as plain:
            rows = list(_rows(plain, question))
    except Unreadable as error:
        raise BadFile(_at(error.problem.line, message(error.problem.as_json()))) from None
    if not rows:
        raise BadFile(
            "There is no rating in the file."
            if question is None
            else f"No row is of question {question!r}."
        )
    categories = _categories(rows, order)
    standing = _standing(rows)
    place = {label: code for code, label in enumerate(categories)}
    items, raters = (
        {name: n for n, name in enumerate(sorted({getattr(r, part) for r in rows}))}
        for part in REQUIRED[:2]
    )
    columns = np.array(
        [(items[r.item], raters[r.rater], place[r.label]) for r in standing], np.int64
    )
    numbers = _values(categories, values)
    item, rater, code = columns.T
    return RatingFile(
        item,
        rater,
        code,
        list(items),
        list(raters),
        categories,
        numbers,
        repeats=len(rows) - len(standing),
    )


def _rows(path: Path, question: str | None) -> Iterator[_Row]:
    records = iter(Records(path, encoding="utf-8-sig", delimiter=","))
    line, header = next(records, (1, []))
    columns = _columns(line, header, question)
    for line, cells in records:
        if len(cells) != len(header):
            raise BadFile(
                _at(line, f"{len(cells)} cells, where the line of names has {len(header)}.")
            )
        cell = {name: cells[place].strip() for name, place in columns.items()}
        if question is not None and cell["question"] != question:
            continue
        for name in REQUIRED:
            if not cell[name]:
                raise BadFile(_at(line, f"The {name} is empty."))
        yield _Row(
            line, cell["item"], cell["rater"], cell["label"], _time(line, cell.get("timestamp", ""))
        )


def _columns(line: int, header: list[str], question: str | None) -> dict[str, int]:
    """Name -> place of the known columns."""
    names = [name.strip().casefold() for name in header]
    wanted = [*REQUIRED, *(["question"] if question is not None else [])]
    for name in (*REQUIRED, *OPTIONAL):
        if names.count(name) > 1:
            raise BadFile(
                _at(line, f"There are {names.count(name)} columns named {name!r}; one is needed.")
            )
    missing = [name for name in wanted if name not in names]
    if missing:
        found = ", ".join(repr(name) for name in header) or "nothing"
        wrong = f"No column named {' or '.join(map(repr, missing))}"
        allowed = (
            "the first line must name item, rater, label and may name timestamp and question, "
            "separated by commas"
        )
        raise BadFile(_at(line, f"{wrong}: {allowed}; it has {found}."))
    return {name: names.index(name) for name in (*REQUIRED, *OPTIONAL) if name in names}


def _time(line: int, text: str) -> datetime.datetime | None:
    """UTC where no zone is given: times only decide here which of two ratings is the later one."""
    if not text:
        return None
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise BadFile(_at(line, f"{text!r} is no time such as 2026-03-01T12:30:00Z.")) from None
    return time if time.tzinfo else time.replace(tzinfo=datetime.UTC)


def _standing(rows: list[_Row]) -> list[_Row]:
    """The latest rating of each item and rater: a time stamp that is earlier than the standing
    one's does not count."""
    latest: dict[tuple[str, str], _Row] = {}
    for row in rows:
        before = latest.get((row.item, row.rater))
        if before is None or before.time is None or row.time is None or row.time >= before.time:
            latest[row.item, row.rater] = row
    return list(latest.values())


def _categories(rows: list[_Row], order: Sequence[str] | None) -> list[str]:
    if order is None:
        labels = {row.label for row in rows}
        numbers = {label: _number(label) for label in labels}
        if None not in numbers.values():
            return sorted(labels, key=lambda label: (numbers[label], label))
        return sorted(labels)
    known = set(order)
    if len(known) < len(order):
        twice = next(label for label in order if list(order).count(label) > 1)
        raise BadFile(f"The order names {twice!r} twice.")
    for row in rows:
        if row.label not in known:
            raise BadFile(_at(row.line, f"Unknown label {row.label!r}; one of {', '.join(order)}."))
    return list(order)


def _values(categories: list[str], values: Sequence[float] | None) -> list[float]:
    if values is not None:
        return list(values)
    numbers = [number for label in categories if (number := _number(label)) is not None]
    return (
        numbers
        if len(numbers) == len(categories)
        else [float(n) for n in range(1, len(categories) + 1)]
    )


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _at(line: int | None, text: str) -> str:
    return text if line is None else f"Line {line}: {text}"
