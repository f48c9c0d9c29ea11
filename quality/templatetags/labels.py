"""Labels in templates."""

from __future__ import annotations

from collections.abc import Mapping

from django import template

from metrics.pages import figures

register = template.Library()

LEAST = 0.005  # less would be shown as 0.00


@register.filter
def probabilities(distribution: Mapping[str, float]) -> str:
    """Label -> probability in words: "minor 0.71 · major 0.28"; those next to nothing are left
    out."""
    shown = []
    for label, share in distribution.items():
        if share >= LEAST:
            shown.append(f"{label} {figures.figure(share, 2)}")
    return " · ".join(shown)
