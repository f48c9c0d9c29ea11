"""In which order the labels of a file probably stand. The lead has the last word."""

from __future__ import annotations

import math
from collections.abc import Iterable

# Ladders of words, from lowest to highest; "|" parts them where a word has a blank.
ORDERS = (
    "none trivial minor moderate major severe critical blocker",
    "none mild moderate severe",
    "none neutral low medium high",
    "very low|low|moderate|medium|high|very high|critical",
    "very small|small|medium|large|very large",
    "never rarely sometimes often usually always",
    "strongly disagree|disagree|somewhat disagree|slightly disagree|neither|neutral"
    "|slightly agree|somewhat agree|agree|strongly agree",
    "very negative|negative|neutral|mixed|positive|very positive",
    "terrible|very bad|very poor|bad|poor|fair|ok|okay|average"
    "|good|very good|great|excellent|perfect",
    "much worse|worse|slightly worse|same|equal|slightly better|better|much better",
    "not at all|slightly|somewhat|moderately|very|extremely",
    "impossible|very unlikely|unlikely|possible|likely|very likely|certain",
    "beginner intermediate advanced expert",
    "info notice warning error fatal",
    "g pg pg-13 p r nc-17 x",
    "no maybe yes",
    "false true",
)


def number(label: str) -> float | None:
    """The label as a finite number, or None."""
    try:
        value = float(label)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in label else None


def guess_order(labels: Iterable[str]) -> tuple[list[str], str]:
    """(labels in their probable order, "ordinal" or "nominal"): numbers by value, known words by
    their ladder, the rest by alphabet. Two categories have no order to speak of."""
    found = sorted(labels)
    numbers = {label: number(label) for label in found}
    if found and all(value is not None for value in numbers.values()):
        ordered = sorted(found, key=lambda label: (numbers[label], label))
        return ordered, "ordinal" if len(found) > 2 else "nominal"
    for words in ORDERS:
        ladder = words.split("|") if "|" in words else words.split()
        ranks = {
            label: ladder.index(label.strip().casefold())
            for label in found
            if label.strip().casefold() in ladder
        }
        if len(ranks) == len(found) >= 2 and len(set(ranks.values())) == len(found):
            return sorted(found, key=ranks.__getitem__), "ordinal" if len(found) > 2 else "nominal"
    return sorted(found, key=lambda label: (label.casefold(), label)), "nominal"
