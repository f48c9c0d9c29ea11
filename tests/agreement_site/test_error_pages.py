"""Tests that error pages say what the user can do next."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from projects.models import Member

pytestmark = pytest.mark.django_db


def test_forbidden_page_names_the_leads(project, client_for, annotator, lead, stranger):
    lead.first_name, lead.last_name = "Lea", "Lovelace"
    lead.save()
    address = f"/projects/{project.pk}/settings/"
    page = client_for(annotator).get(address)
    assert page.status_code == 403
    assert "Ask a project lead: Lea Lovelace." in page.content.decode()
    page = client_for(stranger).get(address)
    assert page.status_code == 404
    assert "Lovelace" not in page.content.decode()
    assert "Check the address." in page.content.decode()
    assert "wrong account" not in page.content.decode()
    Member.objects.filter(project=project, role="lead").delete()
    assert "Ask a project lead" not in client_for(annotator).get(address).content.decode()


UNKNOWN_ADDRESSES = [
    ("items/no-such/", "Item “no-such” not found.", "items/"),
    ("raters/nobody/", "Rater “nobody” not found.", "raters/"),
    ("pairs/?a=nobody&b=ann", "Rater “nobody” not found.", "raters/"),
    ("pairs/?a=ann&b=ann", "Choose two different raters.", "pairs/"),
    ("?question=odd", "Question “odd” not found.", "questions/"),
    ("?coefficient=odd", "“coefficient” must be one of ", ""),
    ("no-such-page/", "Check the address.", ""),
    ("settings/questions/odd/", "Check the address.", "settings/"),
    ("items/?attribute=odd", "Use attribute=value, such as language=de.", "items/"),
]


@pytest.mark.parametrize(("path", "message", "link"), UNKNOWN_ADDRESSES)
def test_not_found_page_keeps_the_navigation_of_the_project(
    project, question, rate, client_for, lead, path, message, link
):
    rate(question, "i1", "ann", "none")
    root = f"/projects/{project.pk}/"
    page = client_for(lead).get(f"{root}{path}")
    text = html.unescape(page.content.decode())
    assert page.status_code == (400 if "attribute" in path else 404)
    assert message in text
    assert 'id="rail"' in text
    main = text.split("<main", 1)[1].split("</main>")[0]
    assert f'href="{root}{link}"' in main
    assert "have access" not in main


@pytest.mark.parametrize("path", [path for path, *_others in UNKNOWN_ADDRESSES])
def test_not_found_page_hides_projects_from_strangers(
    project, question, client_for, stranger, path
):
    """The page is the same as for a project that does not exist."""
    client = client_for(stranger)

    def read_body(project_id):
        page = client.get(f"/projects/{project_id}/{path}")
        assert page.status_code == 404
        text = re.sub(r'name="(csrfmiddlewaretoken|next)" value="[^"]*"', "", page.content.decode())
        return text.split("<body", 1)[1]

    assert read_body(project.pk) == read_body(project.pk + 999)
    assert project.name not in read_body(project.pk)
    page = Client().get(f"/projects/{project.pk}/no-such/")
    assert project.name not in page.content.decode()


def test_forbidden_page_keeps_navigation_and_links_to_start(
    project, question, client_for, annotator, viewer
):
    root = f"/projects/{project.pk}/"
    page = client_for(annotator).get(f"{root}items/").content.decode()
    assert 'id="rail"' in page
    assert f'href="{root}rate/"' in page.split("<main", 1)[1].split("</main>")[0]
    page = client_for(viewer).get(f"{root}settings/").content.decode()
    main = page.split("<main", 1)[1].split("</main>")[0]
    assert f'href="{root}"' in main
    assert f'href="{root}settings/"' not in main


def test_form_of_an_ended_session_reports_it(client_for, lead):
    csrf_client = Client(enforce_csrf_checks=True)
    csrf_client.cookies = client_for(lead).cookies
    rejected = csrf_client.post("/projects/new/", {"name": "x"})
    assert rejected.status_code == 403
    assert "Reload and try again" in rejected.content.decode()
    assert "Your session expired" not in rejected.content.decode()
    ended = Client(enforce_csrf_checks=True).post("/projects/new/", {"name": "x"})
    assert ended.status_code == 403
    assert "Your session expired" in ended.content.decode()


def test_admin_index_lists_people_first_and_internals_last(client_for, admin):
    page = client_for(admin).get("/admin/")
    text = page.content.decode()
    groups = [group["name"] for group in page.context["app_list"]]
    assert (groups[0], groups[-1]) == ("People and projects", "Internals")
    names = [model["object_name"] for model in page.context["app_list"][0]["models"]]
    assert names == ["User", "Group", "Project", "Member", "ApiToken"]
    in_chinese = client_for(admin).get("/admin/", headers={"accept-language": "zh-hans"})
    first_models = in_chinese.context["app_list"][0]["models"]
    assert [str(model["name"]) for model in first_models] == [
        "用户",
        "组",
        "项目",
        "成员",
        "API 令牌",
    ]
    assert "Concord: administration" in text
    assert "Django administration" not in text
    # Regression: "alarm ruless", "pair tallys" and "Agreement_Site" were shown.
    displayed_names = [group["name"] for group in page.context["app_list"]]
    displayed_names += [
        model["name"] for group in page.context["app_list"] for model in group["models"]
    ]
    assert [str(name) for name in displayed_names if re.search(r"ss$|[^aeo]ys$|_", str(name))] == []
    # The first group is expanded, all others are collapsed; and a link leads back to the site.
    assert re.findall(r"<details class=\"app-(\w+)", text)[-1] == "internals"
    assert text.count('<details class="app-') == len(groups) - 1
    assert "<details open" not in text and "app-first" not in text[text.index("<details") :]
    assert '<a class="way-back" href="/">Back to projects</a>' in text
    user_list = client_for(admin).get("/admin/auth/user/").text
    assert 'class="way-back"' in user_list
