"""What pages of results say of answers that stand apart from the ratings."""

from __future__ import annotations

from django import template

from projects.models import Question
from quality.models import GoldState

register = template.Library()


@register.simple_tag
def gold_apart(question: Question) -> int:
    """How many answers to hidden gold are in no figure of agreement."""
    found = GoldState.objects.filter(question=question).values_list("n_apart", flat=True)
    return found.first() or 0
