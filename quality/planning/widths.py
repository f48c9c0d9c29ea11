"""How many more items until an interval is as narrow as wished, from the stored reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metrics.agreement import planning
from metrics.models import Reading, Span
from metrics.readings.stored import weights_of
from metrics.scale import QuestionScale, weighted
from projects.models import Question

HALF_WIDTHS = (0.1, 0.05, 0.03, 0.02)


@dataclass(frozen=True)
class Width:
    """``items`` in all, ``more`` beside those there are; None where nothing is known."""

    half_width: float
    items: int | None
    more: int | None


@dataclass(frozen=True)
class Outlook:
    """What a question's coefficient rests on, and how many items other widths take."""

    name: str
    value: dict[str, Any] | None
    widths: list[Width]


def outlook(question: Question, half_widths: Sequence[float] = HALF_WIDTHS) -> Outlook:
    """Of Fleiss' kappa under the weights of what is read first, and of the ratings of which that
    is told (Reading.told); items of the same kind are assumed."""
    name = weighted("fleiss_kappa", weights_of(question, QuestionScale.of(question)))
    whole = Reading.objects.filter(question=question, span=Span.ALL).first()
    value = whole.told.get(name) if whole else None
    se, n = (value.get("se"), value.get("n_items") or 0) if value else (None, 0)
    widths = []
    for half_width in half_widths:
        found = planning.items_needed(se, n, half_width)
        widths.append(Width(half_width, found.items, found.more))
    return Outlook(name, value, widths)
