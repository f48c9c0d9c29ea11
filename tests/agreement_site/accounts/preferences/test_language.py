"""Which language a page speaks, and that the API and the clock of a project do not depend on it."""

from __future__ import annotations

import json
import re

import pytest
from django.apps import apps
from django.conf import settings
from django.db.models import Model
from django.test import Client
from django.utils import translation

from agreement_site.models import Preference
from metrics import tasks
from metrics.jobs.question_updates import update_question
from ratings.models import ImportRun, Revision
from tests.ratings.imports.wizard_client import Wizard

pytestmark = pytest.mark.django_db
CHINESE = {"HTTP_ACCEPT_LANGUAGE": "zh-CN,zh;q=0.9,en;q=0.5"}
SIGN_IN = {"en": "Sign in", "zh-hans": "登录"}


@pytest.fixture(autouse=True)
def language_of_the_test_process():
    """What the last request activated in this thread would reach the next test."""
    with translation.override(settings.LANGUAGE_CODE):
        yield


def spoken(response) -> str:
    """The language of the page by its mark; its heading must be in it as well."""
    found = re.search(r'<html lang="([\w-]+)" dir="ltr">', response.content.decode())
    assert found
    assert response["Content-Language"] == found[1]
    return found[1]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("zh-CN,zh;q=0.9,en;q=0.5", "zh-hans"),
        ("zh", "zh-hans"),
        ("zh-Hans-SG", "zh-hans"),
        ("en-GB,zh-CN;q=0.5", "en"),
        ("de,fr;q=0.8", "en"),
        ("de,zh-CN;q=0.8,en;q=0.7", "zh-hans"),
        ("", "en"),
        ("*;;q=x", "en"),
    ],
)
def test_a_stranger_gets_what_the_browser_asks_for(client, asked, found):
    response = client.get("/sign-in/", HTTP_ACCEPT_LANGUAGE=asked)
    assert spoken(response) == found
    assert f"<h1>{SIGN_IN[found]}</h1>" in response.content.decode()
    assert "Accept-Language" in response["Vary"]


def test_a_strangers_choice_is_a_cookie_and_beats_the_browser(client):
    response = client.post(
        "/language/", {"language": "zh-hans", "next": "/sign-in/?next=/projects/new/"}
    )
    assert (response.status_code, response["Location"]) == (302, "/sign-in/?next=/projects/new/")
    cookie = response.cookies[settings.LANGUAGE_COOKIE_NAME]
    assert (cookie.value, cookie["httponly"], cookie["samesite"]) == ("zh-hans", True, "Lax")
    assert spoken(client.get("/sign-in/", HTTP_ACCEPT_LANGUAGE="en")) == "zh-hans"
    assert not Preference.objects.exists()


def test_a_users_choice_goes_with_the_user_and_beats_cookie_and_browser(
    client_for, lead, annotator
):
    client = client_for(lead)
    client.post("/language/", {"language": "zh-hans", "next": "/"})
    elsewhere = client_for(lead)
    assert spoken(elsewhere.get("/", HTTP_ACCEPT_LANGUAGE="en")) == "zh-hans"
    elsewhere.cookies[settings.LANGUAGE_COOKIE_NAME] = "en"
    assert spoken(elsewhere.get("/")) == "zh-hans"
    assert spoken(client_for(annotator).get("/")) == "en"


def test_without_a_choice_again_the_browser_decides(client_for, lead):
    client = client_for(lead)
    for language in ("zh-hans", "en", ""):
        client.post("/language/", {"language": language, "next": "/tokens/"})
    assert Preference.objects.get().language == ""
    assert spoken(client.get("/", **CHINESE)) == "zh-hans"
    assert spoken(client.get("/")) == "en"


def test_the_choice_costs_no_query(client_for, lead, django_assert_num_queries):
    client = client_for(lead)
    # the session, the user with the preference, and the user's roles for the rail
    with django_assert_num_queries(3):
        client.get("/nothing/here/")
    Preference.objects.create(user=lead, language="zh-hans")
    with django_assert_num_queries(3):
        assert spoken(client.get("/nothing/here/")) == "zh-hans"


def test_the_switch_stands_on_every_page_and_leads_back(client, client_for, lead, project):
    for one, page in (
        (client, "/sign-in/?next=/"),
        (client_for(lead), f"/projects/{project.pk}/setup/"),
    ):
        text = one.get(page).content.decode()
        assert 'action="/language/"' in text
        assert f'<input type="hidden" name="next" value="{page}">' in text
        assert 'name="language" value="zh-hans" lang="zh-hans" >简体中文</button>' in text
        assert 'name="language" value="en" lang="en" aria-current="true">English</button>' in text
        text = one.get(page, **CHINESE).content.decode()
        assert (
            'name="language" value="zh-hans" lang="zh-hans" aria-current="true">简体中文</button>'
            in text
        )
        assert 'name="language" value="en" lang="en" >English</button>' in text


