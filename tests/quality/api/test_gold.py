"""Gold answers by API: set, listed with how raters do on them, kept from all but leads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from projects.models import GoldAnswer, Item, Question
from quality.gold import recompute
from tests.cast import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def made_once(answered_once: Cast) -> Cast:
    return answered_once


def test_gold_is_set_read_changed_and_taken_away(
    answered: Question, api: Any, address: Callable[[str], str], lead: User
) -> None:
    where = address("quality/gold/i00/")
    none = api.get(where).json()
    assert none == {"item": "i00", "question": answered.key, "gold": None, "versions": []}
    body = {"answer": "minor", "explanation": "see page 3"}
    answer = api.put(where, body, format="json")
    assert answer.status_code == 200, answer.json()
    assert api.put(where, {"answer": ["minor"]}, format="json").json() == answer.json()
    found = answer.json()["gold"]
    assert (found["answer"], found["version"], found["by"]) == ("minor", 1, lead.username)
    assert (found["explanation"], found["retired_at"]) == ("see page 3", None)
    assert (found["exposures"], found["suspected"]) == (0, False)
    shares = {"answer": {"minor": 0.5, "major": 0.5}}
    assert api.put(where, shares, format="json").json()["gold"]["answer"] == shares["answer"]
    gone = api.put(where, {"answer": None}, format="json").json()
    assert gone["gold"] is None
    assert [one["version"] for one in gone["versions"]] == [1, 2]
    assert all(one["retired_at"] for one in gone["versions"])


@pytest.mark.parametrize(
    "wrong", ["mjor", [], ["minor", "minor"], {"minor": 0.2}, 3, [["minor"]], {"minor": "x"}, True]
)
def test_what_is_no_answer_is_named_and_changes_nothing(
    answered: Question, api: Any, address: Callable[[str], str], wrong: Any
) -> None:
    answer = api.put(address("quality/gold/i00/"), {"answer": wrong}, format="json")
    assert answer.status_code == 400
    assert answer.json()["error"]["fields"]["answer"]
    assert api.put(address("quality/gold/no/"), {"answer": "minor"}).status_code == 404
    assert not GoldAnswer.objects.exists()


def test_the_list_says_how_raters_do(
    answered: Question, api: Any, address: Callable[[str], str], api_for: Any, annotator: User
) -> None:
    Item.objects.filter(key="i02").update(key="a/b")
    for key in ("i00", "i01", "a/b"):
        put = api.put(address(f"quality/gold/{key}/"), {"answer": "minor"}, format="json")
        assert put.status_code == 200
    recompute.recompute_question(answered.pk, at_once=True)
    first = api.get(address("quality/gold/?page_size=2")).json()
    rest = api.get(first["next"]).json()
    rows = first["results"] + rest["results"]
    assert [row["item"] for row in rows] == ["i00", "i01", "a/b"]
    for row in rows:
        said = answered.ratings.filter(item__key=row["item"], code__gte=0)
        assert row["exposures"] == said.count() > 0
        assert row["right"] == said.filter(code=1).count()
    assert api_for(annotator).get(address("quality/gold/")).status_code == 403
    assert api_for(annotator).get(address("quality/gold/i00/")).status_code == 403
