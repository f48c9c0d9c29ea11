"""Template tags for labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django import template

from metrics.views.common import number_formats
from projects.models import Item, Question
from quality.models import ItemLabel, LabelSource

register = template.Library()

MIN_SHOWN_SHARE = 0.005  # smaller shares would be shown as 0.00


@register.filter
def probabilities(distribution: Mapping[str, float]) -> str:
    """Format label probabilities as in "minor 0.71 · major 0.28", without negligible ones."""
    parts = []
    for label, share in distribution.items():
        if share >= MIN_SHOWN_SHARE:
            parts.append(f"{label} {number_formats.format_number(share, 2)}")
    return " · ".join(parts)


@register.simple_tag
def get_decided_items(question: Question, items: Iterable[Item]) -> set[int]:
    """Return the ids of those items whose label is a decision."""
    labels = ItemLabel.objects.filter(question=question, source=LabelSource.DECISION)
    decided_labels = labels.filter(item__in=[item.pk for item in items], code__isnull=False)
    return set(decided_labels.values_list("item_id", flat=True))
