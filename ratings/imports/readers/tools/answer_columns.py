"""Find the columns of a tool's table that are answers, where their names do not show it.

What several raters of an item say differently is an answer; what is the same in all rows of an item
belongs to the item.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable

from ratings.imports.readers.tables.cells import is_empty_cell

from .base import Fields, to_text

SAMPLE_RECORDS = 20_000
MAX_ANSWERS = 50  # different values; a column with more is a text


def find_answer_columns(
    records: Iterable[tuple[int, Fields]], *, item_field: str, candidates: Collection[str]
) -> list[str]:
    """Return the candidates that are answers, in their order.

    These are the columns that differ between records of the same item; without any, the columns
    with few different values.
    """
    first_values: dict[str, dict[str, str]] = {name: {} for name in candidates}
    values: dict[str, set[str]] = {name: set() for name in candidates}
    differing: set[str] = set()
    items: set[str] = set()
    for _line, record in itertools.islice(records, SAMPLE_RECORDS):
        item = to_text(record.get(item_field))
        items.add(item)
        for name in candidates:
            value = record.get(name)
            if is_empty_cell(value):
                continue
            text = to_text(value)
            if len(values[name]) <= MAX_ANSWERS:
                values[name].add(text)
            if first_values[name].setdefault(item, text) != text:
                differing.add(name)
    answers = [name for name in candidates if name in differing]
    if answers:
        return answers
    limit = min(MAX_ANSWERS, max(len(items) // 2, 2))
    return [name for name in candidates if 0 < len(values[name]) <= limit]
