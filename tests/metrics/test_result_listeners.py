"""Who listens hears that readings moved, after they did: what a mail or an alarm begins with."""

from __future__ import annotations

from typing import Any

import pytest

from metrics import result_listeners
from metrics.jobs import question_updates
from metrics.models import Diagnosis, Reading
from projects.models import Question

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, bool]]:
    """(question id, ratings that its readings rest on, whether disagreement was diagnosed) when it
    was heard."""
    found: list[tuple[int, int, bool]] = []

    def hear(question_id: int) -> None:
        reading = Reading.objects.get(question_id=question_id, span="all")
        n_ratings = reading.coefficients["percent_agreement"]["n_ratings"]
        diagnosed = Diagnosis.objects.filter(question_id=question_id).exists()
        found.append((question_id, n_ratings, diagnosed))

    monkeypatch.setattr(result_listeners.listeners, "registered", [])
    result_listeners.listen(hear)
    return found


def test_readings_that_moved_are_told_and_those_that_stand_are_not(
    question: Question, rate: Any, heard: list[tuple[int, int, bool]]
) -> None:
    label = question.active_categories()[0].label
    for rater in "ab":
        rate(question, "i1", rater, label)
    question_updates.sweep_questions()
    assert heard == [(question.pk, 2, False), (question.pk, 2, True)]
    heard.clear()
    question_updates.sweep_questions()
    assert heard == []
    rate(question, "i1", "c", label)
    question_updates.update_question(question.pk)
    assert [(number, ratings) for number, ratings, _diagnosed in heard] == [(question.pk, 3)] * 2
