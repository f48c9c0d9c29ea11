"""Setting a project up by API: questions, archive, invitations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from projects.models import Category, Member, MemberOffer, Project, Question

Address = Callable[..., str]
NEW_QUESTION: dict[str, Any] = {
    "key": "tone",
    "text": "Which tone?",
    "scale": "nominal",
    "categories": [{"label": "formal"}, {"label": "informal", "hotkey": "i"}],
}


def test_question_is_added_and_listed(api: Any, address: Address, question: Question) -> None:
    response = api.post(address("questions/"), NEW_QUESTION, format="json")
    assert response.status_code == 201, response.content
    location = response["Location"]
    assert location.endswith(address("questions/tone/"))
    assert api.get(location).json() == response.json()
    assert response.json()["categories"] == [
        {"label": "formal", "value": None, "hotkey": ""},
        {"label": "informal", "value": None, "hotkey": "i"},
    ]
    listed = api.get(address("questions/")).json()
    assert listed["next"] is None
    assert [row["key"] for row in listed["results"]] == [question.key, "tone"]
    first_page = api.get(address("questions/?page_size=1")).json()
    assert [row["key"] for row in first_page["results"]] == [question.key]
    second_page = api.get(first_page["next"]).json()
    assert [row["key"] for row in second_page["results"]] == ["tone"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"key": "severity"}, "key"),
        ({"key": "no blanks"}, "key"),
        ({"scale": "colours"}, "scale"),
        ({"scale": "interval"}, "categories"),
        ({"categories": [{"label": "one"}]}, "categories"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_invalid_question_is_not_added(
    change: dict[str, Any], field: str, api: Any, address: Address, question: Question
) -> None:
    response = api.post(address("questions/"), NEW_QUESTION | change, format="json")
    assert response.status_code == 400
    assert field in response.json()["error"]["fields"]
    assert Question.objects.get() == question


def test_question_is_changed(api: Any, address: Address, question: Question, rate: Any) -> None:
    """Renamed and reordered categories keep their ratings."""
    rating = rate(question, "i1", "ann", "major")
    code = Category.objects.get(question=question, label="major").code
    body = {
        "text": "How severe?",
        "categories": [
            {"label": "none"},
            {"label": "minor"},
            {"label": "serious", "renames": "major", "hotkey": "z"},
            {"label": "critical"},
            {"label": "fatal", "value": 25},
        ],
    }
    response = api.patch(address("questions/severity/"), body, format="json")
    assert response.status_code == 200, response.content
    assert response.json()["text"] == "How severe?"
    labels = [category["label"] for category in response.json()["categories"]]
    assert labels == ["none", "minor", "serious", "critical", "fatal"]
    assert Category.objects.get(question=question, code=code).label == "serious"
    ratings = api.get(address("ratings/")).json()["results"]
    assert [row["label"] for row in ratings] == ["serious"]
    assert rating


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"text": ""}, "text"),
        ({"categories": [{"label": "none"}, {"label": "minor"}]}, "categories"),  # "major" is used
        ({"categories": [{"label": "a", "renames": "absent"}, {"label": "b"}]}, "categories"),
        ({"text": "Changed?", "categories": [{"label": "a"}, {"label": "b"}]}, "categories"),
        ({"key": "other"}, "key"),
    ],
)
def test_invalid_change_of_a_question_changes_nothing(
    body: dict[str, Any], field: str, api: Any, address: Address, question: Question, rate: Any
) -> None:
    rate(question, "i1", "ann", "major")
    before = api.get(address("questions/severity/")).json()
    response = api.patch(address("questions/severity/"), body, format="json")
    assert response.status_code == 400
    assert field in response.json()["error"]["fields"]
    assert api.get(address("questions/severity/")).json() == before


def test_project_is_archived_and_restored(api: Any, address: Address, project: Project) -> None:
    archived = api.post(address("archive/"), {}, format="json")
    assert archived.status_code == 200, archived.content
    assert archived.json()["archived_at"] is not None
    restored = api.post(address("archive/"), {"archived": False}, format="json")
    assert restored.json()["archived_at"] is None
    refused = api.post(address("archive/"), {"archived": "no"}, format="json")
    assert refused.status_code == 400
    assert "archived" in refused.json()["error"]["fields"]


def test_new_account_gets_a_link(api: Any, address: Address, project: Project) -> None:
    body = {"username": "nora", "role": "viewer"}
    response = api.post(address("invitations/"), body, format="json")
    assert response.status_code == 201, response.content
    link = response.json().pop("link")
    assert response.json() | {"link": None} == {
        "username": "nora", "role": "viewer", "state": "member", "link": None,
    }  # fmt: skip
    assert Member.objects.get(project=project, user__username="nora").role == "viewer"
    assert not User.objects.get(username="nora").has_usable_password()
    page = Client().get(link, follow=True)
    assert page.status_code == 200
    assert "new_password1" in page.content.decode()
    again = api.post(address("invitations/"), body, format="json")
    assert again.status_code == 400
    assert "username" in again.json()["error"]["fields"]


def test_owner_of_an_account_is_asked(
    api: Any, address: Address, project: Project, make_user: Callable[..., User]
) -> None:
    """Nothing tells whether an account exists that the caller does not know."""
    owner = make_user("otto")
    owner.set_password("a long passphrase of otto")
    owner.save()
    responses = [
        api.post(address("invitations/"), {"username": name, "account": "existing"}, format="json")
        for name in ("otto", "nobody")
    ]
    assert [response.status_code for response in responses] == [201, 201]
    bodies = [response.json() | {"username": ""} for response in responses]
    assert bodies == [{"username": "", "role": "annotator", "state": "invited", "link": None}] * 2
    assert MemberOffer.objects.filter(project=project, user=owner).exists()
    assert not Member.objects.filter(project=project, user=owner).exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "username"),
        ({"username": "nora", "role": "boss"}, "role"),
        ({"username": "no\u200bra"}, "username"),
        ({"username": "nora", "account": "any"}, "account"),
    ],
)
def test_invalid_invitation_creates_nothing(
    body: dict[str, Any], field: str, api: Any, address: Address
) -> None:
    n_users = User.objects.count()
    response = api.post(address("invitations/"), body, format="json")
    assert response.status_code == 400
    assert field in response.json()["error"]["fields"]
    assert User.objects.count() == n_users
