"""The list of items as CSV."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

from core.web import tables
from metrics.question_scale import QuestionScale
from projects.models import Item, Question
from projects.services import gold
from ratings.exports.rating_files import format_cell
from ratings.items import item_search
from ratings.items.item_search import ItemFilters

from .item_rows import ItemRow, build_rows


def iter_csv(
    question: Question,
    scale: QuestionScale,
    item_filters: ItemFilters,
    *,
    weights: str,
    with_gold: bool,
) -> Iterator[bytes]:
    """Yield the CSV file of the matching items in chunks of bytes, one line for each item.

    ``weights``: of the disagreement; ``with_gold``: whether there is a column of gold answers.
    """
    names = ["item", "content", "attributes", "state", "version", "ratings", "disagreement"]
    names += [f"n: {label}" for label in scale.labels] + (["gold"] if with_gold else [])
    yield _format_line(names)
    labels = {category.code: category.label for category in question.categories.all()}
    items = item_search.iter_all_matches(question.project, item_filters)
    while chunk := list(itertools.islice(items, item_search.ITEMS_PER_READ)):
        answers = {}
        if with_gold:
            for gold_answer in gold.get_gold_in_force(question, [item.pk for item in chunk]):
                answers[gold_answer.item_id] = gold.format_answer(gold_answer.answer, labels)
        lines = []
        for row in build_rows(question, chunk, scale, weights):
            cells = _build_cells(row, scale)
            if with_gold:
                cells.append(_format_value(answers.get(row.item.pk, "")))
            lines.append(_format_line(cells))
        yield b"".join(lines)


def _build_cells(row: ItemRow, scale: QuestionScale) -> list[str]:
    item, counts = row.item, dict(row.counts)
    body = item.body
    is_text = isinstance(body, dict) and set(body) == {"text"}
    return [
        item.key,
        body["text"] if is_text else _format_value(body or ""),
        _format_value(item.attributes or ""),
        get_item_state(item),
        str(item.version),
        str(row.n_ratings),
        "" if row.disagreement is None else repr(tables.remove_rounding_error(row.disagreement)),
        *(str(counts.get(label, 0)) for label in scale.labels),
    ]


def get_item_state(item: Item) -> str:
    if item.withdrawn_at is not None:
        return "withdrawn"
    return "active" if item.has_content else "empty"


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _format_line(cells: Sequence[str]) -> bytes:
    return (",".join(map(format_cell, cells)) + "\r\n").encode()
