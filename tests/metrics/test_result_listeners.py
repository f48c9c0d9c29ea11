"""Listeners are notified after results changed; emails and alerts depend on it."""

from __future__ import annotations

from typing import Any

import pytest

from metrics import result_listeners
from metrics.jobs import question_updates
from metrics.models import Diagnosis, Result
from projects.models import Question

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def notifications(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, bool]]:
    """Return the list of notifications received by a listener.

    Each is (question id, number of ratings of its results, whether disagreement was diagnosed).
    """
    notifications: list[tuple[int, int, bool]] = []

    def record_notification(question_id: int) -> None:
        result = Result.objects.get(question_id=question_id, period_unit="all")
        n_ratings = result.coefficients["percent_agreement"]["n_ratings"]
        diagnosed = Diagnosis.objects.filter(question_id=question_id).exists()
        notifications.append((question_id, n_ratings, diagnosed))

    monkeypatch.setattr(result_listeners.RESULTS_CHANGED, "entries", {})
    result_listeners.RESULTS_CHANGED.register(record_notification)
    return notifications


def test_listeners_are_notified_of_changed_results_only(
    question: Question, rate: Any, notifications: list[tuple[int, int, bool]]
) -> None:
    label = question.active_categories()[0].label
    for rater in "ab":
        rate(question, "i1", rater, label)
    question_updates.sweep_questions()
    assert notifications == [(question.pk, 2, False), (question.pk, 2, True)]
    notifications.clear()
    question_updates.sweep_questions()
    assert notifications == []
    rate(question, "i1", "c", label)
    question_updates.update_question(question.pk)
    assert [(number, ratings) for number, ratings, _diagnosed in notifications] == [
        (question.pk, 3)
    ] * 2
