"""Items, raters and the history of a rating through the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from projects.models import Item, Project, Rater
from ratings.items import item_search
from ratings.models import Assignment, Rating

Address = Callable[..., str]
Refused = Callable[..., dict[str, Any]]


@pytest.fixture
def get(api: APIClient, address: Address) -> Callable[[str], Any]:
    def read(tail: str) -> Any:
        answer = api.get(address(tail))
        assert answer.status_code == 200, answer.content
        return answer.json()

    return read


@pytest.fixture
def keys(get: Callable[[str], Any]) -> Callable[[str], list[str]]:
    def listed(query: str = "") -> list[str]:
        return [row["key"] for row in get(f"items/{query}")["results"]]

    return listed


@pytest.fixture
def items(api: APIClient, address: Address) -> None:
    rows = [
        {"key": "a", "body": {"text": "Grüße aus Köln"}, "attributes": {"lang": "de", "n": 5}},
        {
            "key": "b",
            "body": {"source": "二月", "target": 'say "hi"'},
            "attributes": {"lang": "zh"},
        },
        {"key": "text", "body": {"text": ""}, "attributes": {"lang": "de", "n": 6}},
        {"key": "d", "body": {"n": 17}, "withdrawn": True, "gold": {"severity": "major"}},
    ]
    assert api.post(address("items/"), rows, format="json").status_code == 200


def test_items_stand_in_the_order_of_the_request(
    api: APIClient, address: Address, keys: Any
) -> None:
    given = ["zz", "https://a.b/c", "aa"]
    rows = [{"key": key, "body": {"text": key}} for key in given]
    assert api.post(address("items/"), rows, format="json").status_code == 200
    assert keys() == given


def test_an_item_is_told_whole(items: None, get: Any, rate: Any, project: Project) -> None:
    question = project.questions.get()
    rate(question, "d", "ann", "minor")
    rate(question, "d", "ben", "minor")
    rate(question, "d", "ben", None)
    shown = get("items/d/")
    assert shown == next(row for row in get("items/")["results"] if row["key"] == "d")
    times = {shown.pop("created_at"), shown.pop("changed_at")}
    assert all(time.endswith("Z") for time in times)
    assert shown == {
        "key": "d",
        "body": {"n": 17},
        "attributes": {},
        "gold": {"severity": "major"},
        "ratings": 1,
        "version": 1,
        "withdrawn": True,
        "has_content": True,
    }


def test_gold_is_for_leads_alone(
    items: None, address: Address, viewer: User, annotator: User, api_for: Any
) -> None:
    answer = api_for(viewer).get(address("items/"))
    assert "gold" not in answer.content.decode()
    assert "gold" not in api_for(viewer).get(address("items/d/")).json()
    assert api_for(annotator).get(address("items/")).status_code == 403


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["a", "b", "text", "d"]),
        ("?search=köln", ["a"]),
        ("?search=KÖLN", ["a"]),
        ("?search=二", ["b"]),
        ("?search=%22hi%22", ["b"]),
        ("?search=text", ["text"]),  # a key, and not the name of a part
        ("?search=17", ["d"]),
        ("?search=%25", []),
        ("?attribute.lang=de", ["a", "text"]),
        ("?attribute.lang=de&attribute.n=5", ["a"]),
        ("?attribute.lang=fr", []),
        ("?state=waiting", ["text"]),
        ("?state=withdrawn", ["d"]),
        ("?state=asked", ["a", "b"]),
        ("?state=gold", ["d"]),
        ("?state=flagged", ["b"]),
        ("?min_ratings=1", ["a", "b"]),
        ("?min_ratings=2", ["a"]),
        ("?max_ratings=0", ["text", "d"]),
        ("?min_ratings=1&max_ratings=1", ["b"]),
        ("?min_ratings=1&search=hi", ["b"]),
    ],
)
def test_filters(
    items: None, keys: Any, rate: Any, project: Project, query: str, found: list[str]
) -> None:
    question = project.questions.get()
    for item, rater in (("a", "ann"), ("a", "ben"), ("b", "ann"), ("d", "ann")):
        rate(question, item, rater, "minor")
    rate(question, "d", "ann", None)
    Assignment.objects.create(
        item=Item.objects.get(key="b"),
        rater=project.raters.get(key="ann"),
        state="done",
        flagged=True,
        closed_at="2026-01-01T00:00Z",
        leased_until="2026-01-01T00:00Z",
    )
    assert sorted(keys(query)) == sorted(found)


def test_since_is_the_last_change_of_the_item(
    items: None, keys: Any, get: Any, api: APIClient, address: Address, rate: Any, project: Project
) -> None:
    rate(project.questions.get(), "a", "ann", "minor")
    moment = max(row["changed_at"] for row in get("items/")["results"])
    for row in (
        {"key": "b", "body": {"text": "new"}},
        {"key": "text", "body": {"text": ""}, "gold": {"severity": "minor"}},
    ):
        api.post(address("items/"), row, format="json")
    Item.objects.filter(key__in="ad").update(changed_at="2026-01-01T00:00Z")
    assert keys(f"?since={moment}") == ["b", "text"]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("?min_ratings=-1", "min_ratings"),
        ("?max_ratings=x", "max_ratings"),
        ("?state=odd", "state"),
        ("?since=yesterday", "since"),
        ("?colour=red", "colour"),
        ("?attribute.=x", "attribute."),
        ("?attribute.0=x", "attribute.0"),
        ("?attribute.a=1&attribute.b=1&attribute.c=1&attribute.d=1", "attribute."),
        ("?search=a&search=b", "search"),
    ],
)
def test_bad_queries_are_named(
    api: APIClient, address: Address, refused: Refused, query: str, name: str
) -> None:
    assert list(refused(api.get, address(f"items/{query}"))["fields"]) == [name]


def test_pages_leave_nothing_out(
    project: Project, api: APIClient, get: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a search that looks at few items a page, so that pages are short and some are empty."""
    monkeypatch.setattr(item_search, "MAX_ITEMS_SCANNED", 7)
    monkeypatch.setattr(item_search, "ITEMS_PER_READ", 3)
    for number in range(40):
        body = {"text": "yes" if number % 13 == 0 else "no"}
        Item.objects.create(project=project, key=f"k{number}", body=body)
    for query, wanted in (
        ("?page_size=6", list(range(40))),
        ("?page_size=2&search=yes", [0, 13, 26, 39]),
        ("?page_size=2&search=text", []),
        ("?page_size=1&search=no", [n for n in range(40) if n % 13]),
        ("?page_size=3&max_ratings=0", list(range(40))),
    ):
        page = get(f"items/{query}")
        found = page["results"]
        while page["next"]:
            page = api.get(page["next"]).json()
            found += page["results"]
        assert [row["key"] for row in found] == [f"k{number}" for number in wanted]


