"""Convert the cells of tables into keys, labels and texts."""

from __future__ import annotations

import datetime
import functools
import hashlib
import json
import re
from typing import Any

from django.utils.text import slugify

from core.web.tables import unescape_formula

MAX_QUESTION_KEY_LENGTH = 64
_INVALID_KEY_CHARS = re.compile(r"[^A-Za-z0-9_.-]+")


class InvalidCell(str):
    """A workbook's cell without a usable value: an error such as #REF!, or a formula alone ("").

    It is a problem only if the cell's column is imported.
    """


def clean_cell(cell: Any) -> str:
    """Return a cell as a key or label: stripped, without the apostrophe before a formula."""
    return unescape_formula(format_cell(cell).strip())


def format_cell(cell: Any) -> str:
    """Return a cell as text: 1.0 becomes 1, and a list of one element becomes that element."""
    if isinstance(cell, str):
        return cell
    if cell is None or isinstance(cell, bool):
        return {None: "", True: "true", False: "false"}[cell]
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, list) and len(cell) == 1:
        return format_cell(cell[0])
    if isinstance(cell, dict | list):
        return json.dumps(cell, ensure_ascii=False)
    return cell.isoformat() if isinstance(cell, datetime.datetime) else str(cell)


def convert_to_content(cell: Any) -> Any:
    """Return a cell as a value of an item's content.

    Texts lose the apostrophe before a formula, dates and times become ISO 8601 texts, and numbers,
    booleans and lists are not changed.
    """
    if isinstance(cell, str):
        return unescape_formula(cell)
    return cell.isoformat() if isinstance(cell, datetime.date | datetime.time) else cell


def is_empty_cell(cell: Any) -> bool:
    """Return whether a cell has no value; True for an InvalidCell, which is reported elsewhere."""
    if isinstance(cell, str):
        return isinstance(cell, InvalidCell) or not cell.strip()
    return cell is None or cell in ([], {})


def compute_item_key(body: dict[str, Any]) -> str:
    """Return a digest of the content as the key of an item that has none."""
    text = json.dumps(body, ensure_ascii=False, sort_keys=True)
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=8).hexdigest()


@functools.lru_cache(maxsize=1000)
def build_question_key(name: str) -> str:
    """Return a valid question key built from the name of a column or question."""
    key = _INVALID_KEY_CHARS.sub("_", name.strip()).strip("_.-")
    return (key or slugify(name) or "label")[:MAX_QUESTION_KEY_LENGTH]
