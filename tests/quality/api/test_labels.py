"""Test final labels by API: their fields, filters, decisions, and invalid requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from projects.models import Item, Question
from quality.consensus import recomputation
from quality.review import decisions
from tests.cast import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def module_cast(rated_cast: Cast) -> Cast:
    return rated_cast


def list_all_labels(api: Any, url: str) -> list[dict[str, Any]]:
    labels = []
    while url:
        response = api.get(url)
        assert response.status_code == 200, response.json()
        labels += response.json()["results"]
        url = response.json()["next"]
    return labels


def test_labels_are_listed_and_filtered(
    rated_question: Question, api: Any, address: Callable[[str], str]
) -> None:
    recomputation.recompute_question(rated_question.pk)
    labels = list_all_labels(api, address("labels/?page_size=7"))
    assert len(labels) == len({label["item"] for label in labels}) == 60
    first_label = labels[0]
    assert set(first_label) == {
        "item", "question", "label", "source", "confidence", "distribution", "mean", "ratings",
        "reason", "decided_by", "as_of",
    }  # fmt: skip
    assert first_label["question"] == rated_question.key
    assert first_label["source"] == "consensus"
    assert list(first_label["distribution"]) == ["none", "minor", "major", "critical"]
    assert sum(first_label["distribution"].values()) == pytest.approx(1)
    assert first_label["distribution"][first_label["label"]] == first_label["confidence"]
    confident = list_all_labels(api, address("labels/?min_confidence=0.95&source=consensus"))
    assert 0 < len(confident) < 60
    assert confident == [label for label in labels if label["confidence"] >= 0.95]


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_labels_are_a_file_by_token(
    kind: str, rated_question: Question, api: Any, address: Callable[[str], str]
) -> None:
    """The file is that of the page, and the filters of the list apply."""
    recomputation.recompute_question(rated_question.pk)
    response = api.get(address(f"labels/?format={kind}"), headers={"Accept": "text/csv"})
    assert response.status_code == 200
    assert "attachment" in response["Content-Disposition"]
    text = b"".join(response.streaming_content).decode()
    header = 1 if kind == "csv" else 0
    assert len(text.splitlines()) == 60 + header
    confident = api.get(address(f"labels/?format={kind}&min_confidence=0.95"))
    listed = list_all_labels(api, address("labels/?min_confidence=0.95"))
    n_lines = len(b"".join(confident.streaming_content).splitlines())
    assert n_lines - header == len(listed) < 60


def test_decision_is_made_and_undone_by_api(
    rated_question: Question, api: Any, address: Callable[[str], str], lead: User
) -> None:
    recomputation.recompute_question(rated_question.pk)
    body = {"item": "i00", "label": "critical", "reason": "the patient died"}
    response = api.post(address("labels/"), body, format="json")
    assert response.status_code == 201, response.json()
    assert response.json()["number"] == 1
    (label,) = list_all_labels(api, address("labels/?source=decision"))
    assert (label["label"], label["confidence"]) == ("critical", 1.0)
    assert (label["item"], label["decided_by"]) == ("i00", lead.username)
    undone = api.post(address("labels/"), {"item": "i00", "label": None}, format="json")
    assert (undone.status_code, undone.json()["number"]) == (201, 2)
    assert list_all_labels(api, address("labels/?source=decision")) == []


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
def test_invalid_decision_names_its_field(
    rated_question: Question,
    api: Any,
    address: Callable[[str], str],
    refused: Any,
    body: Any,
    field: str,
) -> None:
    error = refused(api.post, address("labels/"), body)
    assert field in error["fields"]


@pytest.mark.parametrize(
    "query", ["min_confidence=2", "min_confidence=nan", "min_confidence=x", "source=me"]
)
def test_invalid_filter_is_a_client_error(
    rated_question: Question, api: Any, address: Callable[[str], str], query: str
) -> None:
    response = api.get(address(f"labels/?{query}"))
    assert response.status_code == 400
    assert query.split("=", maxsplit=1)[0] in response.json()["error"]["fields"]


def test_item_claimed_by_another_user_is_a_conflict(
    rated_question: Question, api: Any, address: Callable[[str], str], admin: User
) -> None:
    item = Item.objects.get(key="i00")
    decisions.claim_item(question=rated_question, item=item, by=admin)
    response = api.post(address("labels/"), {"item": "i00", "label": "none"}, format="json")
    assert response.status_code == 409
    assert admin.username in response.json()["error"]["message"]