def test_an_item_nobody_rated_is_gone_for_good(
    items: None, api: APIClient, address: Address, project: Project, rate: Any
) -> None:
    assert api.delete(address("items/d/")).json() == {"deleted": True, "withdrawn": False}
    assert api.get(address("items/d/")).status_code == 404
    assert api.delete(address("items/d/")).status_code == 404
    rate(project.questions.get(), "a", "ann", "minor")
    rate(project.questions.get(), "a", "ann", None)  # its history stays
    assert api.delete(address("items/a/")).json() == {"deleted": False, "withdrawn": True}
    assert api.get(address("items/a/")).json()["withdrawn"] is True
    assert Rating.objects.count() == 1


def test_an_item_before_somebodys_eyes_is_withdrawn(
    items: None, api: APIClient, address: Address, annotator: User, client_for: Any
) -> None:
    desk = client_for(annotator)
    project_id = Project.objects.get().pk
    assert "Köln" in desk.get(f"/projects/{project_id}/rate/").content.decode()
    assert api.delete(address("items/a/")).json()["withdrawn"] is True
    item = Item.objects.get(key="a")
    question = item.project.questions.get()
    desk.post(f"/projects/{project_id}/rate/{item.pk}/", {f"question-{question.pk}": "1"})
    assert Rating.objects.get().code == 1


def test_raters(
    stocked: Project,
    api: APIClient,
    address: Address,
    get: Any,
    rate: Any,
    viewer: User,
    api_for: Any,
) -> None:
    rate(stocked.questions.get(), "i1", "ben", "minor")
    rows = get("raters/")["results"]
    assert [row["key"] for row in rows] == ["ann", "ben", "cleo"]
    assert (
        rows[0]
        == get("raters/ann/")
        == {
            "key": "ann",
            "name": "Ann",
            "kind": "human",
            "model": "",
            "prompt_version": "",
            "group": "",
            "username": "annotator",
            "paused": False,
        }
    )
    assert api_for(viewer).get(address("raters/ann/")).json()["username"] is None
    assert api.delete(address("raters/cleo/")).json() == {"deleted": True, "paused": False}
    assert api.delete(address("raters/ben/")).json() == {"deleted": False, "paused": True}
    assert Rater.objects.get(key="ben").paused
    assert Rating.objects.get().code == 1


