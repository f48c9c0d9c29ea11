"""What the page of a rater says of them beside all others."""

from __future__ import annotations

from django import template

from projects.models import Question, Rater
from projects.services.members import usernames
from quality.rater_status import comparison, comparison_texts
from quality.rater_status.status import is_apart
from ratings.models import RaterMessage

register = template.Library()
MESSAGES = 20  # the latest


@register.simple_tag
def judgement(question: Question, rater: Rater) -> str:
    """A sentence on the rater; empty of models, and while nothing is known."""
    if rater.kind != Rater.Kind.HUMAN:
        return ""
    standings = comparison.of(question)
    apart = standings.made_at is not None and is_apart(question, rater)
    return comparison_texts.judgement(standings, rater.pk, apart=apart)


@register.simple_tag
def written_to(rater: Rater) -> list[RaterMessage]:
    """What leads wrote to the rater, the latest first."""
    rows = RaterMessage.objects.filter(rater=rater).select_related("by")
    return list(rows.order_by("-pk")[:MESSAGES])


register.filter("initials", usernames.initials)
