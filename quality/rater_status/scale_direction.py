"""Direction of an ordered scale: whether harsh raters give its higher or its lower categories."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Words of labels that grade faults, or poor quality.
_BAD_WORDS = frozenset({
    "minor", "major", "mild", "severe", "critical", "fatal", "blocker", "serious", "trivial",
    "toxic", "offensive", "hateful", "abusive", "harmful", "unsafe", "dangerous", "malicious",
    "malignant", "suspicious", "bad", "worse", "worst", "poor", "terrible", "awful", "wrong",
    "incorrect", "irrelevant", "unacceptable", "reject", "fail", "failed", "unhelpful", "useless",
    "inadequate", "leicht", "schwer", "gravierend", "kritisch", "schlecht", "mangelhaft", "falsch",
    "léger", "légère", "grave", "leve", "critique", "mauvais", "crítico", "crítica", "malo",
    "轻微", "严重", "重大", "致命", "轻度", "重度", "有害", "差", "很差", "较差", "错误", "不合格",
})  # fmt: skip
# Words of labels that grade good quality.
_GOOD_WORDS = frozenset({
    "good", "better", "best", "great", "excellent", "perfect", "outstanding", "correct", "relevant",
    "acceptable", "accept", "pass", "passed", "helpful", "useful", "adequate", "gut", "perfekt",
    "ausgezeichnet", "richtig", "bon", "bueno", "excelente", "好", "良好", "很好", "较好", "优秀",
    "完美", "正确", "合格",
})  # fmt: skip
_NEGATIONS = frozenset({"not", "no", "never", "nicht", "kein", "pas", "non"})


def is_higher_harsher(labels: Iterable[str]) -> bool | None:
    """Return whether harsh raters give the higher categories; None if the labels do not show it.

    ``labels``: in declared order. Words for bad quality must lie, on average, on one side of the
    middle of the scale, and words for good quality on the other side.
    """
    words_of_labels = [set(re.findall(r"\w+", label.casefold())) for label in labels]
    middle = (len(words_of_labels) - 1) / 2
    balance = 0.0
    for position, words in enumerate(words_of_labels):
        if words & _NEGATIONS:
            continue
        sign = bool(words & _BAD_WORDS) - bool(words & _GOOD_WORDS)
        balance += sign * (position - middle)
    return balance > 0 if balance else None
