"""Random tables in the styles of people: each cell that is not empty is used or reported."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from ratings.imports.interpretation import list_columns
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers import SOURCES
from ratings.imports.records import ItemRecord, RatingRecord, ReaderProblem, SkippedRecord

LABELS = st.sampled_from(["yes", "no", "perhaps"])
RATER_NAMES = (
    lambda number: f"rater_{number + 1}",
    lambda number: f"R{number + 1}",
    lambda number: f"Rater{'ABCD'[number]}",
    lambda number: f"annotator {number + 1}",
    lambda number: f"label{number + 1}",
)
OTHER_COLUMNS = ("majority_vote", "sex", "mean_score", "StartDate", "comment_of_the_lead")


class WrittenTable(NamedTuple):
    """A table as it is written, and its labels by (row, rater)."""

    rows: list[list[str]]
    labels: dict[tuple[int, str], str]
    is_wide: bool


@st.composite
def tables(draw: Any) -> WrittenTable:
    """Return a wide or long table with an item column, other columns, titles and totals."""
    n_items = draw(st.integers(4, 12))
    n_raters = draw(st.integers(2, 4))
    name = draw(st.sampled_from(RATER_NAMES))
    raters = [name(number) for number in range(n_raters)]
    others = draw(st.lists(st.sampled_from(OTHER_COLUMNS), unique=True, max_size=3))
    labels = {
        (item, rater): draw(LABELS | st.just("")) for item in range(n_items) for rater in raters
    }
    other_cells = {
        (item, other): draw(st.sampled_from(["", "1", "2"]))
        for item in range(n_items)
        for other in others
    }
    is_wide = draw(st.booleans())
    item_name = draw(st.sampled_from(["id", "TextID", "patient", "case"]))
    if is_wide:
        rows = [[item_name, *raters, *others]]
        for item in range(n_items):
            texts = [labels[item, rater] for rater in raters]
            rows.append([f"i{item}", *texts, *(other_cells[item, other] for other in others)])
    else:
        rater_name = draw(st.sampled_from(["rater", "AnnotatorID", "observer", "worker_id"]))
        rows = [[item_name, rater_name, draw(st.sampled_from(["label", "rating"])), *others]]
        for (item, rater), label in labels.items():
            cells = [other_cells[item, other] for other in others]
            rows.append([f"i{item}", rater, label, *cells])
    if draw(st.booleans()):
        rows = [["", *rows[0]], *([str(n), *row] for n, row in enumerate(rows[1:]))]
    if draw(st.booleans()):
        rows = [[*row, ""] for row in rows]
    if draw(st.booleans()):
        rows = [["A study", *[""] * (len(rows[0]) - 1)], *rows]
    if is_wide and draw(st.booleans()):
        rows.append(["Total", "12", *[""] * (len(rows[-1]) - 2)])
    return WrittenTable(rows, {key: text for key, text in labels.items() if text}, is_wide)


@settings(max_examples=150, deadline=None)
@given(tables(), st.sampled_from([",", ";", "\t"]))
def test_no_cell_is_neither_used_nor_reported(table: WrittenTable, delimiter: str) -> None:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(table.rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_text(text.getvalue())
        source = SOURCES["csv"]
        mapping = ImportMapping(encoding="utf-8-sig")
        head = source.read_head(path, mapping)
        assert head is not None
        guess = source.guess_columns(head, labels=set())
        mapping = ImportMapping(encoding="utf-8-sig", delimiter=head.delimiter, **vars(guess))
        mapping.reasons = {str(index): reason for index, reason in guess.reasons.items()}
        columns = list_columns(mapping, head)
        if mapping.doubt:
            return  # nothing is imported, and the message says what to decide
        records = list(source.open_reader(path, mapping).iter_records())
    reported_lines = {
        record.line for record in records if isinstance(record, SkippedRecord | ReaderProblem)
    }
    ratings = {
        (int(record.item.removeprefix("i")), record.rater): record.label
        for record in records
        if isinstance(record, RatingRecord) and record.label
    }
    # Every label is a rating, and no other cell is one.
    assert ratings == table.labels
    roles = {column.name: column.role for column in columns}
    assert len(roles) == len(head.names) and all(column.reason for column in columns)
    # Rows that are no ratings or items, such as titles and totals, are reported with their lines.
    for line, row in enumerate(table.rows, start=1):
        if row[0] in ("Total", "A study"):
            assert line in reported_lines
    used = {"rater_column", "label", "rater", "item", "ignored", "attribute", "comment"}
    assert set(roles.values()) <= used
    assert not any(isinstance(record, ItemRecord) and record.body for record in records)
