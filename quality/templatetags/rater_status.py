"""Template tags for the page of a rater."""

from __future__ import annotations

from django import template

from metrics.scale import QuestionScale
from projects.models import Question, Rater
from projects.services.members import usernames
from quality.rater_status import comparison, texts
from quality.rater_status.status import is_outlier
from ratings.models import RaterMessage

register = template.Library()
MAX_MESSAGES = 20  # the latest


@register.simple_tag
def describe_rater(question: Question, rater: Rater) -> str:
    """Return sentences on the rater, first what differs most; empty for models.

    Also empty without a result.
    """
    if rater.kind != Rater.Kind.HUMAN:
        return ""
    rater_comparison = comparison.get_comparison(question)
    has_outlier_alert = rater_comparison.computed_at is not None and is_outlier(question, rater)
    result = rater_comparison.raters.get(rater.pk)
    sentences = [texts.describe_agreement(rater_comparison, rater.pk, is_outlier=has_outlier_alert)]
    if result is not None and result.is_biased:
        labels = QuestionScale.for_question(question).labels
        sentences.insert(0, texts.describe_bias(result, labels))
    return " ".join(sentences)


@register.simple_tag
def list_messages(rater: Rater) -> list[RaterMessage]:
    """Return the latest messages of leads to the rater, newest first."""
    rows = RaterMessage.objects.filter(rater=rater).select_related("sender")
    return list(rows.order_by("-pk")[:MAX_MESSAGES])


register.filter("initials", usernames.get_initials)
