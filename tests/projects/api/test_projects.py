"""Projects through the API."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from projects.models import Member, Project
from projects.services.questions import change_weights
from ratings.models import Rating

PATH = "/api/v1/projects/"
ErrorFunction = Callable[..., dict[str, Any]]


def build_question(**fields: Any) -> dict[str, Any]:
    defaults = {
        "key": "severity",
        "text": "How bad is it?",
        "scale": "ordinal",
        "categories": [{"label": "none"}, {"label": "minor"}, {"label": "major"}],
    }
    return defaults | fields


def build_body(**fields: Any) -> dict[str, Any]:
    return {"name": "Reviews", "questions": [build_question()]} | fields


def test_created_project_is_complete_and_led_by_its_creator(api: APIClient, lead: User) -> None:
    project_data = build_body(
        name="  Reviews ",
        description="What for",
        guidelines="# How",
        overlap=5,
        time_zone="Asia/Shanghai",
        questions=[
            build_question(
                weights="custom",
                weight_matrix=[[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]],
                categories=[
                    {"label": "none", "value": 0, "hotkey": "n"},
                    {"label": "minor", "value": 1.5, "hotkey": "m"},
                    {"label": "major", "value": 4, "hotkey": "j"},
                ],
            ),
            build_question(
                key="spam", scale="nominal", categories=[{"label": "yes"}, {"label": "no"}]
            ),
        ],
    )
    response = api.post(PATH, project_data, format="json")

    assert response.status_code == 201
    project = response.json()
    assert project == api.get(f"{PATH}{project['id']}/").json()
    assert api.get(PATH).json() == {"next": None, "results": [project]}
    assert {
        name: project[name]
        for name in ("name", "description", "guidelines", "overlap", "time_zone", "role")
    } == {
        "name": "Reviews",
        "description": "What for",
        "guidelines": "# How",
        "overlap": 5,
        "time_zone": "Asia/Shanghai",
        "role": "lead",
    }
    first, second = project["questions"]
    assert first == {
        **project_data["questions"][0],
        "text": "How bad is it?",
        "weights_confirmed": True,
    }
    assert second["weights"] == "none"
    assert second["weight_matrix"] is None
    assert second["categories"][0] == {"label": "yes", "value": None, "hotkey": ""}
    assert list(Member.objects.values_list("user", "role")) == [(lead.pk, "lead")]


def test_new_project_has_default_settings(api: APIClient) -> None:
    project = api.post(PATH, build_body(), format="json").json()
    assert (
        project["description"],
        project["guidelines"],
        project["overlap"],
        project["time_zone"],
    ) == (
        "",
        "",
        3,
        "UTC",
    )


INVALID_BODIES = [
    ({"name": ""}, "name"),
    ({"name": None}, "name"),
    ({"name": 3}, "name"),
    ({"name": "x" * 201}, "name"),
    ({"name": "two\nlines"}, "name"),
    ({"overlap": 0}, "overlap"),
    ({"overlap": "3"}, "overlap"),
    ({"overlap": True}, "overlap"),
    ({"overlap": 3.0}, "overlap"),
    ({"overlap": 10**30}, "overlap"),
    ({"time_zone": "Mars/Olympus"}, "time_zone"),
    ({"owner": "me"}, "owner"),
    ({"id": 7}, "id"),
    ({"questions": []}, "questions"),
    ({"questions": {}}, "questions"),
    ({"questions": None}, "questions"),
    ({"questions": ["severity"]}, "questions"),
    ({"questions": [build_question()] * 51}, "questions"),
]


@pytest.mark.parametrize(("change", "field"), INVALID_BODIES)
def test_invalid_project_error_names_the_field(
    api: APIClient, refused: ErrorFunction, change: dict[str, Any], field: str
) -> None:
    assert list(refused(api.post, PATH, build_body(**change))["fields"]) == [field]


INVALID_QUESTIONS = [
    ({"key": "two words"}, ["key"], "letters"),
    ({"key": ""}, ["key"], "blank"),
    ({"scale": "ratings"}, ["scale"], "one of nominal, ordinal, interval, ratio"),
    ({"scale": 3}, ["scale"], "one of nominal, ordinal, interval, ratio"),
    ({"weights": "cubic"}, ["weights"], "one of none, linear, quadratic, custom"),
    ({"colour": "red"}, ["colour"], "unknown field; one of key, text, scale"),
    ({"categories": [{"label": "only"}]}, ["categories"], "Enter 2 to"),
    ({"categories": [{"label": str(n)} for n in range(51)]}, ["categories"], "50"),
    ({"categories": [{"label": "a"}, {"label": "a"}]}, ["categories", "1", "label"], "stands"),
    ({"categories": [{"label": "a"}, {"label": ""}]}, ["categories", "1", "label"], "blank"),
    (
        {"categories": [{"label": "a"}, {"label": 2}]},
        ["categories", "1", "label"],
        "A text is needed, not 2",
    ),
    (
        {"categories": [{"label": "a", "hotkey": "1"}, {"label": "b", "hotkey": "1"}]},
        ["categories", "1", "hotkey"],
        "stands",
    ),
    (
        {"categories": [{"label": "a", "hotkey": "12"}, {"label": "b"}]},
        ["categories", "0", "hotkey"],
        "1",
    ),
    *(
        (
            {"categories": [{"label": "a", "hotkey": key}, {"label": "b"}]},
            ["categories", "0", "hotkey"],
            f"“{key}” is reserved (U, S, C, F, G, ?).",
        )
        for key in "uscfgU?"
    ),
    (
        {"categories": [{"label": "a", "value": "1"}, {"label": "b"}]},
        ["categories", "0", "value"],
        "number",
    ),
    (
        {"categories": [{"label": "a", "value": True}, {"label": "b"}]},
        ["categories", "0", "value"],
        "number",
    ),
    (
        {"categories": [{"label": "a", "value": 10**400}, {"label": "b"}]},
        ["categories", "0", "value"],
        "number",
    ),
    ({"scale": "interval"}, ["categories", "0", "value"], "need values"),
    ({"weights": "custom"}, ["weight_matrix"], "need"),
    ({"weight_matrix": [[1, 0], [0, 1]]}, ["weight_matrix"], "3"),
    ({"weight_matrix": [[1, 0, 0], [0, 1], [0, 0, 1]]}, ["weight_matrix"], "Row 2"),
    ({"weight_matrix": [[1, 0, 0], [0, 1, 0.25], [0, 0.5, 1]]}, ["weight_matrix"], "row 3"),
    ({"weight_matrix": [[1, 0, 0], [0, 0.5, 0], [0, 0, 1]]}, ["weight_matrix"], "row 2"),
    ({"weight_matrix": [[1, 0, 0], [0, 1, 7], [0, 7, 1]]}, ["weight_matrix"], "row 2"),
    ({"weight_matrix": "none"}, ["weight_matrix"], "list"),
]


@pytest.mark.parametrize(("change", "path", "words"), INVALID_QUESTIONS)
def test_invalid_question_error_names_the_path(
    api: APIClient, refused: ErrorFunction, change: dict[str, Any], path: list[str], words: str
) -> None:
    error = refused(
        api.post, PATH, build_body(questions=[build_question(key="fine"), build_question(**change)])
    )
    errors = error["fields"]["questions"]["1"]
    for name in path:
        errors = errors[name]
    assert words in str(errors)


def test_duplicate_question_keys_are_rejected(api: APIClient, refused: ErrorFunction) -> None:
    error = refused(api.post, PATH, build_body(questions=[build_question(), build_question()]))
    assert "0" in error["fields"]["questions"]["1"]["key"]


def test_patch_changes_only_the_given_fields(
    api: APIClient, project: Project, address: Callable[..., str]
) -> None:
    response = api.patch(
        address(), {"name": "New", "overlap": 7, "guidelines": "# Read"}, format="json"
    )
    assert response.status_code == 200
    project.refresh_from_db()
    assert (project.name, project.overlap, project.guidelines, project.time_zone) == (
        "New",
        7,
        "# Read",
        "UTC",
    )
    assert response.json() == api.get(address()).json()


def test_empty_patch_changes_nothing(api: APIClient, address: Callable[..., str]) -> None:
    before = api.get(address()).json()
    assert api.patch(address(), {}, format="json").json() == before


def test_new_time_zone_moves_the_days_of_ratings(
    api: APIClient,
    question: Any,
    address: Callable[..., str],
    rate: Callable[..., Any],
    utc: Callable[..., Any],
) -> None:
    rate(question, "i1", "ann", "minor", rated_at=utc(2026, 3, 1, 22))
    before = Rating.objects.get().day
    assert api.patch(address(), {"time_zone": "Asia/Shanghai"}, format="json").status_code == 200
    assert Rating.objects.get().day == before + 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"overlap": -1}, "overlap"),
        ({"time_zone": ""}, "time_zone"),
        ({"questions": []}, "questions"),
        ({"created_by": 1}, "created_by"),
        ([{"name": "x"}], "body"),
    ],
)
def test_invalid_patch_error_names_the_field(
    api: APIClient, refused: ErrorFunction, address: Callable[..., str], change: Any, field: str
) -> None:
    assert list(refused(api.patch, address(), change)["fields"]) == [field]


def test_list_is_paginated_by_cursor(
    api: APIClient, lead: User, make_project: Callable[..., Project]
) -> None:
    projects = [make_project(f"P{number}") for number in range(5)]
    Member.objects.bulk_create(
        Member(project=project, user=lead, role="viewer") for project in projects
    )
    names: list[str] = []
    path = f"{PATH}?page_size=2"
    pages = 0
    while path:
        response = api.get(path).json()
        names += [row["name"] for row in response["results"]]
        path = response["next"]
        pages += 1
    assert names == ["P0", "P1", "P2", "P3", "P4"]
    assert pages == math.ceil(5 / 2)


def test_past_scale_versions_are_listed(
    project: Project, question: Any, lead: Any, api_for: Any
) -> None:
    matrix = [[1, 0.5, 0.2, 0], [0.5, 1, 0.5, 0], [0.2, 0.5, 1, 0.5], [0, 0, 0.5, 1]]
    change_weights(question=question, weights="custom", matrix=matrix, by=lead, reason="as agreed")
    change_weights(question=question, weights="linear", matrix=matrix, by=lead)
    api, address = api_for(lead), f"/api/v1/projects/{project.pk}/scales/?page_size=2"
    first_page = api.get(address).json()
    rows = first_page["results"] + api.get(first_page["next"]).json()["results"]
    assert [row["version"] for row in rows] == [1, 2, 3]
    assert [row["weights"] for row in rows] == ["none", "custom", "linear"]
    assert [row["reason"] for row in rows] == ["as agreed", "", ""]
    assert rows[1]["weight_matrix"] == matrix
    assert [row["until"] is None for row in rows] == [False, False, True]
    assert [row["changed_by"] for row in rows] == ["lead", "lead", None]
    assert rows[2]["categories"][0] == {"code": 0, "label": "none", "value": 0}
