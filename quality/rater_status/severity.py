"""Direction of a scale: whether a harsh rater gives higher or lower categories."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Words of scales that grade faults: there, a harsh rater gives higher categories. On other scales,
# such as grades or relevance, a harsh rater gives lower ones.
_FAULT_WORDS = frozenset({
    "minor", "major", "mild", "severe", "critical", "fatal", "blocker", "serious", "trivial",
    "toxic", "offensive", "hateful", "abusive", "harmful", "unsafe", "dangerous", "malicious",
    "malignant", "suspicious", "leicht", "schwer", "gravierend", "kritisch", "léger", "légère",
    "grave", "leve", "critique", "crítico", "crítica", "轻微", "严重", "重大", "致命", "轻度",
    "重度", "有害",
})  # fmt: skip


def is_fault_scale(labels: Iterable[str]) -> bool:
    """Return whether a scale with these labels grades faults: one label has a word for a fault."""
    words = {word for label in labels for word in re.findall(r"\w+", label.casefold())}
    return not _FAULT_WORDS.isdisjoint(words)
