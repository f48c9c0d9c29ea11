"""Test rules, second opinions and appeals by API: the same actions as on the pages, and errors."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.utils import timezone

from events.models import Event
from projects.models import Item, Question, Rater
from quality.models import Appeal, Consensus, LabelRules
from quality.review import decisions, second_opinions

pytestmark = pytest.mark.django_db

Address = Callable[[str], str]


def test_rules_are_read_and_changed(
    rated_question: Question, api: Any, address: Address, refused: Any
) -> None:
    url = address("quality/label-rules/")
    current = api.get(url).json()
    assert (current["method"], current["request_ratings"], current["budget"]) == (
        "dawid_skene",
        False,
        100,
    )
    body = {"request_ratings": True, "certain_from": 0.8, "max_ratings": 7, "method": "majority"}
    assert api.patch(url, body, format="json").json() == current | body
    by_query = api.patch(f"{url}?question={rated_question.key}", body, format="json")
    assert by_query.json() == current | body
    assert Event.objects.get(kind="label_rules.changed").data["after"]["certain_from"] == 0.8
    assert Consensus.objects.get(question=rated_question).method == "majority"
    for invalid, field in (
        ({"certain_from": 2}, "certain_from"),
        ({"budget": -1, "method": "weighted"}, "budget"),
        ({"max_ratings": "7"}, "max_ratings"),
        ({"method": "best"}, "method"),
        ({"certain": True}, "certain"),
    ):
        response = api.patch(url, invalid, format="json")
        assert response.status_code == 400
        assert field in response.json()["error"]["fields"]
    assert api.get(url).json() == current | body  # invalid requests changed nothing


def test_agreement_of_two_adjudicators_is_reported(
    rated_question: Question, api: Any, address: Address, lead: User
) -> None:
    without_opinions = api.get(address("quality/second-opinions/")).json()
    assert without_opinions == {
        "question": rated_question.key, "items": 0, "n_same": 0, "kappa": None, "differing_items": [],
    }  # fmt: skip
    other = User.objects.create_user("other")
    LabelRules.objects.create(question=rated_question, second_opinion_share=1)
    for item, code in zip(Item.objects.order_by("key")[:4], (0, 1, 1, 2), strict=True):
        decisions.create_decision(question=rated_question, item=item, code=min(code, 1), by=lead)
        second_opinions.create_second_opinion(
            question=rated_question, item=item, code=code, reason="", by=other
        )
    summary = api.get(address("quality/second-opinions/")).json()
    assert (summary["items"], summary["n_same"], summary["differing_items"]) == (4, 3, ["i03"])
    assert summary["kappa"]["n_items"] == 4


@pytest.fixture
def decided_item(rater: Rater, rated_question: Question, lead: User) -> Item:
    item = Item.objects.filter(ratings__rater=rater).order_by("key")[0]
    with time_machine.travel(timezone.now() - datetime.timedelta(days=10), tick=False):
        decisions.create_decision(question=rated_question, item=item, code=2, by=lead)
    return item


def test_appeal_is_made_and_answered(
    decided_item: Item, rater: Rater, api: Any, api_for: Any, address: Address
) -> None:
    list_url, rater_client = address("quality/appeals/"), api_for(rater.user)
    other_item = Item.objects.exclude(pk=decided_item.pk).order_by("key")[0]
    responses = {
        rater_client.post(list_url, {"item": key, "text": "No."}, format="json").text
        for key in (other_item.key, "unknown")
    }
    assert len(responses) == 1  # the error does not reveal if there is a decision or an item
    created = rater_client.post(
        list_url, {"item": decided_item.key, "text": "It breaks callers."}, format="json"
    )
    assert created.status_code == 201
    assert (
        rater_client.post(
            list_url, {"item": decided_item.key, "text": "Again."}, format="json"
        ).status_code
        == 400
    )
    assert rater_client.get(list_url).status_code == 403
    (row,) = api.get(f"{list_url}?state=open").json()["results"]
    assert row == created.json()
    assert (row["item"], row["text"], row["about"]) == (
        decided_item.key,
        "It breaks callers.",
        "decision",
    )
    detail_url = f"{list_url}{row['id']}/"
    assert rater_client.post(detail_url, {"state": "upheld"}, format="json").status_code == 403
    answered_appeal = api.post(
        detail_url, {"state": "upheld", "answer": "So it does."}, format="json"
    ).json()
    assert (answered_appeal["state"], answered_appeal["answer"], answered_appeal["answered_by"]) == (
        "upheld", "So it does.", "lead",
    )  # fmt: skip
    second_answer = api.post(detail_url, {"state": "refused"}, format="json")
    assert second_answer.status_code == 400
    assert Appeal.objects.get().state == "upheld"
    assert api.get(f"{list_url}?state=open").json()["results"] == []
