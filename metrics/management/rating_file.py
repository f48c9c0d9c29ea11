"""Read a file of ratings into arrays for the agreement library.

No project and no database is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from metrics.agreement.counts.tally import PatternCounts, count_patterns
from ratings.imports.interpretation import FileInterpretation, Repeats
from ratings.imports.problems import ProblemList, UnreadableFileError, format_error
from ratings.imports.uploads import open_unpacked
from ratings.imports.values.label_interpretation import LabelOptions, interpret_labels
from ratings.imports.values.label_notes import MAYBE_MISSING, LabelNote, format_command_note
from ratings.imports.values.label_order import OPTION, guess_order
from ratings.label_normalization import parse_number

from .rating_rows import (
    FileRow,
    FileRows,
    RatingFileError,
    TableOptions,
    list_repeats,
    raise_problems,
    read_file_rows,
    select_latest,
)

__all__ = ["RatingFile", "RatingFileError", "TableOptions", "read_rating_file"]

REQUIRED = ("item", "rater", "label")
MAX_EXAMPLES = 20  # repeats that are listed


@dataclass(frozen=True)
class RatingFile:
    """The ratings of a file as arrays (M,): item, rater, code, one rating for each item and rater.

    `categories` in order, with the basis of this order (`label_order`, or "option"); `repeats`:
    number of earlier ratings that were left out; `missing`: number of ratings without a label;
    `notes` on how the labels were read; `clusters`: the cluster of each item that has one.
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
    understood: FileInterpretation
    clusters: dict[str, str]

    @cached_property
    def patterns(self) -> PatternCounts:
        """The number of items with each vector of counts of the categories."""
        return count_patterns(self.item, self.code, len(self.categories))

    def get_cluster_numbers(self) -> npt.NDArray[np.int64]:
        """Return an integer (M,) that identifies the cluster of each rating's item.

        Items without a cluster have a number of their own.
        """
        names = sorted(set(self.clusters.values()))
        numbers = {name: -1 - number for number, name in enumerate(names)}
        by_item = [
            numbers[self.clusters[item]] if item in self.clusters else index
            for index, item in enumerate(self.items)
        ]
        return np.array(by_item, np.int64)[self.item]


def _read_unpacked(path: Path, question: str | None, table: TableOptions) -> FileRows:
    """Return the rows of a file; raise RatingFileError for one that cannot be read or has none."""
    if not path.is_file():
        raise RatingFileError("There is no such file.")
    try:
        with open_unpacked(path) as unpacked_path:
            file_rows = read_file_rows(unpacked_path, question, table)
    except UnreadableFileError as error:
        raise RatingFileError(format_error(error)) from None
    if not file_rows.rows:
        raise RatingFileError(
            "There is no rating in the file."
            if question is None
            else f"No row is of question {question!r}."
        )
    return file_rows


def read_rating_file(
    path: Path,
    *,
    order: Sequence[str] | None = None,
    values: Sequence[float] | None = None,
    question: str | None = None,
    labels: LabelOptions | None = None,
    table: TableOptions | None = None,
) -> RatingFile:
    """Read a file of any format that can be imported; one rating of each item and rater counts.

    It is the latest by time where all have one, else the last of the file. Labels are read as an
    import reads them, by `labels`. Categories are `order`, else the labels in the order that an
    import guesses; their values `values`, else the labels' numbers, else 1, 2, ... Raises
    RatingFileError.
    """
    file_rows = _read_unpacked(path, question, table or TableOptions())
    rows, notes = _read_labels(file_rows, labels or LabelOptions(), order or ())
    if not rows:
        raise RatingFileError("Every label in the file stands for a missing value.")
    categories, order_basis = _list_categories(rows, order)
    latest = select_latest(rows)
    items, raters = (sorted({getattr(row, part) for row in rows}) for part in REQUIRED[:2])
    item, rater, code = _encode(latest, items, raters, categories)
    return RatingFile(
        item,
        rater,
        code,
        items,
        raters,
        categories,
        _get_values(categories, values),
        repeats=len(rows) - len(latest),
        order_basis=order_basis,
        missing=len(file_rows.rows) - len(rows),
        notes=notes,
        understood=_complete_understood(file_rows, latest, categories),
        clusters=file_rows.clusters,
    )


