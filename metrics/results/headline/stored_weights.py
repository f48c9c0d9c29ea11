"""What of the readings is asked for by many, without the readings."""

from __future__ import annotations

from metrics.models import Reading, Span
from metrics.scale import QuestionScale
from projects.models import Question


def weights_of(question: Question, scale: QuestionScale) -> str:
    """The weights that go with what is read first, as stored; the question's own before."""
    first = Reading.objects.filter(question=question, span=Span.ALL)
    found: str | None = first.values_list("headline__weights", flat=True).first()
    return found if found in scale.weighting_names() else question.weights
