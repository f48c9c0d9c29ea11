"""Events of changed labels, of decisions, and of a question that is complete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from events import feed
from events.models import Event, EventBatch
from projects.models import Item, Project, Question
from quality.consensus import recomputation
from quality.review.decisions import create_decision

pytestmark = pytest.mark.django_db


def recompute_and_list(question: Question) -> list[tuple[str, dict[str, Any]]]:
    """Recompute the labels, and return the new events (label changes as if a minute had passed)."""
    assert recomputation.recompute_question(question.pk, at_once=True)
    EventBatch.objects.update(next_at="2020-01-01T00:00Z")
    last_number = Event.objects.exclude(number=None).count()
    feed.publish_events()
    return [(event.kind, event.data) for event in Event.objects.filter(number__gt=last_number)]


def test_changed_labels_and_completion(
    question: Question, rate: Callable[..., Any], lead: Any
) -> None:
    Project.objects.update(overlap=2)
    for rater in ("ann", "ben"):
        for key in ("a", "b"):
            rate(question, key, rater, "minor")
    assert recompute_and_list(question) == [
        (
            "question.complete",
            {
                "question": "severity", "items": 2, "ratings": 4, "overlap": 2,
                "expected_errors": Event.objects.get(kind="question.complete").data[
                    "expected_errors"
                ],
            },
        ),
        ("label.changed", {"question": "severity", "changes": 2, "items": ["a", "b"]}),
    ]  # fmt: skip
    rate(question, "c", "ann", "major")
    events = recompute_and_list(question)
    assert events == [("label.changed", {"question": "severity", "changes": 1, "items": ["c"]})]

    item = Item.objects.get(key="c")
    create_decision(question=question, item=item, code=3, by=lead)
    kinds = [kind for kind, _data in recompute_and_list(question)]
    assert sorted(kinds) == ["item.reviewed", "label.changed", "question.complete"]
    assert Event.objects.get(kind="item.reviewed").data == {
        "question": "severity", "items": ["c"], "decision": 1, "is_withdrawn": False,
    }  # fmt: skip
    assert Event.objects.filter(kind="question.complete").last().data["items"] == 3  # type: ignore[union-attr]
    assert recompute_and_list(question) == [], "nothing changed"
    create_decision(question=question, item=item, code=3, by=lead)
    assert [kind for kind, _data in recompute_and_list(question)] == ["item.reviewed"]
    create_decision(question=question, item=item, code=None, by=lead)
    assert Event.objects.filter(kind="item.reviewed").last().data["is_withdrawn"]  # type: ignore[union-attr]
