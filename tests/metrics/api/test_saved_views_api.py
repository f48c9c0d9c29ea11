"""Views under a name, over the API."""

from __future__ import annotations

from typing import Any

import pytest

from metrics.models import NamedView

pytestmark = pytest.mark.django_db


@pytest.fixture
def address(question: Any) -> str:
    return f"/api/v1/projects/{question.project_id}/views/"


def test_a_view_is_made_listed_opened_and_deleted(
    address: str, question: Any, api_for: Any, client_for: Any, lead: Any, viewer: Any
) -> None:
    api = api_for(lead)
    given = {"page": "dashboard", "name": "People", "query": "?kind=human&item.language=de"}
    made = api.post(address, given, format="json")
    assert made.status_code == 201
    shown = made.json()
    query = f"question={question.key}&kind=human&item.language=de"
    assert (shown["query"], shown["name"], shown["by"]) == (query, "People", "lead")
    assert api_for(viewer).get(address).json()["results"] == [shown]
    menu = client_for(viewer).get(f"/projects/{question.project_id}/").content.decode()
    assert "People</a>" in menu
    page = f"/projects/{question.project_id}/?{query}"
    assert client_for(viewer).get(page).status_code == 200
    assert api.delete(f"{address}{shown['id']}/").json() == {"deleted": True}
    assert not NamedView.objects.exists()
    assert api.delete(f"{address}{shown['id']}/").status_code == 404


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"page": "people", "name": "x"}, "page"),
        ({"page": "raters"}, "name"),
        ({"page": "raters", "name": " "}, "name"),
        ({"page": "raters", "name": "x", "query": "period=day"}, "query"),
        ({"page": "items", "name": "x", "query": "item.language=de"}, "query"),
        ({"page": "raters", "name": "x", "query": "question=none"}, "question"),
        ({"page": "raters", "name": "x", "query": "search=" + "y" * 1000}, "query"),
        ({"page": "dashboard", "name": "x", "query": "from=yesterday"}, "name"),
        ({"page": "raters", "name": "Taken"}, "name"),
    ],
)
def test_what_cannot_be_kept_is_refused(
    given: dict[str, str], field: str, address: str, api_for: Any, lead: Any
) -> None:
    api = api_for(lead)
    assert api.post(address, {"page": "raters", "name": "Taken"}, format="json").status_code == 201
    answer = api.post(address, given, format="json")
    assert answer.status_code == 400
    assert list(answer.json()["error"]["fields"]) == [field]
    assert NamedView.objects.count() == 1


def test_a_viewer_learns_of_no_view_that_tells_of_gold(
    address: str, api_for: Any, lead: Any, viewer: Any
) -> None:
    api = api_for(lead)
    for name, query in (("Gold", "state=gold"), ("All", "")):
        assert (
            api.post(
                address, {"page": "items", "name": name, "query": query}, format="json"
            ).status_code
            == 201
        )
    names = [row["name"] for row in api.get(address).json()["results"]]
    assert names == ["Gold", "All"]
    assert [row["name"] for row in api_for(viewer).get(address).json()["results"]] == ["All"]
