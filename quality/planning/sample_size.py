"""How many more items until an interval is as narrow as wished, from the stored reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metrics.agreement import sample_size
from metrics.agreement.explain import bands
from metrics.agreement.headline import COHEN, FLEISS
from metrics.models import Reading, Span
from metrics.results.headline import variants
from metrics.results.headline.stored_weights import weights_of
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

    @property
    def rough(self) -> bool:
        """Whether the error itself rests on too few items to reckon with."""
        return bool(self.value) and (self.value or {}).get("n_items", 0) < bands.FEW_ITEMS


def outlook(question: Question, half_widths: Sequence[float] = HALF_WIDTHS) -> Outlook:
    """Of the kappa that is read first: Cohen's of two raters, or else Fleiss' under the same
    weights, of the ratings of which it is told (Reading.told). Items of the same kind are
    assumed."""
    name = weighted(FLEISS, weights_of(question, QuestionScale.of(question)))
    whole = Reading.objects.filter(question=question, span=Span.ALL).first()
    value = whole.told.get(name) if whole else None
    first = variants.of_all(whole.headline) if whole else {}
    if first and first["name"].startswith(COHEN):
        name, value = first["name"], first["value"]
    se, n = (value.get("se"), value.get("n_items") or 0) if value else (None, 0)
    widths = []
    for half_width in half_widths:
        found = sample_size.items_needed(se, n, half_width)
        widths.append(Width(half_width, found.items, found.more))
    return Outlook(name, value, widths)
