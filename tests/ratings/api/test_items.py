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
def get_json(api: APIClient, address: Address) -> Callable[[str], Any]:
    def read(path: str) -> Any:
        response = api.get(address(path))
        assert response.status_code == 200, response.content
        return response.json()

    return read


@pytest.fixture
def list_keys(get_json: Callable[[str], Any]) -> Callable[[str], list[str]]:
    def get_keys(query: str = "") -> list[str]:
        return [row["key"] for row in get_json(f"items/{query}")["results"]]

    return get_keys


@pytest.fixture
def stored_items(api: APIClient, address: Address) -> None:
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


def test_items_are_in_the_order_of_the_request(
    api: APIClient, address: Address, list_keys: Any
) -> None:
    sent_keys = ["zz", "https://a.b/c", "aa"]
    rows = [{"key": key, "body": {"text": key}} for key in sent_keys]
    assert api.post(address("items/"), rows, format="json").status_code == 200
    assert list_keys() == sent_keys


def test_item_has_all_fields(
    stored_items: None, get_json: Any, rate: Any, project: Project
) -> None:
    question = project.questions.get()
    rate(question, "d", "ann", "minor")
    rate(question, "d", "ben", "minor")
    rate(question, "d", "ben", None)
    item = get_json("items/d/")
    assert item == next(row for row in get_json("items/")["results"] if row["key"] == "d")
    times = {item.pop("created_at"), item.pop("changed_at")}
    assert all(time.endswith("Z") for time in times)
    assert item == {
        "key": "d",
        "body": {"n": 17},
        "attributes": {},
        "gold": {"severity": "major"},
        "ratings": 1,
        "version": 1,
        "withdrawn": True,
        "has_content": True,
    }


def test_gold_is_only_for_leads(
    stored_items: None, address: Address, viewer: User, annotator: User, api_for: Any
) -> None:
    response = api_for(viewer).get(address("items/"))
    assert "gold" not in response.content.decode()
    assert "gold" not in api_for(viewer).get(address("items/d/")).json()
    assert api_for(annotator).get(address("items/")).status_code == 403


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["a", "b", "text", "d"]),
        ("?search=köln", ["a"]),
        ("?search=KÖLN", ["a"]),
        ("?search=二", ["b"]),
        ("?search=%22hi%22", ["b"]),
        ("?search=text", ["text"]),  # matches a key, not the name of a part
        ("?search=17", ["d"]),
        ("?search=%25", []),
        ("?attribute.lang=de", ["a", "text"]),
        ("?attribute.lang=de&attribute.n=5", ["a"]),
        ("?attribute.lang=fr", []),
        ("?state=empty", ["text"]),
        ("?state=withdrawn", ["d"]),
        ("?state=active", ["a", "b"]),
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
    stored_items: None, list_keys: Any, rate: Any, project: Project, query: str, expected: list[str]
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
    assert sorted(list_keys(query)) == sorted(expected)


def test_since_filters_by_the_last_change_of_the_item(
    stored_items: None,
    list_keys: Any,
    get_json: Any,
    api: APIClient,
    address: Address,
    rate: Any,
    project: Project,
) -> None:
    rate(project.questions.get(), "a", "ann", "minor")
    moment = max(row["changed_at"] for row in get_json("items/")["results"])
    for row in (
        {"key": "b", "body": {"text": "new"}},
        {"key": "text", "body": {"text": ""}, "gold": {"severity": "minor"}},
    ):
        api.post(address("items/"), row, format="json")
    Item.objects.filter(key__in="ad").update(changed_at="2026-01-01T00:00Z")
    assert list_keys(f"?since={moment}") == ["b", "text"]


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
        ("?attribute.a=1&attribute.b=1&attribute.c=1&attribute.d=1", "attributes"),
        ("?search=a&search=b", "search"),
    ],
)
def test_invalid_query_parameters_are_reported(
    api: APIClient, address: Address, refused: Refused, query: str, name: str
) -> None:
    assert list(refused(api.get, address(f"items/{query}"))["fields"]) == [name]


