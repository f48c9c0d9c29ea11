"""Pages of errors say what may be done next."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from projects.models import Member

pytestmark = pytest.mark.django_db


def test_who_may_not_is_told_whom_to_ask(project, client_for, annotator, lead, stranger):
    lead.first_name, lead.last_name = "Lea", "Lovelace"
    lead.save()
    address = f"/projects/{project.pk}/setup/"
    page = client_for(annotator).get(address)
    assert page.status_code == 403
    assert "Ask who leads this project: Lea Lovelace." in page.content.decode()
    page = client_for(stranger).get(address)
    assert page.status_code == 404
    assert "Lovelace" not in page.content.decode()
    assert "may be mistyped" in page.content.decode()
    Member.objects.filter(project=project, role="lead").delete()
    assert "Ask who leads" not in client_for(annotator).get(address).content.decode()


def test_a_form_of_an_ended_session_says_that_nobody_is_signed_in(client_for, lead):
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = client_for(lead).cookies
    refused = strict.post("/projects/new/", {"name": "x"})
    assert refused.status_code == 403
    assert "Load it anew" in refused.content.decode()
    assert "your session may be over" not in refused.content.decode()
    ended = Client(enforce_csrf_checks=True).post("/projects/new/", {"name": "x"})
    assert ended.status_code == 403
    assert "your session may be over" in ended.content.decode()


def test_the_admin_begins_with_people_and_ends_with_internals(client_for, admin):
    page = client_for(admin).get("/admin/")
    text = page.content.decode()
    groups = [group["name"] for group in page.context["app_list"]]
    assert (groups[0], groups[-1]) == ("People and projects", "Internals")
    names = [model["object_name"] for model in page.context["app_list"][0]["models"]]
    assert names == ["User", "Group", "Project", "Member", "ApiToken"]
    assert "Concord: administration" in text
    assert "Django administration" not in text
    # Words as people write them: "alarm ruless", "pair tallys" and "Agreement_Site" stood there.
    said = [group["name"] for group in page.context["app_list"]]
    said += [model["name"] for group in page.context["app_list"] for model in group["models"]]
    assert [str(name) for name in said if re.search(r"ss$|[^aeo]ys$|_", str(name))] == []
