"""Outcome of an item's review: its final label, the decisions on it, and appeals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from projects.models import Item, Question
from quality.models import Appeal, Decision, ItemLabel

from . import second_opinions


@dataclass(frozen=True)
class ItemReview:
    """What was decided on an item; empty for a user who gives a second opinion on it, blind.

    ``decisions``: (decision, label), the label None where it was undone; ``label_name``: the
    category of ``label``, None where the label is tied.
    """

    label: ItemLabel | None = None
    label_name: str | None = None
    decisions: list[tuple[Decision, str | None]] = field(default_factory=list)
    appeals: list[Appeal] = field(default_factory=list)


def get_item_review(*, question: Question, item: Item, user: Any) -> ItemReview:
    """Return the outcome as far as the user may know it."""
    if second_opinions.is_second_opinion(question=question, item=item, by=user):
        return ItemReview()
    names: dict[int | None, str] = {row.code: row.label for row in question.categories.all()}
    label = ItemLabel.objects.filter(question=question, item=item).first()
    decisions = Decision.objects.filter(question=question, item=item).select_related("by")
    return ItemReview(
        label,
        names.get(label.code) if label else None,
        [(decision, names.get(decision.code)) for decision in decisions],
        list(Appeal.objects.filter(question=question, item=item).select_related("rater")),
    )
