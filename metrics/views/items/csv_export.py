"""The list of items as a file."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

from metrics.scale import QuestionScale
from projects.models import Item, Question
from projects.services.items import gold
from ratings.files.formula_escaping import guard
from ratings.items import item_search
from ratings.items.item_search import Wanted

from .item_rows import ItemRow, rows


def csv(
    question: Question, scale: QuestionScale, wanted: Wanted, *, weights: str, with_gold: bool
) -> Iterator[bytes]:
    """A line an item, some at a time."""
    names = ["item", "content", "attributes", "state", "version", "ratings", "disagreement"]
    names += [f"n: {label}" for label in scale.labels] + (["gold"] if with_gold else [])
    yield _line(names)
    labels = {category.code: category.label for category in question.categories.all()}
    items = item_search.every(question.project, wanted)
    while part := list(itertools.islice(items, item_search.READ_AT_ONCE)):
        answers = {}
        if with_gold:
            for one in gold.in_force(question, [item.pk for item in part]):
                answers[one.item_id] = gold.shown(one.answer, labels)
        lines = []
        for row in rows(question, part, scale, weights):
            cells = _cells(row, scale)
            if with_gold:
                cells.append(_as_text(answers.get(row.item.pk, "")))
            lines.append(_line(cells))
        yield b"".join(lines)


def _cells(row: ItemRow, scale: QuestionScale) -> list[str]:
    item, counts = row.item, dict(row.counts)
    body = item.body
    is_text = isinstance(body, dict) and set(body) == {"text"}
    return [
        item.key,
        body["text"] if is_text else _as_text(body or ""),
        _as_text(item.attributes or ""),
        state_of(item),
        str(item.version),
        str(row.n_ratings),
        "" if row.disagreement is None else repr(row.disagreement),
        *(str(counts.get(label, 0)) for label in scale.labels),
    ]


def state_of(item: Item) -> str:
    if item.withdrawn_at is not None:
        return "withdrawn"
    return "asked" if item.has_content else "waiting"


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _line(cells: Sequence[str]) -> bytes:
    """As RFC 4180 has it; no cell is run as a formula by a spreadsheet."""
    quoted = []
    for cell in cells:
        safe = guard(cell)
        if safe != cell or any(sign in safe for sign in ',"\r\n;\t') or safe != safe.strip():
            doubled = safe.replace('"', '""')
            safe = f'"{doubled}"'
        quoted.append(safe)
    return (",".join(quoted) + "\r\n").encode()
