"""The weighting of the stored headline, read without its other values."""

from __future__ import annotations

from metrics.models import PeriodUnit, Result
from metrics.scale import QuestionScale
from projects.models import Question


def get_headline_weighting(question: Question, scale: QuestionScale) -> str:
    """Return the weighting of the stored headline; before there is one, the question's own."""
    results = Result.objects.filter(question=question, period_unit=PeriodUnit.ALL)
    weights: str | None = results.values_list("headline__weights", flat=True).first()
    return weights if weights in scale.list_weightings() else question.weights
