"""Tests of the command palette's results, which follow the permissions of the pages they link to."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from projects.models import Member

pytestmark = pytest.mark.django_db


@pytest.fixture
def search_palette(project, question, rate, make_project):
    """Return ``search_palette(client, text)``: label -> address of each result in the project."""
    rate(question, "post-7", "w1", "minor")
    make_project("Severity of others")

    def search(client, text, **query):
        parameters = {"q": text, "project": project.pk} | query
        page = client.get("/search/", parameters, headers={"X-Palette": "1"}).content.decode()
        assert "<html" not in page
        matches = re.findall(r'href="([^"]*)"><span class="found__words">([^<]*)</span>', page)
        return {words: url for url, words in matches}

    return search


def test_lead_finds_pages_by_name(search_palette, project, client_for, lead):
    client = client_for(lead)
    expected_urls = {
        "post": f"/projects/{project.pk}/items/post-7/",
        "sever": f"/projects/{project.pk}/?question=severity",
        "w1": f"/projects/{project.pk}/raters/w1/",
        "invite": f"/projects/{project.pk}/people/",
        "pause w1": f"/projects/{project.pk}/raters/w1/",
        project.name.lower(): f"/projects/{project.pk}/",
    }
    for text, url in expected_urls.items():
        results = search_palette(client, text)
        assert url in results.values(), text
        assert "Severity of others" not in results
        for address in results.values():
            assert client.get(address.split("#")[0]).status_code == 200, address
    synonyms = {
        "Share": f"/projects/{project.pk}/",
        "download": f"/projects/{project.pk}/data/",
        "Scott": f"/projects/{project.pk}/coefficients/",
        "duplicate": f"/projects/{project.pk}/archive/",
        "sign out": reverse("tokens"),
    }
    for text, url in synonyms.items():
        assert url in search_palette(client, text).values(), text
    assert f"/projects/{project.pk}/labels/" in search_palette(client, "").values()
    assert search_palette(client, "no such thing") == {}


def test_results_follow_permissions(search_palette, project, client_for, annotator, stranger):
    annotator_client = client_for(annotator)
    for text in ("post", "w1", "sever", "pause w1", "invite"):
        assert search_palette(annotator_client, text) == {}
    for url in search_palette(annotator_client, "").values():
        assert annotator_client.get(url).status_code == 200
    assert client_for(stranger).get("/search/", {"project": project.pk}).status_code == 404
    assert search_palette(client_for(stranger), project.name, project="") == {}


def test_invalid_search_is_rejected(client_for, lead):
    client = client_for(lead)
    for query in ({"q": "x" * 201}, {"project": "one"}, {"project": "9" * 19}):
        assert client.get("/search/", query).status_code == 400
    assert client.get("/search/", {"q": "x" * 200}).status_code == 200
    assert client.get("/style-guide/").status_code == 404  # for staff alone


def test_search_page_works_without_javascript(search_palette, project, client_for, lead):
    Member.objects.filter(user=lead).update(role="viewer")
    page = client_for(lead).get("/search/", {"q": "post", "project": project.pk}).content.decode()
    assert f'href="/projects/{project.pk}/items/post-7/"' in page
    assert 'name="project" value=' in page


def test_raters_of_led_projects_are_found_outside_of_a_project(
    search_palette, project, client_for, lead, annotator
):
    results = search_palette(client_for(lead), "w1", project="")
    assert f"/projects/{project.pk}/raters/w1/" in results.values()
    assert any(project.name in label for label in results)
    assert not search_palette(client_for(annotator), "w1", project="")
