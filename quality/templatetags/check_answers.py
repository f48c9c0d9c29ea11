"""What pages of results say of answers that stand apart from the ratings."""

from __future__ import annotations

from typing import Any

from django import template

from metrics.agreement.weights import weighted
from projects.models import Question, Rater
from quality.models import GoldState, RepeatScore, RepeatState
from ratings.models import Apart, Assignment
from ratings.services.days import date_of

register = template.Library()


@register.filter
def month_of(day: int) -> str:
    """The month that begins with this day since 1970-01-01."""
    return date_of(day).strftime("%Y-%m")


@register.simple_tag
def gold_apart(question: Question) -> int:
    """How many answers to hidden gold are in no figure of agreement."""
    found = GoldState.objects.filter(question=question).values_list("n_apart", flat=True)
    return found.first() or 0


@register.simple_tag
def tests_of(question: Question, rater: Rater) -> int:
    """How many answers of the rater's work tested them unseen: to hidden gold, and to what they had
    answered before. What an exam asked is no work."""
    rows = Apart.objects.filter(question=question, rater=rater).standing()
    return rows.exclude(why=Assignment.Why.EXAM).count()


@register.simple_tag
def repeats_of(question: Question, rater: Rater | None = None) -> RepeatState | RepeatScore | None:
    """How far the question's raters agree with themselves, or one of them."""
    if rater is not None:
        return RepeatScore.objects.filter(question=question, rater=rater).first()
    return RepeatState.objects.filter(question=question).first()


@register.simple_tag
def peers_alike(question: Question, coefficients: dict[str, Any]) -> dict[str, Any]:
    """Of a rater's readings, the kappa with the others that is weighted as that with oneself."""
    found: dict[str, Any] = coefficients.get(weighted("vs_peers", question.weights)) or {}
    return found
