"""Tests of the page that users see after signing in."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.cast import PASSWORD

pytestmark = pytest.mark.django_db


def get_landing_page(name: str) -> str:
    """Sign in and return the address of the redirect."""
    credentials = {"username": name, "password": PASSWORD}
    return str(Client().post("/sign-in/", credentials)["Location"])


def test_annotator_of_one_project_lands_on_the_annotation_page(project, annotator, client_for):
    assert get_landing_page(annotator.username) == f"/projects/{project.pk}/rate/"
    # The sign-in page redirects there as well when the user is already signed in.
    response = client_for(annotator).get("/sign-in/")
    assert response["Location"] == f"/projects/{project.pk}/rate/"


def test_annotator_of_two_projects_lands_on_the_list(project, annotator, make_project):
    make_project("Another").members.create(user=annotator, role="annotator")
    assert get_landing_page(annotator.username) == "/"


@pytest.mark.parametrize("username", ["lead", "viewer", "stranger", "admin"])
def test_other_users_land_on_the_list(project, username, request):
    assert get_landing_page(request.getfixturevalue(username).username) == "/"
