"""The palette's answers: by the rules of the pages that it leads to."""

from __future__ import annotations

import re

import pytest

from projects.models import Member

pytestmark = pytest.mark.django_db


@pytest.fixture
def found(project, question, rate, make_project):
    """``found(client, text)``: what goes by the text in the project: words -> address."""
    rate(question, "post-7", "w1", "minor")
    make_project("Severity of others")

    def do(client, text, **query):
        asked = {"q": text, "project": project.pk} | query
        page = client.get("/find/", asked, headers={"X-Palette": "1"}).content.decode()
        assert "<html" not in page
        lines = re.findall(r'href="([^"]*)"><span class="found__words">([^<]*)</span>', page)
        return {words: url for url, words in lines}

    return do


def test_a_lead_finds_what_goes_by_the_name_and_gets_there(found, project, client_for, lead):
    client = client_for(lead)
    wanted = {
        "post": f"/projects/{project.pk}/items/post-7/",
        "sever": f"/projects/{project.pk}/?question=severity",
        "w1": f"/projects/{project.pk}/raters/w1/",
        "invite": f"/projects/{project.pk}/people/",
        "pause w1": f"/projects/{project.pk}/raters/w1/",
        project.name.lower(): f"/projects/{project.pk}/",
    }
    for text, url in wanted.items():
        lines = found(client, text)
        assert url in lines.values(), text
        assert "Severity of others" not in lines
        for address in lines.values():
            assert client.get(address.split("#")[0]).status_code == 200, address
    assert f"/projects/{project.pk}/labels/" in found(client, "").values()
    assert found(client, "no such thing") == {}


def test_nobody_finds_what_they_may_not_see(found, project, client_for, annotator, stranger):
    mine = client_for(annotator)
    for text in ("post", "w1", "sever", "pause w1", "invite"):
        assert found(mine, text) == {}
    for url in found(mine, "").values():
        assert mine.get(url).status_code == 200
    assert client_for(stranger).get("/find/", {"project": project.pk}).status_code == 404
    assert found(client_for(stranger), project.name, project="") == {}


def test_what_cannot_be_looked_for_is_refused(client_for, lead):
    client = client_for(lead)
    for query in ({"q": "x" * 201}, {"project": "one"}, {"project": "9" * 19}):
        assert client.get("/find/", query).status_code == 400
    assert client.get("/find/", {"q": "x" * 200}).status_code == 200
    assert client.get("/style/").status_code == 404  # for staff alone


def test_a_page_for_browsers_without_scripts(found, project, client_for, lead):
    Member.objects.filter(user=lead).update(role="viewer")
    page = client_for(lead).get("/find/", {"q": "post", "project": project.pk}).content.decode()
    assert f'href="/projects/{project.pk}/items/post-7/"' in page
    assert 'name="project" value=' in page
