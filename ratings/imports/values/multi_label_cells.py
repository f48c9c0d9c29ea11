"""Cells that hold several labels at once: joy|love, ["joy", "love"], joy; love."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Collection

SEPARATORS = ("|", ";", "\n", ",", "/", "+", "&")  # in the order in which they are tried
# A comma and a semicolon also stand inside of sentences, so every part must be a label elsewhere,
# or the same parts stand in another order.
CERTAIN_SEPARATORS = ("|",)
# These also join the words of one label, so that the same parts must stand in another order.
WEAK_SEPARATORS = ("/", "+", "&")
MAX_LABEL_LENGTH = 500  # characters; a longer text is no list of labels


def split_labels(labels: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the parts of each label that is a list of labels, sorted and each once.

    ``labels`` are all labels of one question, because a separator may also be part of a label. A
    list of one label has one part, an empty list none.
    """
    parts: dict[str, tuple[str, ...]] = {}
    for label in labels:
        elements = _parse_list(label) if label[:1] in ("[", "{", "(") else None
        if elements is not None:
            parts[label] = elements
    unparsed = [label for label in labels if label not in parts]
    for separator in SEPARATORS:
        lists = _split_by(separator, unparsed, [*parts.values()])
        if lists:
            return parts | lists
    return parts


def join_labels(parts: Collection[str]) -> str:
    """Return the text of a set of labels: equal for the same labels in any order."""
    return "|".join(parts)


def _parse_list(text: str) -> tuple[str, ...] | None:
    """Return the elements of a JSON or Python list of texts or numbers, or None."""
    if len(text) > MAX_LABEL_LENGTH:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return None
    if not isinstance(value, list | tuple | set):
        return None
    if any(isinstance(element, dict | list | tuple | set) for element in value):
        return None
    return _sort_parts([str(element) for element in value])


def _split_by(
    separator: str, labels: Collection[str], lists: Collection[tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Return the parts of the labels with this separator; {} if it does not separate labels."""
    combined = {
        label: _sort_parts(label.split(separator))
        for label in labels
        if separator in label and len(label) <= MAX_LABEL_LENGTH
    }
    combined = {label: parts for label, parts in combined.items() if len(parts) > 1}
    if not combined:
        return {}
    single = {label.strip() for label in labels if label not in combined}
    single.update(part for parts in lists for part in parts)
    uses = Counter(part for parts in set(combined.values()) for part in parts)
    recurring = {part for part in uses if part in single or uses[part] > 1}
    # The same parts in another order are no sentence.
    orders = {tuple(map(str.strip, label.split(separator))) for label in combined}
    if separator in CERTAIN_SEPARATORS or len(orders) > len(set(combined.values())):
        return combined if recurring else {}
    is_list = recurring == set(uses) and separator not in WEAK_SEPARATORS
    return combined if is_list else {}


def _sort_parts(parts: Collection[str]) -> tuple[str, ...]:
    return tuple(sorted({part.strip() for part in parts} - {""}))
