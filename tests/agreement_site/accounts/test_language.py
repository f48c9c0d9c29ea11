"""Tests of the language of pages, and that API and tasks do not depend on it."""

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
from tests.cast import rate_many
from tests.ratings.imports.wizard_client import WizardClient

pytestmark = pytest.mark.django_db
CHINESE_HEADERS = {"HTTP_ACCEPT_LANGUAGE": "zh-CN,zh;q=0.9,en;q=0.5"}
SIGN_IN_LABELS = {"en": "Sign in", "zh-hans": "登录"}


@pytest.fixture(autouse=True)
def default_language():
    """Reset the language, which a request activates for the whole thread."""
    with translation.override(settings.LANGUAGE_CODE):
        yield


def get_language(response) -> str:
    """Return the language of the page, and assert that the response header agrees."""
    match = re.search(r'<html lang="([\w-]+)" dir="ltr">', response.content.decode())
    assert match
    assert response["Content-Language"] == match[1]
    return match[1]


@pytest.mark.parametrize(
    ("accept_language", "expected"),
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
def test_anonymous_user_gets_the_language_of_the_browser(client, accept_language, expected):
    response = client.get("/sign-in/", HTTP_ACCEPT_LANGUAGE=accept_language)
    assert get_language(response) == expected
    assert f"<h1>{SIGN_IN_LABELS[expected]}</h1>" in response.content.decode()
    assert "Accept-Language" in response["Vary"]


def test_anonymous_choice_is_a_cookie_and_overrides_the_browser(client):
    response = client.post(
        "/language/", {"language": "zh-hans", "next": "/sign-in/?next=/projects/new/"}
    )
    assert (response.status_code, response["Location"]) == (302, "/sign-in/?next=/projects/new/")
    cookie = response.cookies[settings.LANGUAGE_COOKIE_NAME]
    assert (cookie.value, cookie["httponly"], cookie["samesite"]) == ("zh-hans", True, "Lax")
    assert get_language(client.get("/sign-in/", HTTP_ACCEPT_LANGUAGE="en")) == "zh-hans"
    assert not Preference.objects.exists()


def test_choice_of_a_user_overrides_cookie_and_browser(client_for, lead, annotator):
    client = client_for(lead)
    client.post("/language/", {"language": "zh-hans", "next": "/"})
    other_client = client_for(lead)
    assert get_language(other_client.get("/", HTTP_ACCEPT_LANGUAGE="en")) == "zh-hans"
    other_client.cookies[settings.LANGUAGE_COOKIE_NAME] = "en"
    assert get_language(other_client.get("/")) == "zh-hans"
    assert get_language(client_for(annotator).get("/")) == "en"


def test_cleared_choice_falls_back_to_the_browser(client_for, lead):
    client = client_for(lead)
    for language in ("zh-hans", "en", ""):
        client.post("/language/", {"language": language, "next": "/tokens/"})
    assert Preference.objects.get().language == ""
    assert get_language(client.get("/", **CHINESE_HEADERS)) == "zh-hans"
    assert get_language(client.get("/")) == "en"


def test_choice_needs_no_query(client_for, lead, django_assert_num_queries):
    client = client_for(lead)
    # The session, the user with the preference, and the user's roles for the sidebar.
    with django_assert_num_queries(3):
        client.get("/nothing/here/")
    Preference.objects.create(user=lead, language="zh-hans")
    with django_assert_num_queries(3):
        assert get_language(client.get("/nothing/here/")) == "zh-hans"


def test_language_switch_is_on_every_page_and_returns_to_it(client, client_for, lead, project):
    for browser, page in (
        (client, "/sign-in/?next=/"),
        (client_for(lead), f"/projects/{project.pk}/settings/"),
    ):
        text = browser.get(page).content.decode()
        assert 'action="/language/"' in text
        # In the menu of the user, or in the footer for those without one.
        footer = text.split('<footer class="site-footer">')[1]
        assert ('name="language"' in footer) == (browser is client)
        assert f'<input type="hidden" name="next" value="{page}">' in text
        assert 'name="language" value="zh-hans" lang="zh-hans" >简体中文</button>' in text
        assert 'name="language" value="en" lang="en" aria-current="true">English</button>' in text
        text = browser.get(page, **CHINESE_HEADERS).content.decode()
        assert (
            'name="language" value="zh-hans" lang="zh-hans" aria-current="true">简体中文</button>'
            in text
        )
        assert 'name="language" value="en" lang="en" >English</button>' in text


@pytest.mark.parametrize(
    ("form_data", "status", "location"),
    [
        ({"language": "zh-hans", "next": "https://evil.example/"}, 302, "/"),
        ({"language": "zh-hans"}, 302, "/"),
        ({"language": "de", "next": "/"}, 400, None),
        ({"language": "../../etc", "next": "/"}, 400, None),
    ],
)
def test_other_sites_and_unknown_languages_are_rejected(client, form_data, status, location):
    response = client.post("/language/", form_data)
    assert (response.status_code, response.get("Location")) == (status, location)


def test_language_change_needs_a_post_with_csrf_token():
    client = Client(enforce_csrf_checks=True)
    assert client.get("/language/").status_code == 405
    assert client.post("/language/", {"language": "zh-hans", "next": "/"}).status_code == 403


def test_error_pages_are_translated(client_for, lead):
    text = client_for(lead).get("/nothing/here/", **CHINESE_HEADERS).content.decode()
    assert '<html lang="zh-hans"' in text
    assert "Page not found" not in text


def test_account_page_shows_the_choice(client_for, lead):
    client = client_for(lead)
    page = client.get("/tokens/").content.decode()
    assert '<option value="zh-hans" lang="zh-hans" >简体中文</option>' in page
    Preference.objects.create(user=lead, language="zh-hans")
    page = client.get("/tokens/").content.decode()
    assert '<option value="zh-hans" lang="zh-hans" selected>简体中文</option>' in page


# --- stored data


def test_stored_results_are_independent_of_the_language(
    project, question, rate, lead, client_for, utc
):
    """A worker with Chinese active stores the same codes and numbers as one with English active."""
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
        run = WizardClient(client, project).upload_and_validate(
            b"item,rater,label,time\ni1,a,none,now\ni1,b,other,\n,c,none,2999-01-01T00:00Z\n"
        )
    assert run.state == "invalid"
    models: list[type[Model]] = [*apps.get_app_config("metrics").get_models(), ImportRun, Revision]
    stored = {
        model.__name__: json.dumps(
            list(model._default_manager.values()), default=str, ensure_ascii=False
        )
        for model in models
    }
    assert [name for name, rows in stored.items() if not rows.isascii()] == []
    assert all(
        len(stored[name]) > 2 for name in ("Result", "RaterResult", "Attribution", "ImportRun")
    )


# --- the API


def test_api_is_english_for_every_client(api_for, client_for, lead, project, question):
    rate_many(
        question,
        (
            (f"i{number}", rater, label)
            for number in range(12)
            for rater, label in (("a", "none"), ("b", "none" if number % 3 else "minor"))
        ),
    )
    update_question(question.pk)
    Preference.objects.create(user=lead, language="zh-hans")
    requests = [
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
        for verb, address, body in requests:
            responses = [
                getattr(client, verb)(
                    address,
                    body,
                    content_type="application/json",
                    headers={"Accept-Language": language},
                )
                if verb == "post" and not hasattr(client, "credentials")
                else getattr(client, verb)(
                    address, body or None, headers={"Accept-Language": language}
                )
                for language in ("en", "zh-CN,zh", "de")
            ]
            assert len({response.content for response in responses}) == 1, address
            assert responses[0].content.isascii(), address
            assert "Accept-Language" not in responses[0].get("Vary", "")