def _complete_understood(
    file_rows: FileRows, latest: list[FileRow], categories: list[str]
) -> FileInterpretation:
    """Return what was understood, with the numbers of items, raters, ratings and repeats."""
    understood = file_rows.understood
    understood.counts = {
        "items": len({row.item for row in latest}),
        "raters": len({row.rater for row in latest}),
        "ratings": len(latest),
    }
    pairs = list(list_repeats(file_rows.rows))
    examples = [
        [first.item, first.rater, first.line, first.label, second.line, second.label]
        for first, second in pairs[:MAX_EXAMPLES]
    ]
    if pairs:
        understood.repeats = Repeats(len(pairs), examples)
    return understood


def _read_labels(
    file_rows: FileRows, options: LabelOptions, order: Sequence[str]
) -> tuple[list[FileRow], list[LabelNote]]:
    """Return the rows that have a label, with this label, and notes on the labels.

    Labels that `order` names are no codes for missing values. Raises RatingFileError for labels
    that may be one, because either number would be wrong in the other case.
    """
    guessed = file_rows.label_options
    options = replace(options, is_exact=guessed.is_exact, suspected=guessed.suspected)
    counts = Counter(row.label for row in file_rows.rows)
    reading = interpret_labels(counts, options, existing=order)
    for note in reading.undecided:
        if note.kind == MAYBE_MISSING:
            raise RatingFileError(format_command_note(note.to_json()))
    labelled_rows = [
        row if label == row.label else row._replace(label=label)
        for row in file_rows.rows
        if (label := reading.labels[row.label]) is not None
    ]
    return labelled_rows, reading.notes


def _encode(
    rows: Sequence[FileRow], items: list[str], raters: list[str], categories: list[str]
) -> np.ndarray:
    """Return the positions (3, M) of each row's item, rater and label in these lists."""
    item_index, rater_index, codes = (
        {name: index for index, name in enumerate(names)} for names in (items, raters, categories)
    )
    columns = [(item_index[row.item], rater_index[row.rater], codes[row.label]) for row in rows]
    return np.array(columns, np.int64).T


def _list_categories(rows: list[FileRow], order: Sequence[str] | None) -> tuple[list[str], str]:
    """Return the categories in their order, and what the order is based on."""
    if order is None:
        guess = guess_order({row.label for row in rows})
        categories, basis = guess.labels, guess.basis
    else:
        _validate_order(rows, order)
        categories, basis = list(order), OPTION
    if len(categories) < 2:
        raise RatingFileError(
            f"All ratings have the label {categories[0]!r}, and agreement needs at least two "
            "categories, not 1. Fill in empty cells if they are an answer, or name labels that "
            "nobody gave by --order."
        )
    return categories, basis


def _validate_order(rows: list[FileRow], order: Sequence[str]) -> None:
    allowed = set(order)
    if len(allowed) < len(order):
        duplicate = next(label for label in order if list(order).count(label) > 1)
        raise RatingFileError(f"The order names {duplicate!r} twice.")
    problems = ProblemList()
    for row in rows:
        if row.label not in allowed:
            problems.add("label_unknown", row.line, value=row.label, allowed=", ".join(order))
    raise_problems(problems)


def _get_values(categories: list[str], values: Sequence[float] | None) -> list[float]:
    if values is not None:
        return list(values)
    numbers = [number for label in categories if (number := parse_number(label)) is not None]
    return (
        numbers
        if len(numbers) == len(categories)
        else [float(n) for n in range(1, len(categories) + 1)]
    )
