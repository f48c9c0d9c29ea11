"""Where people begin after the door."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.cast import PASSWORD

pytestmark = pytest.mark.django_db


def landing(name: str) -> str:
    given = {"username": name, "password": PASSWORD}
    return str(Client().post("/sign-in/", given)["Location"])


def test_an_annotator_of_one_project_lands_on_the_desk(project, annotator, client_for):
    assert landing(annotator.username) == f"/projects/{project.pk}/rate/"
    # So does who opens the door again while signed in.
    again = client_for(annotator).get("/sign-in/")
    assert again["Location"] == f"/projects/{project.pk}/rate/"


def test_with_two_projects_the_annotator_chooses(project, annotator, make_project):
    make_project("Another").members.create(user=annotator, role="annotator")
    assert landing(annotator.username) == "/"


@pytest.mark.parametrize("who", ["lead", "viewer", "stranger", "admin"])
def test_all_others_land_on_the_list(project, who, request):
    assert landing(request.getfixturevalue(who).username) == "/"
