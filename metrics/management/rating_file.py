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
from ratings.imports.decoding.sample import open_unpacked
from ratings.imports.interpretation import FileInterpretation, Repeats
from ratings.imports.problems import ProblemList, UnreadableFileError, format_error
from ratings.imports.values.label_interpretation import LabelOptions, interpret_labels, quote_labels
from ratings.imports.values.label_notes import (
    NO_ORDER,
    OPEN_SCALE,
    SEEM_ORDERED,
    LabelNote,
    format_command_note,
)
from ratings.imports.values.label_order import ALPHABET, OPTION, guess_order
from ratings.label_normalization import parse_number

from .file_rows import (
    FileRow,
    FileRows,
    RatingFileError,
    TableOptions,
    iter_repeats,
    raise_if_problems,
    read_file_rows,
    select_ratings,
)

__all__ = ["RatingFile", "RatingFileError", "TableOptions", "read_rating_file"]

REQUIRED = ("item", "rater", "label")
MAX_EXAMPLES = 20  # repeats that are listed


@dataclass(frozen=True)
class RatingFile:
    """The ratings of a file, one of each item and rater, as arrays (M,): item, rater and code.

    `items`, `raters` and `categories` are what the numbers in these arrays index; `order_basis`:
    what the order of the categories is based on (`label_order`, or "option"); `repeats`: number of
    repeated ratings that were left out; `missing`: number of ratings without a label; `notes` on
    how the labels were read; `clusters`: the cluster of each item that has one.
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
        """The patterns of the items: each vector of category counts, and how many items have it."""
        return count_patterns(self.item, self.code, len(self.categories))

    def list_order_notes(self, scale: str | None) -> list[LabelNote]:
        """Return a note where the order of the categories is in doubt, else an empty list.

        It is in doubt where the scale needs an order that is unknown, or where the labels seem
        ordered and the user chose no scale (``scale`` is None).
        """
        guess = guess_order(self.categories)
        kind = ""
        if len(self.categories) < 3 or (scale is None and guess.scale != "ordinal"):
            return []
        if scale is None:
            kind = OPEN_SCALE if guess.is_scale_open else SEEM_ORDERED
        elif scale != "nominal" and self.order_basis == ALPHABET:
            kind = NO_ORDER
        return [LabelNote(kind, {"labels": quote_labels(self.categories)})] if kind else []

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

    Labels are read as by an import with the decisions `labels`. The categories are `order`, or when
    None the file's labels in the order that an import guesses. Their values are `values`, or when
    None the labels' own numbers, or 1, 2, 3 and so on. question: the one to read, needed if the
    file has several; table: options of a table's columns. Raises RatingFileError if the file, its
    columns or its labels cannot be read as such.
    """
    table = table or TableOptions()
    file_rows = _read_rows_of_question(path, question, table)
    label_options = replace(
        labels or LabelOptions(),
        is_exact=file_rows.label_options.is_exact,
        suspected=file_rows.label_options.suspected,
    )
    rows, notes = _read_labels(file_rows.rows, label_options, order or ())
    categories, order_basis = _list_categories(rows, order)
    selected = _select_ratings(rows, table.duplicates, file_rows.understood)
    codes = {label: code for code, label in enumerate(categories)}
    items, raters = (
        {name: index for index, name in enumerate(sorted({getattr(row, part) for row in rows}))}
        for part in REQUIRED[:2]
    )
    columns = np.array(
        [(items[row.item], raters[row.rater], codes[row.label]) for row in selected], np.int64
    )
    numbers = _choose_category_values(categories, values)
    item, rater, code = columns.T
    return RatingFile(
        item,
        rater,
        code,
        list(items),
        list(raters),
        categories,
        numbers,
        repeats=len(rows) - len(selected),
        order_basis=order_basis,
        missing=len(file_rows.rows) - len(rows),
        notes=notes,
        understood=file_rows.understood,
        clusters=file_rows.clusters,
    )


