"""Rules, second opinions and appeals by API: the same acts as on the pages, and what is refused."""

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
    answered: Question, api: Any, address: Address, refused: Any
) -> None:
    to = address("quality/rules/")
    stands = api.get(to).json()
    assert (stands["method"], stands["escalate"], stands["budget"]) == ("dawid_skene", False, 100)
    body = {"escalate": True, "sure_from": 0.8, "most": 7, "method": "majority"}
    assert api.patch(to, body, format="json").json() == stands | body
    assert Event.objects.get(kind="label_rules_changed").data["after"]["sure_from"] == 0.8
    assert Consensus.objects.get(question=answered).method == "majority"
    for wrong, place in (
        ({"sure_from": 2}, "sure_from"),
        ({"budget": -1, "method": "weighted"}, "budget"),
        ({"most": "7"}, "most"),
        ({"method": "best"}, "method"),
        ({"certain": True}, "certain"),
    ):
        answer = api.patch(to, wrong, format="json")
        assert answer.status_code == 400
        assert place in answer.json()["error"]["fields"]
    assert api.get(to).json() == stands | body  # nothing of it was changed


def test_how_far_two_adjudicators_agree(
    answered: Question, api: Any, address: Address, lead: User
) -> None:
    empty = api.get(address("quality/second/")).json()
    assert empty == {
        "question": answered.key, "items": 0, "same": 0, "kappa": None, "differ": [],
    }  # fmt: skip
    other = User.objects.create_user("other")
    LabelRules.objects.create(question=answered, second_share=1)
    for item, code in zip(Item.objects.order_by("key")[:4], (0, 1, 1, 2), strict=True):
        decisions.create_decision(question=answered, item=item, code=min(code, 1), by=lead)
        second_opinions.create_second_opinion(
            question=answered, item=item, code=code, reason="", by=other
        )
    told = api.get(address("quality/second/")).json()
    assert (told["items"], told["same"], told["differ"]) == (4, 3, ["i03"])
    assert told["kappa"]["n_items"] == 4


@pytest.fixture
def decided(rater: Rater, answered: Question, lead: User) -> Item:
    item = Item.objects.filter(ratings__rater=rater).order_by("key")[0]
    with time_machine.travel(timezone.now() - datetime.timedelta(days=10), tick=False):
        decisions.create_decision(question=answered, item=item, code=2, by=lead)
    return item


def test_an_appeal_and_its_answer(
    decided: Item, rater: Rater, api: Any, api_for: Any, address: Address
) -> None:
    to, mine = address("quality/appeals/"), api_for(rater.user)
    others = Item.objects.exclude(pk=decided.pk).order_by("key")[0]
    told = {
        mine.post(to, {"item": key, "text": "No."}, format="json").text
        for key in (others.key, "unknown")
    }
    assert len(told) == 1  # whether there is a decision, or an item, is not said
    made = mine.post(to, {"item": decided.key, "text": "It breaks callers."}, format="json")
    assert made.status_code == 201
    assert mine.post(to, {"item": decided.key, "text": "Again."}, format="json").status_code == 400
    assert mine.get(to).status_code == 403
    (row,) = api.get(f"{to}?state=open").json()["results"]
    assert row == made.json()
    assert (row["item"], row["text"], row["about"]) == (
        decided.key,
        "It breaks callers.",
        "decision",
    )
    one = f"{to}{row['id']}/"
    assert mine.post(one, {"state": "upheld"}, format="json").status_code == 403
    answer = api.post(one, {"state": "upheld", "answer": "So it does."}, format="json").json()
    assert (answer["state"], answer["answer"], answer["answered_by"]) == (
        "upheld", "So it does.", "lead",
    )  # fmt: skip
    again = api.post(one, {"state": "refused"}, format="json")
    assert again.status_code == 400
    assert Appeal.objects.get().state == "upheld"
    assert api.get(f"{to}?state=open").json()["results"] == []
