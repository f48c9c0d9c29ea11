"""The items and ratings of a table with a line of names: what CSV files are, sheets of a workbook,
and lists of JSON records.

Long: a row a rating. Wide: a row an item, and a column for each rater. Items: a row an item.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any

from projects.services.raters import fields
from ratings.files.formula_escaping import unguard
from ratings.imports.mapping.columns import CONTENT, checked_names
from ratings.imports.mapping.import_mapping import Mapping
from ratings.imports.problems import Unreadable
from ratings.imports.records import Gold, Item, Judgement, LeftOut, Rater, Record, Wrong
from ratings.imports.staging.key_ids import text_trouble

Cells = Sequence[Any]  # texts; from JSON and workbooks numbers, truth values and lists, too
Line = tuple[int, Cells]


def clean(cell: Any) -> str:
    """A key or label as meant: without blanks around it and without the guard of an export."""
    return unguard(text_of(cell).strip())


def text_of(cell: Any) -> str:
    """A cell as text: 1.0 from a workbook is the label 1, a list of one is its element."""
    if isinstance(cell, str):
        return cell
    if cell is None or isinstance(cell, bool):
        return {None: "", True: "true", False: "false"}[cell]
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, list) and len(cell) == 1:
        return text_of(cell[0])
    if isinstance(cell, dict | list):
        return json.dumps(cell, ensure_ascii=False)
    return cell.isoformat() if isinstance(cell, datetime.datetime) else str(cell)


def is_empty(cell: Any) -> bool:
    return cell is None or cell in ("", [], {}) or (isinstance(cell, str) and not cell.strip())


def key_of(body: dict[str, Any]) -> str:
    """The key of an item that has none: made from its content, so that the same one is the same."""
    text = json.dumps(body, ensure_ascii=False, sort_keys=True)
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=8).hexdigest()


class Table:
    """The records of a table's lines."""

    def __init__(self, lines: Iterable[Line], mapping: Mapping) -> None:
        self.lines = iter(lines)
        self.mapping = mapping
        self.columns = mapping.columns
        self.names: list[str] = []
        self.names_line = 1
        self.rows = 0  # with all their cells
        self.models: set[str] = set()  # raters that were told of
        self.content = [(role, self.columns[role]) for role in CONTENT if role in self.columns]

    def read_names(self) -> dict[str, str]:
        """What the table calls its roles. Raises Unreadable."""
        self.names_line, cells = next(self.lines, (1, ()))
        if not cells:
            raise Unreadable("empty")
        self.names = checked_names([text_of(cell) for cell in cells], self.names_line)
        return {
            role: self.names[place]
            for role, place in self.columns.items()
            if place < len(self.names)
        }

    def records(self) -> Iterator[Record]:
        """Everything below the names. Raises Unreadable where the file cannot be read further."""
        parts = [place for place in self.mapping.parts if place < len(self.names)]
        self.content += [(self.names[place], place) for place in parts]
        if self.mapping.layout == "long":
            yield from self._long()
        elif self.mapping.layout == "wide":
            yield from self._wide()
        else:
            yield from self._items()

    def _complete(self) -> Iterator[Line | Wrong]:
        wanted = len(self.names)
        for line, cells in self.lines:
            if len(cells) == wanted:
                self.rows += 1
                yield line, cells
            else:
                yield Wrong(line, "cells", "", {"found": len(cells), "wanted": wanted})

    def _long(self) -> Iterator[Record]:
        label_at, item_at = self.columns["label"], self.columns.get("item")
        brings_items = self._brings_items()
        for row in self._complete():
            if isinstance(row, Wrong):
                yield row
                continue
            line, cells = row
            key = clean(cells[item_at]) if item_at is not None else ""
            if brings_items:
                key = yield from self._item(line, cells, key)
            if not key and item_at is None:
                continue  # told as left out
            if brings_items and is_empty(cells[label_at]):
                yield from [LeftOut(line, "no_label")] if key else []
            else:
                yield from self._model(line, cells)
                yield self._judgement(line, cells, key)

    def _model(self, line: int, cells: Cells) -> Iterator[Rater]:
        """The rater of the line, where it is a model of which no line has told yet."""
        rater_at, model_at = self.columns.get("rater"), self.columns.get("model")
        if rater_at is None or model_at is None or is_empty(cells[model_at]):
            return
        rater, version_at = clean(cells[rater_at]), self.columns.get("prompt_version")
        if rater not in self.models:
            self.models.add(rater)
            version = "" if version_at is None else clean(cells[version_at])
            model = clean(cells[model_at])
            yield Rater(line, rater, "model", model=model, prompt_version=version)

    def _judgement(self, line: int, cells: Cells, key: str) -> Judgement:
        place = self.columns.get
        rater_at, time_at, comment_at = place("rater"), place("rated_at"), place("comment")
        question_at, seconds_at = place("question"), place("seconds")
        guidelines_at = place("guidelines")
        return Judgement(
            line,
            key,
            self.mapping.one_rater if rater_at is None else clean(cells[rater_at]),
            "" if question_at is None else clean(cells[question_at]),
            clean(cells[self.columns["label"]]),
            None if time_at is None else clean(cells[time_at]),
            None if comment_at is None else unguard(text_of(cells[comment_at])),
            None if seconds_at is None else _number(cells[seconds_at]),
            guidelines=None if guidelines_at is None else clean(cells[guidelines_at]),
        )

    def _wide(self) -> Iterator[Record]:
        columns = self.columns
        item_at = columns.get("item")
        used = {*columns.values(), *self.mapping.parts, *self.mapping.attributes}
        left_out = used | set(self.mapping.leave_out)
        rated_by = []
        for place, name in enumerate(self.names):
            if place not in left_out:
                rater = clean(name)
                yield Rater(self.names_line, rater, column=name)
                # one whose name is wrong is a problem once, not in every line
                if not text_trouble(rater, fields.LONGEST_KEY):
                    rated_by.append((place, rater, name))
        brings_items = self._brings_items()
        for row in self._complete():
            if isinstance(row, Wrong):
                yield row
                continue
            line, cells = row
            key = clean(cells[item_at]) if item_at is not None else ""
            if brings_items:
                key = yield from self._item(line, cells, key)
            for place, rater, name in rated_by:
                if not is_empty(cells[place]):
                    yield Judgement(line, key, rater, "", clean(cells[place]), column=name)

    def _items(self) -> Iterator[Record]:
        item_at = self.columns.get("item")
        for row in self._complete():
            if isinstance(row, Wrong):
                yield row
                continue
            line, cells = row
            key = clean(cells[item_at]) if item_at is not None else ""
            yield from self._item(line, cells, key)

    def _brings_items(self) -> bool:
        return bool(self.content or self.mapping.attributes or "gold" in self.columns)

    def _item(self, line: int, cells: Cells, key: str) -> Generator[Record, None, str]:
        """Yields what the line says of its item, and returns the item's key: empty where the line
        has neither key nor content, which is left out."""
        body = {}
        for name, place in self.content:
            if not is_empty(cells[place]):
                body[name] = self._content(cells[place])
        attributes = {}
        for place in self.mapping.attributes:
            if not is_empty(cells[place]):
                attributes[self.names[place]] = self._content(cells[place])
        if not key and "item" not in self.columns and body:
            key = key_of(body)
        if not key and not ("item" in self.columns and body):
            yield LeftOut(line, "no_content")
            return ""
        yield Item(line, key, body or None, attributes or None)
        gold_at = self.columns.get("gold")
        if gold_at is not None and not is_empty(cells[gold_at]):
            yield Gold(line, key, "", clean(cells[gold_at]))
        return key

    def _content(self, cell: Any) -> Any:
        if isinstance(cell, str):
            return unguard(cell)
        return cell.isoformat() if isinstance(cell, datetime.date | datetime.time) else cell

    def trouble(self, labels: Iterable[str], *, usable: bool) -> Wrong | None:
        """What can be said only after the last line; ``labels`` are those that were found."""
        label_at = self.columns.get("label")
        if label_at is not None and self.names and self.mapping.layout == "long":
            name = clean(self.names[label_at])
            if name in set(labels):
                return Wrong(self.names_line, "no_names", "", {"name": name})
        return None if usable else Wrong(self.names_line, "only_names")


def _number(cell: Any) -> float | None:
    try:
        return float(text_of(cell))
    except ValueError:
        return None
