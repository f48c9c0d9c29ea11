"""Saved views through the API."""

from __future__ import annotations

from typing import Any

import pytest

from metrics.models import SavedView

pytestmark = pytest.mark.django_db


@pytest.fixture
def address(question: Any) -> str:
    return f"/api/v1/projects/{question.project_id}/views/"


def test_view_is_created_listed_opened_and_deleted(
    address: str, question: Any, api_for: Any, client_for: Any, lead: Any, viewer: Any
) -> None:
    api = api_for(lead)
    payload = {"page": "dashboard", "name": "People", "query": "?kind=human&item.language=de"}
    response = api.post(address, payload, format="json")
    assert response.status_code == 201
    view = response.json()
    query = f"question={question.key}&kind=human&item.language=de"
    assert (view["query"], view["name"], view["created_by"]) == (query, "People", "lead")
    assert api_for(viewer).get(address).json()["results"] == [view]
    menu = client_for(viewer).get(f"/projects/{question.project_id}/").content.decode()
    assert "People</a>" in menu
    page = f"/projects/{question.project_id}/?{query}"
    assert client_for(viewer).get(page).status_code == 200
    assert api.delete(f"{address}{view['id']}/").json() == {"deleted": True}
    assert not SavedView.objects.exists()
    assert api.delete(f"{address}{view['id']}/").status_code == 404


@pytest.mark.parametrize(
    ("payload", "field"),
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
def test_invalid_view_is_refused(
    payload: dict[str, str], field: str, address: str, api_for: Any, lead: Any
) -> None:
    api = api_for(lead)
    assert api.post(address, {"page": "raters", "name": "Taken"}, format="json").status_code == 201
    response = api.post(address, payload, format="json")
    assert response.status_code == 400
    assert list(response.json()["error"]["fields"]) == [field]
    assert SavedView.objects.count() == 1


def test_view_about_gold_is_hidden_from_viewers(
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
