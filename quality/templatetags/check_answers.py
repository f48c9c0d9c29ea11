"""Template tags for check answers: hidden gold and repeated items."""

from __future__ import annotations

from typing import Any

from django import template

from metrics.agreement.weights import get_weighted_name
from projects.models import Question, Rater
from quality.models import GoldState, RepeatScore, RepeatState
from ratings.models import Assignment, CheckAnswer
from ratings.services.rating_times import date_from_day

register = template.Library()


@register.filter
def day_to_month(day: int) -> str:
    """Return the month ("2026-03") of a day number (days since 1970-01-01)."""
    return date_from_day(day).strftime("%Y-%m")


@register.simple_tag
def count_hidden_gold_answers(question: Question) -> int:
    """Return the number of answers to hidden gold, which no agreement coefficient includes."""
    counts = GoldState.objects.filter(question=question).values_list("n_check_answers", flat=True)
    return counts.first() or 0


@register.simple_tag
def count_check_answers(question: Question, rater: Rater) -> int:
    """Return how many answers the rater gave to hidden gold and repeats, without exams."""
    rows = CheckAnswer.objects.filter(question=question, rater=rater).current()
    return rows.exclude(kind=Assignment.Kind.EXAM).count()


@register.simple_tag
def get_repeat_score(
    question: Question, rater: Rater | None = None
) -> RepeatState | RepeatScore | None:
    """Return the intra-rater agreement of the question's raters, or of one of them."""
    if rater is not None:
        return RepeatScore.objects.filter(question=question, rater=rater).first()
    return RepeatState.objects.filter(question=question).first()


@register.simple_tag
def get_matching_peer_kappa(question: Question, coefficients: dict[str, Any]) -> dict[str, Any]:
    """Return the rater's kappa with the others, under the weights of the kappa of repeats."""
    estimate: dict[str, Any] = (
        coefficients.get(get_weighted_name("vs_peers", question.weights)) or {}
    )
    return estimate
