"""Final labels by API: the contract's shape, filters, decisions, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from projects.models import Item, Question
from quality.consensus import recompute
from quality.review import decisions
from tests.cast import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def made_once(answered_once: Cast) -> Cast:
    return answered_once


def all_labels(api: Any, url: str) -> list[dict[str, Any]]:
    found = []
    while url:
        answer = api.get(url)
        assert answer.status_code == 200, answer.json()
        found += answer.json()["results"]
        url = answer.json()["next"]
    return found


def test_the_labels_of_a_question(
    answered: Question, api: Any, address: Callable[[str], str]
) -> None:
    recompute.recompute_question(answered.pk)
    labels = all_labels(api, address("labels/?page_size=7"))
    assert len(labels) == len({label["item"] for label in labels}) == 60
    one = labels[0]
    assert set(one) == {
        "item", "question", "label", "source", "confidence", "distribution", "mean", "ratings",
        "reason", "decided_by", "as_of",
    }  # fmt: skip
    assert one["question"] == answered.key
    assert one["source"] == "consensus"
    assert list(one["distribution"]) == ["none", "minor", "major", "critical"]
    assert sum(one["distribution"].values()) == pytest.approx(1)
    assert one["distribution"][one["label"]] == one["confidence"]
    sure = all_labels(api, address("labels/?min_confidence=0.95&source=consensus"))
    assert 0 < len(sure) < 60
    assert sure == [label for label in labels if label["confidence"] >= 0.95]


def test_a_decision_by_api(
    answered: Question, api: Any, address: Callable[[str], str], lead: User
) -> None:
    recompute.recompute_question(answered.pk)
    body = {"item": "i00", "label": "critical", "reason": "the patient died"}
    answer = api.post(address("labels/"), body, format="json")
    assert answer.status_code == 201, answer.json()
    assert answer.json()["number"] == 1
    (label,) = all_labels(api, address("labels/?source=decision"))
    assert (label["label"], label["confidence"]) == ("critical", 1.0)
    assert (label["item"], label["decided_by"]) == ("i00", lead.username)
    taken_back = api.post(address("labels/"), {"item": "i00", "label": None}, format="json")
    assert (taken_back.status_code, taken_back.json()["number"]) == (201, 2)
    assert all_labels(api, address("labels/?source=decision")) == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"item": "i00", "label": "terrible"}, "label"),
        ({"item": "nowhere", "label": "none"}, "item"),
        ({"item": "i00", "label": None}, "label"),
        ({"item": "i00"}, "label"),
        ({"item": "i00", "label": "none", "question": "no"}, "question"),
        ({"item": "i00", "label": "none", "certain": True}, "certain"),
    ],
)
def test_what_cannot_be_decided_names_its_place_and_changes_nothing(
    answered: Question, api: Any, address: Callable[[str], str], refused: Any, body: Any, field: str
) -> None:
    error = refused(api.post, address("labels/"), body)
    assert field in error["fields"]


@pytest.mark.parametrize(
    "query", ["min_confidence=2", "min_confidence=nan", "min_confidence=x", "source=me"]
)
def test_a_filter_that_cannot_be(
    answered: Question, api: Any, address: Callable[[str], str], query: str
) -> None:
    answer = api.get(address(f"labels/?{query}"))
    assert answer.status_code == 400
    assert query.split("=", maxsplit=1)[0] in answer.json()["error"]["fields"]


def test_what_somebody_else_is_deciding_is_a_conflict(
    answered: Question, api: Any, address: Callable[[str], str], admin: User
) -> None:
    item = Item.objects.get(key="i00")
    decisions.claim_item(question=answered, item=item, by=admin)
    answer = api.post(address("labels/"), {"item": "i00", "label": "none"}, format="json")
    assert answer.status_code == 409
    assert admin.username in answer.json()["error"]["message"]
