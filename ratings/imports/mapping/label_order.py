"""Guesses of the order that the labels of a file have on their scale.

The lead confirms or changes the guess.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

# Known scales, from lowest to highest, separated by "|" where a label contains a space.
KNOWN_SCALES = (
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


def parse_number(label: str) -> float | None:
    """Return the label as a finite number, or None."""
    try:
        value = float(label)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in label else None


def guess_order(labels: Iterable[str]) -> tuple[list[str], str]:
    """Return (labels in their probable order, "ordinal" or "nominal").

    Numbers are ordered by value, labels of a known scale by that scale, all others alphabetically.
    One or two categories are nominal, because they have no meaningful order.
    """
    unordered = sorted(labels)
    numbers = {label: parse_number(label) for label in unordered}
    if unordered and all(value is not None for value in numbers.values()):
        ordered = sorted(unordered, key=lambda label: (numbers[label], label))
        return ordered, "ordinal" if len(unordered) > 2 else "nominal"
    for scale in KNOWN_SCALES:
        scale_labels = scale.split("|") if "|" in scale else scale.split()
        ranks = {
            label: scale_labels.index(label.strip().casefold())
            for label in unordered
            if label.strip().casefold() in scale_labels
        }
        if len(ranks) == len(unordered) >= 2 and len(set(ranks.values())) == len(unordered):
            return sorted(unordered, key=ranks.__getitem__), "ordinal" if len(
                unordered
            ) > 2 else "nominal"
    return sorted(unordered, key=lambda label: (label.casefold(), label)), "nominal"