def test_the_history_of_a_rating(
    stocked: Project, api: APIClient, address: Address, get: Any, annotator: User, api_for: Any
) -> None:
    for label in ("minor", "major", None):
        row = {"item": "i1", "rater": "ann", "label": label, "comment": f"{label}!"}
        assert api.post(address("ratings/"), row, format="json").status_code == 200
    lines = get("ratings/history/?item=i1&rater=ann")["results"]
    assert [(line["label"], line["comment"], line["by"]) for line in lines] == [
        ("minor", "minor!", "lead"),
        ("major", "major!", "lead"),
        (None, "None!", "lead"),
    ]
    assert {line["source"] for line in lines} == {"api"}
    first = api.get(address("ratings/history/?item=i1&rater=ann&page_size=2")).json()
    assert len(first["results"]) == 2
    assert api.get(first["next"]).json()["results"] == lines[2:]
    mine = api_for(annotator)
    assert len(mine.get(address("ratings/history/?item=i1&rater=ann")).json()["results"]) == 3
    assert (
        mine.get(address("ratings/history/?item=i1&rater=ann")).json()["results"][0]["by"] is None
    )
    api.post(address("ratings/"), {"item": "i1", "rater": "ben", "label": "minor"}, format="json")
    assert mine.get(address("ratings/history/?item=i1&rater=ben")).json()["results"] == []
    missing = mine.get(address("ratings/history/"))
    assert list(missing.json()["error"]["fields"]) == ["item", "rater"]


def test_a_form_of_ones_own(
    stocked: Project, address: Address, annotator: User, api_for: Any, lead: User
) -> None:
    mine = api_for(annotator)
    asked = mine.get(address("next/")).json()
    assert (
        asked
        == mine.get(address("next/")).json()
        == {
            "item": {"key": "i0", "body": {"text": "x"}, "version": 1},
            "exam": None,
            "notice": None,
            "guidelines_version": 0,
        }
    )
    said = {"item": "i0", "answers": {"severity": "major"}, "comment": "so", "flagged": True}
    answer = mine.post(address("next/"), said, format="json")
    assert answer.json()["item"]["key"] == "i1"
    rating = Rating.objects.get()
    assert (rating.item.key, rating.code, rating.comment, rating.item_version) == ("i0", 2, "so", 1)
    assert rating.seconds is not None
    assert Assignment.objects.get(item__key="i0").flagged
    assert mine.post(address("next/"), {**said, "answers": {"severity": "minor"}}, format="json")
    assert Rating.objects.get().code == 1  # corrected
    skipped = mine.post(address("next/"), {"item": "i1", "skip": "too hard"}, format="json")
    assert skipped.json()["item"]["key"] == "i2"
    assert Assignment.objects.get(item__key="i1").skip_reason == "too hard"


@pytest.mark.parametrize(
    ("said", "status", "words"),
    [
        ({"item": "i3", "answers": {"severity": "minor"}}, 404, "never given"),
        ({"item": "nix", "answers": {"severity": "minor"}}, 404, "never given"),
        ({"item": "i0"}, 400, "one of none, minor, major, critical is needed"),
        ({"item": "i0", "answers": {"severity": "mjor"}}, 400, "one of none, minor"),
        ({"item": "i0", "answers": {"severity": "minor", "odd": "x"}}, 400, "no such question"),
        ({"item": "i0", "answers": {"severity": "minor"}, "skip": "x"}, 400, "either"),
        ({"item": "i0", "answers": {"severity": "minor"}, "flagged": 1}, 400, "true or false"),
        ({"item": "i0", "answers": {"severity": "minor"}, "item_version": -1}, 400, "0"),
        ({"answers": {"severity": "minor"}}, 400, "required"),
        ({"item": "i0", "label": "minor"}, 400, "unknown field"),
    ],
)
def test_what_is_not_acceptable_at_the_desk(
    stocked: Project,
    address: Address,
    annotator: User,
    api_for: Any,
    said: Any,
    status: int,
    words: str,
) -> None:
    mine = api_for(annotator)
    mine.get(address("next/"))
    answer = mine.post(address("next/"), said, format="json")
    assert answer.status_code == status
    assert words in answer.content.decode()
    assert not Rating.objects.exists()


def test_nobody_who_may_not_rate_is_asked(
    stocked: Project, address: Address, annotator: User, lead: User, api_for: Any
) -> None:
    assert api_for(lead).get(address("next/")).status_code == 403
    Rater.objects.filter(key="ann").update(paused=True)
    assert api_for(annotator).get(address("next/")).status_code == 403
    assert not Assignment.objects.exists()
