"""Random tables in the styles of people: each cell that is not empty is used or reported.

The same tables are written in every format of tables.
"""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import openpyxl
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from ratings.imports.interpretation import list_columns
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers import SOURCES, TABLE_SOURCES
from ratings.imports.records import ItemRecord, RatingRecord, ReaderProblem, SkippedRecord

LABELS = st.sampled_from(["yes", "no", "perhaps"])
RATER_NAMES = (
    lambda number: f"rater_{number + 1}",
    lambda number: f"R{number + 1}",
    lambda number: f"Rater{'ABCD'[number]}",
    lambda number: f"annotator {number + 1}",
    lambda number: f"label{number + 1}",
    lambda number: f"Coder {number + 1} ({['Ann', 'Ben', 'Cleo', 'Dan'][number]})",
)
RATER_COLUMNS = ("rater", "AnnotatorID", "observer", "worker_id")
OTHER_COLUMNS = ("majority_vote", "sex", "mean_score", "StartDate", "comment_of_the_lead")
MARKS = ("Total", "A study", "----", "End of the table")  # cells of lines that are no rows
Rows = list[list[str]]


class WrittenTable(NamedTuple):
    """A table as it is written, and its labels by (item, rater, question)."""

    rows: Rows
    labels: dict[tuple[str, str, str], str]
    layout: str
    has_lines: bool = False  # lines of a sheet that are no rows: titles, totals, rules


@st.composite
def tables(draw: Any) -> WrittenTable:
    """Return a table of any layout with other columns, titles, totals and notes."""
    layout = draw(st.sampled_from(["wide", "long", "crossed", "raters", "questions"]))
    n_items, n_raters = draw(st.integers(4, 12)), draw(st.integers(2, 4))
    name = draw(st.sampled_from(RATER_NAMES))
    items = [f"i{number}" for number in range(n_items)]
    raters = [name(number) for number in range(n_raters)]
    has_questions = layout in ("crossed", "questions")
    questions = ["clarity", "tone"] if has_questions else [""]
    if layout == "crossed":
        raters = [f"R{number + 1}" for number in range(n_raters)]
    labels = {
        (item, rater, question): draw(LABELS if layout != "wide" else LABELS | st.just(""))
        for item in items
        for rater in raters
        for question in questions
    }
    others = draw(st.lists(st.sampled_from(OTHER_COLUMNS), unique=True, max_size=3))
    if layout == "raters":
        others = []
    if layout == "questions":
        # A column of another name with a few values may be a third question: then the user decides.
        others = [other for other in others if other != "comment_of_the_lead"]
    item_name = draw(st.sampled_from(["id", "TextID", "patient", "case"]))
    rater_name = draw(st.sampled_from(RATER_COLUMNS))
    rows = _write_rows(layout, items, raters, labels, item_name, rater_name)
    if others:
        cells = st.sampled_from(["", "1", "2"])
        rows = [rows[0] + others, *(row + [draw(cells) for _ in others] for row in rows[1:])]
    has_lines = draw(st.booleans())
    if has_lines:
        rows = _add_lines(draw, rows, layout)
    return WrittenTable(rows, {k: text for k, text in labels.items() if text}, layout, has_lines)


def _add_lines(draw: Any, rows: Rows, layout: str) -> Rows:
    """Return the rows of a sheet with row numbers, titles, rules, totals or a note."""
    if draw(st.booleans()):
        rows = [["", *rows[0]], *([str(n), *row] for n, row in enumerate(rows[1:]))]
    if draw(st.booleans()):
        rows = [[*row, ""] for row in rows]
    if draw(st.booleans()):
        rows.insert(1, ["----"] * len(rows[0]))
    if draw(st.booleans()):
        rows = [["A study", *[""] * (len(rows[0]) - 1)], *rows]
    if layout == "wide" and draw(st.booleans()):
        rows.append(["Total", "12", *[""] * (len(rows[-1]) - 2)])
    elif layout == "wide" and draw(st.booleans()):
        rows.append(["End of the table", *[""] * (len(rows[-1]) - 1)])
    return rows


def _write_rows(
    layout: str,
    items: Sequence[str],
    raters: Sequence[str],
    labels: dict[tuple[str, str, str], str],
    item_name: str,
    rater_name: str,
) -> Rows:
    if layout == "wide":
        rows = [[item_name, *raters]]
        return rows + [[item, *(labels[item, rater, ""] for rater in raters)] for item in items]
    if layout == "crossed":
        places = [(rater, question) for question in ("clarity", "tone") for rater in raters]
        rows = [[item_name, *(f"{rater}_{question}" for rater, question in places)]]
        return rows + [[item, *(labels[item, *place] for place in places)] for item in items]
    if layout == "raters":
        rows = [[rater_name, *items]]
        return rows + [[rater, *(labels[item, rater, ""] for item in items)] for rater in raters]
    questions = ("label",) if layout == "long" else ("clarity", "tone")
    rows = [[item_name, rater_name, *questions]]
    for item in items:
        for rater in raters:
            keys = [""] if layout == "long" else questions
            rows.append([item, rater, *(labels[item, rater, key] for key in keys)])
    return rows


def write_csv(rows: Rows, path: Path, delimiter: str) -> None:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(rows)
    path.write_text(text.getvalue())


def write_xlsx(rows: Rows, path: Path, delimiter: str) -> None:
    workbook = openpyxl.Workbook()
    for row in rows:
        workbook.active.append([cell or None for cell in row])
    workbook.save(path)


