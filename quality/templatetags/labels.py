"""Labels in templates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django import template

from metrics.views.common import number_formats
from projects.models import Item, Question
from quality.models import ItemLabel, Source

register = template.Library()

LEAST = 0.005  # less would be shown as 0.00


@register.filter
def probabilities(distribution: Mapping[str, float]) -> str:
    """Label -> probability in words: "minor 0.71 · major 0.28"; those next to nothing are left
    out."""
    shown = []
    for label, share in distribution.items():
        if share >= LEAST:
            shown.append(f"{label} {number_formats.figure(share, 2)}")
    return " · ".join(shown)


@register.simple_tag
def decided(question: Question, items: Iterable[Item]) -> set[int]:
    """Ids of those of a page's items whose label somebody decided."""
    labels = ItemLabel.objects.filter(question=question, source=Source.DECISION)
    found = labels.filter(item__in=[item.pk for item in items], code__isnull=False)
    return set(found.values_list("item_id", flat=True))