@pytest.mark.parametrize(
    ("sent", "status", "location"),
    [
        ({"language": "zh-hans", "next": "https://evil.example/"}, 302, "/"),
        ({"language": "zh-hans"}, 302, "/"),
        ({"language": "de", "next": "/"}, 400, None),
        ({"language": "../../etc", "next": "/"}, 400, None),
    ],
)
def test_other_sites_and_other_languages_are_refused(client, sent, status, location):
    response = client.post("/language/", sent)
    assert (response.status_code, response.get("Location")) == (status, location)


def test_it_is_a_post_of_our_own_page():
    client = Client(enforce_csrf_checks=True)
    assert client.get("/language/").status_code == 405
    assert client.post("/language/", {"language": "zh-hans", "next": "/"}).status_code == 403


def test_errors_speak_the_language_too(client_for, lead):
    text = client_for(lead).get("/nothing/here/", **CHINESE).content.decode()
    assert '<html lang="zh-hans"' in text
    assert "There is nothing here" not in text


def test_the_account_page_shows_the_choice(client_for, lead):
    client = client_for(lead)
    page = client.get("/tokens/").content.decode()
    assert '<option value="zh-hans" lang="zh-hans" >简体中文</option>' in page
    Preference.objects.create(user=lead, language="zh-hans")
    page = client.get("/tokens/").content.decode()
    assert '<option value="zh-hans" lang="zh-hans" selected>简体中文</option>' in page


# --- what nobody reads in a language


def test_what_tasks_store_has_no_language(project, question, rate, lead, client_for, utc):
    """A worker that happened to speak Chinese would store the same: codes and figures, worded when
    they are shown."""
    client = client_for(lead)
    Preference.objects.create(user=lead, language="zh-hans")
    with translation.override("zh-hans"):
        for week in (0, 1):
            for number in range(12):
                for rater in "abc":
                    label = "minor" if week and rater == "c" else "none"
                    rate(
                        question,
                        f"w{week}-{number}",
                        rater,
                        label,
                        rated_at=utc(2026, 5, 5 + 7 * week),
                    )
        tasks.sweep_all()
        client.get(f"/projects/{project.pk}/change/")
        client.get(f"/projects/{project.pk}/?kind=human")
        tasks.sweep_all()
        run = Wizard(client, project).check(
            b"item,rater,label,time\ni1,a,none,now\ni1,b,other,\n,c,none,2999-01-01T00:00Z\n"
        )
    assert run.state == "refused"
    models: list[type[Model]] = [*apps.get_app_config("metrics").get_models(), ImportRun, Revision]
    stored = {
        model.__name__: json.dumps(
            list(model._default_manager.values()), default=str, ensure_ascii=False
        )
        for model in models
    }
    assert [name for name, rows in stored.items() if not rows.isascii()] == []
    assert all(
        len(stored[name]) > 2 for name in ("Reading", "RaterReading", "Attribution", "ImportRun")
    )


# --- the API


def test_the_api_speaks_english_and_writes_numbers_alike_whoever_asks(
    api_for, client_for, lead, project, question, rate
):
    for number in range(12):
        for rater, label in (("a", "none"), ("b", "none" if number % 3 else "minor")):
            rate(question, f"i{number}", rater, label)
    update_question(question.pk)
    Preference.objects.create(user=lead, language="zh-hans")
    asked = [
        ("get", f"/api/v1/projects/{project.pk}/agreement/", {}),
        ("get", f"/api/v1/projects/{project.pk}/ratings/", {}),
        ("get", "/api/v1/projects/999999/", {}),
        ("get", "/api/v1/nothing/", {}),
        (
            "post",
            "/api/v1/projects/",
            {"name": "", "overlap": 0, "time_zone": "Nowhere", "questions": [{"key": " "}]},
        ),
    ]
    for client in (api_for(lead), client_for(lead)):
        for verb, address, body in asked:
            answers = [
                getattr(client, verb)(
                    address, body, content_type="application/json", headers={"Accept-Language": one}
                )
                if verb == "post" and not hasattr(client, "credentials")
                else getattr(client, verb)(address, body or None, headers={"Accept-Language": one})
                for one in ("en", "zh-CN,zh", "de")
            ]
            assert len({answer.content for answer in answers}) == 1, address
            assert answers[0].content.isascii(), address
            assert "Accept-Language" not in answers[0].get("Vary", "")
