"""Tests of the tags of projects: how they are stored, searched and rejected."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from projects.models import Project
from projects.services.project_validation import normalize_tags


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("", ""),
        (" , ,", ""),
        ("medical", "medical"),
        ("round  2 ,medical,Medical", "round 2, Medical"),
        ("医学，第二轮", "医学, 第二轮"),
    ],
)
def test_tags_are_normalized(text: str, stored: str) -> None:
    assert normalize_tags(text) == stored


@pytest.fixture
def lead_client(lead: Any) -> Client:
    client = Client()
    client.force_login(lead)
    return client


@pytest.mark.django_db
def test_lead_sets_tags_and_searches_by_them(
    project: Project, lead_client: Client, make_project: Any, lead: Any
) -> None:
    other = make_project("Something else")
    other.members.create(user=lead, role="lead")
    address = reverse("project_settings", args=[project.pk])
    form = lead_client.get(address).context["form"]
    data = {name: form[name].value() or "" for name in form.fields}

    response = lead_client.post(address, data | {"tags": "medical, round 2"})
    assert response.status_code == 302
    project.refresh_from_db()
    assert project.tag_list == ["medical", "round 2"]

    page = lead_client.get(reverse("projects"), {"search": "round 2"}).text
    assert project.name in page
    assert "?search=round%202" in page
    assert "Something else" not in page


@pytest.mark.django_db
@pytest.mark.parametrize("tags", ["x" * 51, ",".join(map(str, range(11))), "a\tb\x07"])
def test_page_rejects_invalid_tags(project: Project, lead_client: Client, tags: str) -> None:
    address = reverse("project_settings", args=[project.pk])
    form = lead_client.get(address).context["form"]
    data = {name: form[name].value() or "" for name in form.fields}

    response = lead_client.post(address, data | {"tags": tags})
    assert response.status_code == 400
    assert "At most 10 tags of at most 50 characters." in response.text
    project.refresh_from_db()
    assert project.tags == ""


@pytest.mark.django_db
def test_api_sets_and_returns_tags(project: Project, lead_client: Client) -> None:
    address = f"/api/v1/projects/{project.pk}/"

    def patch(body: Any) -> Any:
        return lead_client.patch(address, body, content_type="application/json")

    assert patch({"tags": ["medical", "round 2"]}).json()["tags"] == ["medical", "round 2"]
    assert lead_client.get(address).json()["tags"] == ["medical", "round 2"]
    for invalid in ("medical", ["x" * 51], [str(n) for n in range(11)], [3]):
        response = patch({"tags": invalid})
        assert response.status_code == 400
        assert "tags" in response.json()["error"]["fields"]
    assert patch({"tags": []}).json()["tags"] == []


@pytest.mark.django_db
def test_search_of_the_header_finds_tags(project: Project, lead_client: Client) -> None:
    Project.objects.update(tags="medical, round 2")
    page = lead_client.get(reverse("search"), {"q": "round 2"})
    assert project.name in page.text
