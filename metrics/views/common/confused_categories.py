"""Pairs of categories that raters confuse most, with links to the items."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from metrics.question_scale import QuestionScale
from metrics.results.disagreement.findings import Confusions
from projects.models import Question


@dataclass(frozen=True)
class CategoryConfusion:
    """Two categories, their share of all disagreement, and the URL of the items concerned.

    ``n_comparisons``: the comparisons that differ, of which it is the share, where they are known.
    """

    a: str
    b: str
    share: float
    url: str
    n_comparisons: int = 0


def build_confusions(question: Question, stored: Confusions) -> list[CategoryConfusion]:
    """Return the stored confusions with labels, without categories that were removed since."""
    labels = QuestionScale.for_question(question).labels
    confusions = []
    for index, other_index, share in stored:
        if other_index < len(labels):
            a, b = labels[index], labels[other_index]
            url = build_items_url(question.project_id, question.key, a, b)
            confusions.append(CategoryConfusion(a, b, share, url))
    return confusions


def build_items_url(project_id: int, question: str, a: str, b: str) -> str:
    """Return the URL of the items that were rated with both categories, the most disputed first."""
    parameters = {"answer": a, "other_answer": b, "sort": "disagreement"}
    query = urlencode({"question": question, **parameters})
    return f"{reverse('items', args=[project_id])}?{query}"
