"""Parse the lines of a table (CSV, workbook, JSON records) into items and ratings.

In the long layout, a row is a rating, or a label with the number of raters who gave it. In the wide
layout, a row is an item, and there is a column for each rater. Counts: a row is an item, and there
is a column with the number of ratings of each label. Crossed: the labels of one rater are in the
rows, those of the other in the columns. Combinations: a row is all items with the same labels.
Raters: a row is a rater, and there is a column for each item. Items: a row is an item without
ratings.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from core.web.tables import unescape_formula
from projects.models import Rater
from ratings.imports.decoding.table_times import parse_table_time
from ratings.imports.mapping.import_mapping import KEY_JOINT, ImportMapping
from ratings.imports.mapping.name_tests import (
    CONTENT_ROLES,
    is_aggregate_rater_name,
    is_model_column_name,
    validate_column_names,
)
from ratings.imports.mapping.rater_columns import get_item_name
from ratings.imports.problems import UnreadableFileError
from ratings.imports.records import (
    GoldRecord,
    ItemRecord,
    RaterRecord,
    RatingRecord,
    ReaderProblem,
    Record,
    RecordTime,
    SkippedRecord,
)
from ratings.imports.staging.key_and_label_ids import find_text_problem

from .cells import (
    InvalidCell,
    build_question_key,
    clean_cell,
    compute_item_key,
    convert_to_content,
    format_cell,
    is_empty_cell,
)
from .table_end import TableLine
from .tables_of_counts import CombinationRows, CountedLabels, CrossedRows, iter_count_ratings

MAX_RATER_KEY_LENGTH = Rater._meta.get_field("key").max_length or 0
Cells = Sequence[Any]  # texts; in JSON and workbooks also numbers, booleans and lists


class TableParser:
    """Parses the lines of a table into records."""

    def __init__(self, lines: Iterable[TableLine], mapping: ImportMapping) -> None:
        self.lines = iter(lines)
        self.mapping = mapping
        self.columns = mapping.columns
        self.column_names: list[str] = []
        self.header_line = 1
        self.n_complete_rows = 0
        self.zone = ZoneInfo(mapping.zone or mapping.time_zone)
        self.known_models: set[str] = set()  # keys of raters already yielded as models
        self.content = [
            (role, self.columns[role]) for role in CONTENT_ROLES if role in self.columns
        ]

    def read_header(self) -> dict[str, str]:
        """Read the header and return role -> column name. Raises UnreadableFileError."""
        self.header_line, cells = next(self.lines, (1, ()))
        if not cells:
            raise UnreadableFileError("empty")
        self.column_names = validate_column_names(
            [format_cell(cell) for cell in cells], self.header_line
        )
        name_by_role = {
            role: self.column_names[index]
            for role, index in self.columns.items()
            if index < len(self.column_names)
        }
        if is_model_column_name(name_by_role.get("rater", "")):
            self.columns = {"model": self.columns["rater"], **self.columns}
        return name_by_role

    def iter_records(self) -> Iterator[Record]:
        """Yield all records below the header.

        Raises UnreadableFileError where the file cannot be read further.
        """
        parts = [index for index in self.mapping.content_columns if index < len(self.column_names)]
        self.content += [(self.column_names[index], index) for index in parts]
        layouts = {
            "long": self._iter_long,
            "wide": self._iter_wide,
            "counts": self._iter_counts,
            "crossed": self._iter_crossed,
            "combinations": self._iter_combinations,
            "raters": self._iter_raters_in_rows,
            "items": self._iter_items,
        }
        yield from layouts[self.mapping.layout]()

    def _iter_complete_rows(self) -> Iterator[TableLine | ReaderProblem]:
        """Yield the rows with the right number of cells, and a problem for every other row."""
        n_columns = len(self.column_names)
        used = self._list_used_columns() if self.mapping.source == "xlsx" else []
        for line, cells in self.lines:
            if len(cells) == n_columns:
                self.n_complete_rows += 1
                yield from self._iter_invalid_cells(line, cells, used)
                yield line, cells
            else:
                values = {"found": len(cells), "wanted": n_columns}
                step = {"step": "few_cells"} if len(cells) < n_columns else {}
                yield ReaderProblem(line, "cells", "", {**values, **step})

    def _list_used_columns(self) -> list[int]:
        """Return the columns whose cells are imported."""
        used = self._get_described_columns() | set(self.mapping.label_columns)
        if self.mapping.layout not in ("long", "items"):
            used |= {index for index, _name in self._list_value_columns()}
        return sorted(index for index in used if index < len(self.column_names))

    def _get_described_columns(self) -> set[int]:
        """Return the columns with a role of their own."""
        return {
            *self.columns.values(),
            *self.mapping.key_columns,
            *self.mapping.content_columns,
            *self.mapping.attribute_columns,
        }

    def _iter_invalid_cells(
        self, line: int, cells: Cells, indexes: Sequence[int]
    ) -> Iterator[ReaderProblem]:
        """Yield a problem for each of the cells with an error, or a formula without a value."""
        for index in indexes:
            if isinstance(cell := cells[index], InvalidCell):
                kind = "xlsx_error" if cell else "xlsx_formula"
                yield ReaderProblem(line, kind, self.column_names[index], {"value": str(cell)})

    def _iter_long(self) -> Iterator[Record]:
        labels = self._list_label_columns()
        counted = (
            CountedLabels(self.columns, self.column_names) if "count" in self.columns else None
        )
        has_items = self._has_items()
        rater_index = self.columns.get("rater")
        # A rater column that the user names has no other rows than those of raters.
        skips_merged = (
            rater_index is not None and self.mapping.reasons.get(str(rater_index)) != "user"
        )
        for row in self._iter_complete_rows():
            if isinstance(row, ReaderProblem):
                yield row
                continue
            line, cells = row
            key = self._get_item_key(cells)
            if has_items:
                key = yield from self._parse_item(line, cells, key)
            if not key and "item" not in self.columns:
                continue  # already yielded as a skipped record
            separator = self.mapping.key_separator
            if separator and separator not in clean_cell(cells[self.columns["item"]]):
                yield SkippedRecord(line, "merged", key)
                continue
            if skips_merged and is_aggregate_rater_name(rater := self._get_rater_key(cells)):
                yield SkippedRecord(line, "merged", rater)
                continue
            if counted:
                yield from counted.iter_ratings(line, cells, key)
                continue
            for index, question in labels:
                if is_empty_cell(cells[index]) and (has_items or len(labels) > 1):
                    yield from [SkippedRecord(line, "no_label")] if key else []
                    continue
                yield from self._iter_new_model_rater(line, cells)
                yield self._build_rating(line, cells, key, label_index=index, question=question)

    def _list_label_columns(self) -> list[tuple[int, str]]:
        """Return (index, question key) of the label columns; the key of a single one is ""."""
        if len(self.mapping.label_columns) > 1:
            return [
                (index, build_question_key(self.column_names[index]))
                for index in self.mapping.label_columns
            ]
        return [(self.columns["label"], "")]

    def _get_item_key(self, cells: Cells) -> str:
        """Return the key of a row's item; "" if it has none."""
        item_index = self.columns.get("item")
        if self.mapping.rows_are_items:
            return str(self.n_complete_rows)
        key = clean_cell(cells[item_index]) if item_index is not None else ""
        if key and self.mapping.key_columns:
            parts = (clean_cell(cells[index]) for index in self.mapping.key_columns)
            return KEY_JOINT.join([key, *parts])
        if self.mapping.key_separator:
            return key.rpartition(self.mapping.key_separator)[0] or key
        return key

    def _get_rater_key(self, cells: Cells) -> str:
        """Return the key of the rater of a row."""
        rater_index = self.columns.get("rater")
        if self.mapping.key_separator and rater_index is None:
            key = clean_cell(cells[self.columns["item"]])
            return key.rpartition(self.mapping.key_separator)[2]
        return self.mapping.default_rater if rater_index is None else clean_cell(cells[rater_index])

    def _get_time(self, cells: Cells) -> RecordTime:
        """Return the time of a row, in the mapping's zone if it names none; None without one."""
        time_index = self.columns.get("rated_at")
        if time_index is None:
            return None
        text = clean_cell(cells[time_index])
        if not text:
            return None
        return parse_table_time(text, zone=self.zone, date_order=self.mapping.date_order)

    def _iter_new_model_rater(self, line: int, cells: Cells) -> Iterator[RaterRecord]:
        """Yield the rater of the row if it is a model that has not been yielded yet."""
        rater_index, model_index = self.columns.get("rater"), self.columns.get("model")
        if rater_index is None or model_index is None or is_empty_cell(cells[model_index]):
            return
        rater, version_index = clean_cell(cells[rater_index]), self.columns.get("prompt_version")
        if rater not in self.known_models:
            self.known_models.add(rater)
            version = "" if version_index is None else clean_cell(cells[version_index])
            yield RaterRecord(line, rater, "model", "", "", clean_cell(cells[model_index]), version)

    def _build_rating(
        self, line: int, cells: Cells, key: str, *, label_index: int, question: str
    ) -> RatingRecord:
        """Return the rating that a row of the long layout has in a label column."""
        get_index = self.columns.get
        comment_index, guidelines_index = get_index("comment"), get_index("guidelines")
        question_index, seconds_index = get_index("question"), get_index("seconds")
        return RatingRecord(
            line,
            key,
            self._get_rater_key(cells),
            question if question_index is None else clean_cell(cells[question_index]),
            clean_cell(cells[label_index]),
            self._get_time(cells),
            None if comment_index is None else unescape_formula(format_cell(cells[comment_index])),
            None if seconds_index is None else _parse_number(cells[seconds_index]),
            column=self.column_names[label_index] if question else "",
            guidelines=None if guidelines_index is None else clean_cell(cells[guidelines_index]),
        )

    def _list_value_columns(self) -> list[tuple[int, str]]:
        """Return (index, name) of the columns without a role; they have ratings or counts."""
        columns_with_meaning = self._get_described_columns() | set(self.mapping.excluded_columns)
        return [
            (i, name) for i, name in enumerate(self.column_names) if i not in columns_with_meaning
        ]

    def _iter_item_rows(self) -> Iterator[tuple[int, Cells, str, list[Record]]]:
        """Yield (line, cells, item key, records of the item) of each row.

        A row with a wrong number of cells has none; its key, and that of an empty item, is "".
        """
        has_items = self._has_items()
        for row in self._iter_complete_rows():
            if isinstance(row, ReaderProblem):
                yield row.line or 0, (), "", [row]
                continue
            line, cells = row
            key = self._get_item_key(cells)
            item_records: list[Record] = []
            if has_items:
                parsing = self._parse_item(line, cells, key)
                try:
                    while True:
                        item_records.append(next(parsing))
                except StopIteration as end:
                    key = end.value
            yield line, cells, key, item_records

    def _iter_wide(self) -> Iterator[Record]:
        rater_columns = []
        for index, name in self._list_value_columns():
            rater, question = self.mapping.value_columns.get(str(index), (name, ""))
            rater = clean_cell(rater)
            yield RaterRecord(self.header_line, rater, column=name)
            # A rater with an invalid name is one problem, not one in every row.
            if not find_text_problem(rater, MAX_RATER_KEY_LENGTH):
                question_key = build_question_key(question) if question else ""
                rater_columns.append((index, rater, question_key, name))
        for line, cells, key, item_records in self._iter_item_rows():
            yield from item_records
            has_label = False
            for index, rater, question, name in rater_columns if cells else ():
                if not is_empty_cell(cells[index]):
                    has_label = True
                    label = clean_cell(cells[index])
                    yield RatingRecord(line, key, rater, question, label, column=name)
            if cells and not has_label:
                yield SkippedRecord(line, "no_label" if item_records else "no_label_row")

    def _iter_counts(self) -> Iterator[Record]:
        """Yield ratings of anonymous raters, numbered from 1 in every row."""
        columns = self._list_value_columns()
        for line, cells, key, item_records in self._iter_item_rows():
            yield from item_records
            yield from iter_count_ratings(line, cells, key, columns) if cells else ()

    def _iter_crossed(self) -> Iterator[Record]:
        """Yield the ratings of two raters, whose labels are in the rows and in the columns."""
        label_index = self.columns.get("label", 0)
        columns = [column for column in self._list_value_columns() if column[0] != label_index]
        crossed = CrossedRows(self.column_names, label_index, columns)
        for row in self._iter_complete_rows():
            yield from [row] if isinstance(row, ReaderProblem) else crossed.iter_ratings(*row)

    def _iter_combinations(self) -> Iterator[Record]:
        """Yield the ratings of rows that stand for several items each."""
        index = self.columns["count"]
        rows = CombinationRows((index, self.column_names[index]), self._list_value_columns())
        for row in self._iter_complete_rows():
            yield from [row] if isinstance(row, ReaderProblem) else rows.iter_ratings(*row)

    def _iter_raters_in_rows(self) -> Iterator[Record]:
        columns = []
        for index, name in self._list_value_columns():
            item, question = self.mapping.value_columns.get(str(index), (get_item_name(name), ""))
            question_key = build_question_key(question) if question else ""
            columns.append((index, item, question_key, name))
        for row in self._iter_complete_rows():
            if isinstance(row, ReaderProblem):
                yield row
                continue
            line, cells = row
            rater, rated_at = self._get_rater_key(cells), self._get_time(cells)
            if self.mapping.rows_are_items:
                rater = f"respondent {self.n_complete_rows}"
            for index, item, question, name in columns:
                if not is_empty_cell(cells[index]):
                    label = clean_cell(cells[index])
                    yield RatingRecord(line, item, rater, question, label, rated_at, column=name)

    def _iter_items(self) -> Iterator[Record]:
        for row in self._iter_complete_rows():
            if isinstance(row, ReaderProblem):
                yield row
                continue
            line, cells = row
            yield from self._parse_item(line, cells, self._get_item_key(cells))

    def _has_items(self) -> bool:
        """Return whether the table has content, attributes or gold answers of items."""
        return bool(self.content or self.mapping.attribute_columns or "gold" in self.columns)

    def _parse_item(self, line: int, cells: Cells, key: str) -> Generator[Record, None, str]:
        """Yield the records of a row's item, and return the item's key.

        It is empty if the row has no key and no content (it is skipped), or an empty item cell.
        """
        body = {}
        for name, index in self.content:
            if not is_empty_cell(cells[index]):
                body[name] = convert_to_content(cells[index])
        attributes = {}
        for index in self.mapping.attribute_columns:
            if not is_empty_cell(cells[index]):
                attributes[self.column_names[index]] = convert_to_content(cells[index])
        if not key and "item" not in self.columns and body and not self.mapping.rows_are_items:
            key = compute_item_key(body)
        if not key and not ("item" in self.columns and body):
            yield SkippedRecord(line, "no_content")
            return ""
        yield ItemRecord(line, key, body or None, attributes or None)
        gold_index = self.columns.get("gold")
        if gold_index is not None and not is_empty_cell(cells[gold_index]):
            yield GoldRecord(line, key, "", clean_cell(cells[gold_index]))
        return key

    def find_final_problem(self, labels: Iterable[str], *, is_usable: bool) -> ReaderProblem | None:
        """Return a problem that only the end of the table reveals, or None.

        ``labels`` are the labels found; ``is_usable``: some record can be imported.
        """
        label_index = self.columns.get("label")
        if label_index is not None and self.column_names and self.mapping.layout == "long":
            name = clean_cell(self.column_names[label_index])
            if name in set(labels):
                return ReaderProblem(self.header_line, "no_names", "", {"name": name})
        return None if is_usable else ReaderProblem(self.header_line, "only_names")


def _parse_number(cell: Any) -> float | None:
    try:
        return float(format_cell(cell))
    except ValueError:
        return None