def write_merged_xlsx(rows: Rows, path: Path, delimiter: str) -> None:
    """Write a workbook in which an item's rows have its ID once, in merged cells."""
    workbook = openpyxl.Workbook()
    first = 1
    for number, row in enumerate(rows, start=1):
        workbook.active.append([cell or None for cell in row])
        is_last = number == len(rows) or rows[number][0] != row[0]
        if is_last and rows[0][1] in RATER_COLUMNS and number > first:
            workbook.active.merge_cells(f"A{first}:A{number}")
        first = number + 1 if is_last else first
    workbook.save(path)


def write_nested_json(rows: Rows, path: Path, delimiter: str) -> None:
    """Write records with the answers of an item in a list."""
    if rows[0][1] not in RATER_COLUMNS:
        write_json(rows, path, delimiter)
        return
    answers: dict[str, list[dict[str, str]]] = {}
    for item, *cells in rows[1:]:
        answers.setdefault(item, []).append(dict(zip(rows[0][1:], cells, strict=True)))
    path.write_text(
        json.dumps([{rows[0][0]: item, "answers": group} for item, group in answers.items()])
    )


def write_json(rows: Rows, path: Path, delimiter: str) -> None:
    path.write_text(json.dumps([dict(zip(rows[0], row, strict=True)) for row in rows[1:]]))


def write_parquet(rows: Rows, path: Path, delimiter: str) -> None:
    columns = {name: [row[n] or None for row in rows[1:]] for n, name in enumerate(rows[0])}
    schema = pyarrow.schema([(name, pyarrow.string()) for name in columns])
    parquet.write_table(pyarrow.table(columns, schema=schema), path)


WRITERS: dict[str, Callable[[Rows, Path, str], None]] = {
    "csv": write_csv,
    "xlsx": write_xlsx,
    "json": write_json,
    "parquet": write_parquet,
}


# Other ways to write a table, after the name of their source.
STYLES = {**WRITERS, "xlsx, merged": write_merged_xlsx, "json, nested": write_nested_json}


def test_every_format_of_tables_has_a_writer() -> None:
    assert WRITERS.keys() == set(TABLE_SOURCES)


@pytest.mark.parametrize("style", STYLES)
@settings(max_examples=40, deadline=None)
@given(table=tables(), delimiter=st.sampled_from([",", ";", "\t", "|"]))
def test_no_cell_is_neither_used_nor_reported(
    style: str, table: WrittenTable, delimiter: str
) -> None:
    kind = style.partition(",")[0]
    if table.has_lines and kind in ("json", "parquet"):
        return  # records have no such lines
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table"
        STYLES[style](table.rows, path, delimiter)
        source = SOURCES[kind]
        mapping = ImportMapping(source=kind, encoding="utf-8-sig")
        head = source.read_head(path, mapping)
        assert head is not None
        guess = source.guess_columns(head, labels=set())
        mapping = ImportMapping(
            source=kind, encoding="utf-8-sig", delimiter=head.delimiter, **vars(guess)
        )
        mapping.reasons = {str(index): reason for index, reason in guess.reasons.items()}
        columns = list_columns(mapping, head)
        # Nothing is imported where a person has to decide: whether rows are raters.
        if mapping.doubt:
            assert table.layout == "raters", mapping.doubt
            return
        records = list(source.open_reader(path, mapping).iter_records())
    problems = [record for record in records if isinstance(record, ReaderProblem)]
    assert not problems, (problems[:2], table.rows[:4])
    reported_lines = {record.line for record in records if isinstance(record, SkippedRecord)}
    ratings = {
        (record.item, record.rater, record.question): record.label
        for record in records
        if isinstance(record, RatingRecord) and record.label
    }
    # Every label is a rating, and no other cell is one.
    assert ratings == table.labels, table.rows
    roles = {column.name: column.role for column in columns}
    assert len(roles) == len(head.names) and all(column.reason for column in columns)
    # Lines that are no ratings or items, such as titles and totals, are reported.
    for line, row in enumerate(table.rows, start=1):
        if not {row[0], row[1]}.isdisjoint(MARKS):
            assert line in reported_lines, row
    used = {"rater_column", "item_column", "label", "rater", "item", "ignored", "attribute"}
    assert set(roles.values()) <= used | {"comment"}
    assert not any(isinstance(record, ItemRecord) and record.body for record in records)


@st.composite
def count_tables(draw: Any) -> WrittenTable:
    """Return a table of counts: a row for each item, and a column for each label."""
    n_raters, n_items = draw(st.integers(2, 6)), draw(st.integers(4, 10))
    rows = [["subject", "yes", "no", "perhaps"]]
    labels: dict[tuple[str, str, str], str] = {}
    for item in range(n_items):
        answers = draw(st.lists(st.sampled_from(rows[0][1:]), min_size=n_raters, max_size=n_raters))
        rows.append([f"i{item}", *(str(answers.count(label)) for label in rows[0][1:])])
        ordered = sorted(answers, key=rows[0].index)
        labels |= {(f"i{item}", f"anonymous {n + 1}", ""): x for n, x in enumerate(ordered)}
    return WrittenTable(rows, labels, "counts")


@pytest.mark.parametrize("kind", WRITERS)
@settings(max_examples=15, deadline=None)
@given(table=count_tables())
def test_every_counted_rating_is_read(kind: str, table: WrittenTable) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table"
        WRITERS[kind](table.rows, path, ",")
        mapping = ImportMapping(source=kind, encoding="utf-8-sig", delimiter=",", layout="counts")
        mapping.columns = {"item": 0}
        records = list(SOURCES[kind].open_reader(path, mapping).iter_records())
    assert table.labels == {
        (record.item, record.rater, record.question): record.label
        for record in records
        if isinstance(record, RatingRecord)
    }
