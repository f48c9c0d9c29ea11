"""Test gold answers by API: set, listed with rater results, and visible to leads only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from projects.models import GoldAnswer, Item, Question
from quality.gold import recomputation
from tests.cast import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def module_cast(rated_cast: Cast) -> Cast:
    return rated_cast


def test_gold_is_set_read_changed_and_retired(
    rated_question: Question, api: Any, address: Callable[[str], str], lead: User
) -> None:
    url = address("quality/gold/i00/")
    before = api.get(url).json()
    assert before == {"item": "i00", "question": rated_question.key, "gold": None, "versions": []}
    body = {"answer": "minor", "explanation": "see page 3"}
    response = api.put(url, body, format="json")
    assert response.status_code == 200, response.json()
    assert api.put(url, {"answer": ["minor"]}, format="json").json() == response.json()
    gold = response.json()["gold"]
    assert (gold["answer"], gold["version"], gold["by"]) == ("minor", 1, lead.username)
    assert (gold["explanation"], gold["retired_at"]) == ("see page 3", None)
    assert (gold["exposures"], gold["suspected"]) == (0, False)
    shares = {"answer": {"minor": 0.5, "major": 0.5}}
    assert api.put(url, shares, format="json").json()["gold"]["answer"] == shares["answer"]
    retired = api.put(url, {"answer": None}, format="json").json()
    assert retired["gold"] is None
    assert [version["version"] for version in retired["versions"]] == [1, 2]
    assert all(version["retired_at"] for version in retired["versions"])


@pytest.mark.parametrize(
    "invalid",
    ["mjor", [], ["minor", "minor"], {"minor": 0.2}, 3, [["minor"]], {"minor": "x"}, True],
)
def test_invalid_gold_answer_changes_nothing(
    rated_question: Question, api: Any, address: Callable[[str], str], invalid: Any
) -> None:
    response = api.put(address("quality/gold/i00/"), {"answer": invalid}, format="json")
    assert response.status_code == 400
    assert response.json()["error"]["fields"]["answer"]
    assert api.put(address("quality/gold/no/"), {"answer": "minor"}).status_code == 404
    assert not GoldAnswer.objects.exists()


def test_gold_list_shows_exposures_and_right_answers(
    rated_question: Question, api: Any, address: Callable[[str], str], api_for: Any, annotator: User
) -> None:
    Item.objects.filter(key="i02").update(key="a/b")
    for key in ("i00", "i01", "a/b"):
        response = api.put(address(f"quality/gold/{key}/"), {"answer": "minor"}, format="json")
        assert response.status_code == 200
    recomputation.recompute_question(rated_question.pk, at_once=True)
    first_page = api.get(address("quality/gold/?page_size=2")).json()
    second_page = api.get(first_page["next"]).json()
    rows = first_page["results"] + second_page["results"]
    assert [row["item"] for row in rows] == ["i00", "i01", "a/b"]
    for row in rows:
        ratings = rated_question.ratings.filter(item__key=row["item"], code__gte=0)
        assert row["exposures"] == ratings.count() > 0
        assert row["right"] == ratings.filter(code=1).count()
    assert api_for(annotator).get(address("quality/gold/")).status_code == 403
    assert api_for(annotator).get(address("quality/gold/i00/")).status_code == 403