def test_pages_contain_every_item(
    project: Project, api: APIClient, get_json: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search reads few items a page, so pages are short and some are empty."""
    monkeypatch.setattr(item_search, "MAX_ITEMS_SCANNED", 7)
    monkeypatch.setattr(item_search, "ITEMS_PER_READ", 3)
    for number in range(40):
        body = {"text": "yes" if number % 13 == 0 else "no"}
        Item.objects.create(project=project, key=f"k{number}", body=body)
    for query, expected_numbers in (
        ("?page_size=6", list(range(40))),
        ("?page_size=2&search=yes", [0, 13, 26, 39]),
        ("?page_size=2&search=text", []),
        ("?page_size=1&search=no", [n for n in range(40) if n % 13]),
        ("?page_size=3&max_ratings=0", list(range(40))),
    ):
        page = get_json(f"items/{query}")
        rows = page["results"]
        while page["next"]:
            page = api.get(page["next"]).json()
            rows += page["results"]
        assert [row["key"] for row in rows] == [f"k{number}" for number in expected_numbers]


def test_item_without_ratings_is_deleted_for_good(
    stored_items: None, api: APIClient, address: Address, project: Project, rate: Any
) -> None:
    assert api.delete(address("items/d/")).json() == {"deleted": True, "withdrawn": False}
    assert api.get(address("items/d/")).status_code == 404
    assert api.delete(address("items/d/")).status_code == 404
    rate(project.questions.get(), "a", "ann", "minor")
    rate(project.questions.get(), "a", "ann", None)  # its history is kept
    assert api.delete(address("items/a/")).json() == {"deleted": False, "withdrawn": True}
    assert api.get(address("items/a/")).json()["withdrawn"] is True
    assert Rating.objects.count() == 1


def test_open_item_is_withdrawn_instead_of_deleted(
    stored_items: None, api: APIClient, address: Address, annotator: User, client_for: Any
) -> None:
    annotator_client = client_for(annotator)
    project_id = Project.objects.get().pk
    assert "Köln" in annotator_client.get(f"/projects/{project_id}/rate/").content.decode()
    assert api.delete(address("items/a/")).json()["withdrawn"] is True
    item = Item.objects.get(key="a")
    question = item.project.questions.get()
    annotator_client.post(
        f"/projects/{project_id}/rate/{item.pk}/", {f"question-{question.pk}": "1"}
    )
    assert Rating.objects.get().code == 1


def test_raters_can_be_listed_and_deleted(
    stocked: Project,
    api: APIClient,
    address: Address,
    get_json: Any,
    rate: Any,
    viewer: User,
    api_for: Any,
) -> None:
    rate(stocked.questions.get(), "i1", "ben", "minor")
    rows = get_json("raters/")["results"]
    assert [row["key"] for row in rows] == ["ann", "ben", "cleo"]
    assert (
        rows[0]
        == get_json("raters/ann/")
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


def test_history_of_a_rating(
    stocked: Project, api: APIClient, address: Address, get_json: Any, annotator: User, api_for: Any
) -> None:
    for label in ("minor", "major", None):
        row = {"item": "i1", "rater": "ann", "label": label, "comment": f"{label}!"}
        assert api.post(address("ratings/"), row, format="json").status_code == 200
    revisions = get_json("ratings/history/?item=i1&rater=ann")["results"]
    assert [(revision["label"], revision["comment"], revision["by"]) for revision in revisions] == [
        ("minor", "minor!", "lead"),
        ("major", "major!", "lead"),
        (None, "None!", "lead"),
    ]
    assert {revision["source"] for revision in revisions} == {"api"}
    first_page = api.get(address("ratings/history/?item=i1&rater=ann&page_size=2")).json()
    assert len(first_page["results"]) == 2
    assert api.get(first_page["next"]).json()["results"] == revisions[2:]
    annotator_api = api_for(annotator)
    assert (
        len(annotator_api.get(address("ratings/history/?item=i1&rater=ann")).json()["results"]) == 3
    )
    assert (
        annotator_api.get(address("ratings/history/?item=i1&rater=ann")).json()["results"][0]["by"]
        is None
    )
    api.post(address("ratings/"), {"item": "i1", "rater": "ben", "label": "minor"}, format="json")
    assert annotator_api.get(address("ratings/history/?item=i1&rater=ben")).json()["results"] == []
    response = annotator_api.get(address("ratings/history/"))
    assert list(response.json()["error"]["fields"]) == ["item", "rater"]


def test_annotator_can_rate_through_the_api(
    stocked: Project, address: Address, annotator: User, api_for: Any, lead: User
) -> None:
    annotator_api = api_for(annotator)
    next_item = annotator_api.get(address("next/")).json()
    assert (
        next_item
        == annotator_api.get(address("next/")).json()
        == {
            "item": {"key": "i0", "body": {"text": "x"}, "version": 1},
            "exam": None,
            "notice": None,
            "guidelines_version": 0,
        }
    )
    data = {"item": "i0", "answers": {"severity": "major"}, "comment": "so", "flagged": True}
    response = annotator_api.post(address("next/"), data, format="json")
    assert response.json()["item"]["key"] == "i1"
    rating = Rating.objects.get()
    assert (rating.item.key, rating.code, rating.comment, rating.item_version) == ("i0", 2, "so", 1)
    assert rating.seconds is not None
    assert Assignment.objects.get(item__key="i0").flagged
    assert annotator_api.post(
        address("next/"), {**data, "answers": {"severity": "minor"}}, format="json"
    )
    assert Rating.objects.get().code == 1  # corrected
    skip_response = annotator_api.post(
        address("next/"), {"item": "i1", "skip": "too hard"}, format="json"
    )
    assert skip_response.json()["item"]["key"] == "i2"
    assert Assignment.objects.get(item__key="i1").skip_reason == "too hard"


@pytest.mark.parametrize(
    ("data", "status", "message"),
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
def test_invalid_answer_to_the_next_item_is_refused(
    stocked: Project,
    address: Address,
    annotator: User,
    api_for: Any,
    data: Any,
    status: int,
    message: str,
) -> None:
    annotator_api = api_for(annotator)
    annotator_api.get(address("next/"))
    response = annotator_api.post(address("next/"), data, format="json")
    assert response.status_code == status
    assert message in response.content.decode()
    assert not Rating.objects.exists()


def test_user_who_may_not_rate_gets_no_item(
    stocked: Project, address: Address, annotator: User, lead: User, api_for: Any
) -> None:
    assert api_for(lead).get(address("next/")).status_code == 403
    Rater.objects.filter(key="ann").update(paused=True)
    assert api_for(annotator).get(address("next/")).status_code == 403
    assert not Assignment.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        {"html": "<div>" * 60_000},
        {f"k{number}": 1 for number in range(60_000)},
        {"text": "x", "rest": [[] for _number in range(300_000)]},
        {"rest": {"text": "x" * 262_144}},
        {"rest": [{"a": "x" * 1_000} for _number in range(300)]},
        {"k" * 262_144: 1},
    ],
    ids=["html", "keys", "empty lists", "nested text", "list of texts", "long key"],
)
@pytest.mark.parametrize("name", ["body", "attributes"])
def test_large_item_is_rejected(
    name: str, body: Any, project: Project, lead: User, api_for: Any
) -> None:
    row = {"key": "large", "body": {"text": "x"}} | {name: body}
    response = api_for(lead).post(f"/api/v1/projects/{project.pk}/items/", row, format="json")
    assert response.status_code == 400
    assert "larger than 262144 characters" in str(response.json())
    assert not Item.objects.exists()


def test_item_just_below_the_limit_is_accepted(project: Project, lead: User, api_for: Any) -> None:
    row = {"key": "large", "body": {"text": "x" * 262_000}}
    response = api_for(lead).post(f"/api/v1/projects/{project.pk}/items/", row, format="json")
    assert response.json()["created"] == 1


def test_large_item_is_rejected_by_the_form_and_not_previewed(
    project: Project, lead: User, client_for: Any
) -> None:
    data: dict[str, Any] = {"key": "large"}
    for prefix, total in (("parts", 2), ("attributes", 0)):
        data |= {f"{prefix}-TOTAL_FORMS": total, f"{prefix}-INITIAL_FORMS": 0}
    for number in range(2):
        data |= {f"parts-{number}-name": f"p{number}", f"parts-{number}-value": "word " * 30_000}
    client = client_for(lead)
    page = client.post(f"/projects/{project.pk}/new-item/", data)
    assert page.status_code == 400 and "larger than 262144 characters" in page.text
    preview = client.post(f"/projects/{project.pk}/new-item/preview/", data)
    assert "word word" not in preview.text
    assert not Item.objects.exists()