def _read_rows_of_question(path: Path, question: str | None, table: TableOptions) -> FileRows:
    """Return the rows of a question, or of the only one if ``question`` is None.

    Raises RatingFileError if the file is missing, cannot be read or has no such ratings.
    """
    if not path.is_file():
        raise RatingFileError("There is no such file.")
    try:
        with open_unpacked(path) as unpacked_path:
            file_rows = read_file_rows(unpacked_path, question, table)
    except UnreadableFileError as error:
        raise RatingFileError(format_error(error)) from None
    if not file_rows.rows:
        left_out = file_rows.understood.format_left_out()
        raise RatingFileError(
            "\n".join(["There is no rating in the file.", *left_out])
            if question is None
            else f"No row is of question {question!r}."
        )
    return file_rows


def _select_ratings(
    rows: list[FileRow], duplicates: str, understood: FileInterpretation
) -> list[FileRow]:
    """Return one rating of each item and rater; store the repeats and counts in ``understood``.

    Raises RatingFileError if the user has to decide about repeats.
    """
    pairs = list(iter_repeats(rows))
    examples = [
        [first.item, first.rater, first.line, first.label, second.line, second.label]
        for first, second in pairs[:MAX_EXAMPLES]
    ]
    understood.repeats = Repeats(len(pairs), examples)
    if not duplicates and (message := understood.format_repeated_rows()):
        raise RatingFileError(message)
    selected = select_ratings(rows, duplicates)
    understood.counts = {
        "items": len({row.item for row in selected}),
        "raters": len({row.rater for row in selected}),
        "ratings": len(selected),
    }
    return selected


def _read_labels(
    rows: list[FileRow], options: LabelOptions, order: Sequence[str]
) -> tuple[list[FileRow], list[LabelNote]]:
    """Return the rows with a label, as interpreted, and notes on the labels.

    Labels named in `order` are never codes for missing values. Raises RatingFileError for labels
    that may be such codes, or variants of one label: the user has to decide; and without any label.
    """
    counts = Counter(row.label for row in rows)
    reading = interpret_labels(counts, options, existing=order)
    if reading.undecided:
        notes = [format_command_note(note.to_json()) for note in reading.undecided]
        raise RatingFileError("\n".join(notes))
    labelled_rows = [
        row if label == row.label else row._replace(label=label)
        for row in rows
        if (label := reading.labels[row.label]) is not None
    ]
    if not labelled_rows:
        raise RatingFileError("Every label in the file stands for a missing value.")
    return labelled_rows, reading.notes


def _list_categories(rows: list[FileRow], order: Sequence[str] | None) -> tuple[list[str], str]:
    """Return the categories in their order, and what the order is based on.

    Raises RatingFileError for fewer than two categories, a category named twice, or a label that
    ``order`` does not have.
    """
    if order is None:
        guess = guess_order({row.label for row in rows})
        return _require_two_categories(guess.labels), guess.basis
    allowed = set(order)
    if len(allowed) < len(order):
        duplicate = next(label for label in order if list(order).count(label) > 1)
        raise RatingFileError(f"The order names {duplicate!r} twice.")
    problems = ProblemList()
    for row in rows:
        if row.label not in allowed:
            problems.add("label_unknown", row.line, value=row.label, allowed=", ".join(order))
    raise_if_problems(problems)
    return _require_two_categories(list(order)), OPTION


def _require_two_categories(categories: list[str]) -> list[str]:
    """Return the categories. Raises RatingFileError for fewer than two."""
    if len(categories) < 2:
        raise RatingFileError(
            f"All ratings have the label {categories[0]!r}, and agreement needs at least two "
            "categories, not 1. Fill in empty cells if they are an answer, or name labels that "
            "nobody gave by --order."
        )
    return categories


def _choose_category_values(categories: list[str], values: Sequence[float] | None) -> list[float]:
    """Return the values that were given; else the labels' own numbers, or 1, 2, 3 and so on."""
    if values is not None:
        return list(values)
    numbers = [number for label in categories if (number := parse_number(label)) is not None]
    return (
        numbers
        if len(numbers) == len(categories)
        else [float(n) for n in range(1, len(categories) + 1)]
    )
