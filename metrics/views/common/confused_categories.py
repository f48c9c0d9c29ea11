"""Which categories are confused most, and the items on which they are."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from metrics.results.disagreement.findings import Confusions
from metrics.scale import QuestionScale
from projects.models import Question


@dataclass(frozen=True)
class Confusion:
    """Two categories, and their share of all disagreement; where the items are."""

    a: str
    b: str
    share: float
    url: str


def told(question: Question, found: Confusions) -> list[Confusion]:
    """As they were stored, unless a category went since."""
    labels = QuestionScale.of(question).labels
    said = []
    for one, other, share in found:
        if other < len(labels):
            a, b = labels[one], labels[other]
            url = said_both(question.project_id, question.key, a, b)
            said.append(Confusion(a, b, share, url))
    return said


def said_both(project_id: int, question: str, a: str, b: str) -> str:
    """The items of which somebody said one and somebody the other, the most disputed first."""
    said = {"said": a, "and_said": b, "sort": "disagreement"}
    query = urlencode({"question": question, **said})
    return f"{reverse('items', args=[project_id])}?{query}"
