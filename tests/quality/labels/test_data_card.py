"""Test the data card that accompanies the labels."""

from __future__ import annotations

from typing import Any

import pytest

from metrics.jobs.question_updates import update_question
from metrics.models import Result
from projects.models import Question, Rater
from quality.labels import data_card

pytestmark = pytest.mark.django_db


def test_card_shows_the_headline_of_the_pages(question: Question, rate: Any) -> None:
    """With models separate, the card gives the people's agreement, headline first."""
    labels = ["none", "minor", "major", "critical"]
    Rater.objects.create(project=question.project, key="bot", kind=Rater.Kind.MODEL)
    for number in range(40):
        rate(question, f"i{number}", "ann", labels[number % 4])
        rate(question, f"i{number}", "bea", labels[(number + (number % 5 == 0)) % 4])
        rate(question, f"i{number}", "cleo", labels[number % 4])
        rate(question, f"i{number}", "bot", "none")
    update_question(question.pk)
    reading = Result.objects.get(question=question, period_unit="all")
    name, headline = reading.headline["name"], reading.headline["value"]
    assert headline["value"] != reading.coefficients[name]["value"]
    lines = data_card.build_data_card(question).splitlines()
    index = lines.index("* Agreement: people only")
    assert lines[index + 1] == (
        f"* {name}: {headline['value']:.3f} [{headline['low']:.3f}, {headline['high']:.3f}]"
    )
