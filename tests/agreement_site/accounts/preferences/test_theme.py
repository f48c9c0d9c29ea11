"""Light or dark: by user, by browser, or as the system is set."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.conf import settings
from django.db import IntegrityError, transaction
from django.test import Client

from agreement_site.middleware import static_bundles
from agreement_site.models import Preference

pytestmark = pytest.mark.django_db
SHEETS = {"": "page.css", "light": "page-light.css", "dark": "page-dark.css"}


def theme_of(response: Any) -> str:
    """What the page says in its first bytes; the sheet that it asks for is of the same."""
    found = re.search(r'<html [^>]*data-theme="(\w+)"', response.text)
    theme = found[1] if found else ""
    assert f'css/{SHEETS[theme]}"' in response.text
    assert f'<meta name="color-scheme" content="{theme or "light dark"}">' in response.text
    return theme


def test_a_strangers_choice_is_a_cookie(client: Client) -> None:
    assert theme_of(client.get("/sign-in/")) == ""
    sent = {"theme": "dark", "next": "/sign-in/?next=/projects/new/"}
    response = client.post("/theme/", sent)
    assert (response.status_code, response["Location"]) == (302, "/sign-in/?next=/projects/new/")
    cookie = response.cookies[settings.THEME_COOKIE_NAME]
    assert (cookie.value, cookie["httponly"], cookie["samesite"]) == ("dark", True, "Lax")
    assert theme_of(client.get("/sign-in/")) == "dark"
    assert 'value="dark" aria-current="true"' in client.get("/sign-in/").text
    client.post("/theme/", {"theme": ""})
    assert theme_of(client.get("/sign-in/")) == ""
    client.cookies[settings.THEME_COOKIE_NAME] = "pink"
    assert theme_of(client.get("/sign-in/")) == ""
    assert not Preference.objects.exists()


def test_a_users_choice_goes_with_the_user(client_for: Any, lead: Any, annotator: Any) -> None:
    client_for(lead).post("/theme/", {"theme": "light", "next": "/"})
    elsewhere = client_for(lead)
    assert theme_of(elsewhere.get("/")) == "light"
    elsewhere.cookies[settings.THEME_COOKIE_NAME] = "dark"
    assert theme_of(elsewhere.get("/tokens/")) == "light"
    assert theme_of(client_for(annotator).get("/")) == ""
    elsewhere.post("/theme/", {"theme": ""})
    assert theme_of(client_for(lead).get("/")) == ""


def test_language_and_theme_do_not_take_each_other_away(client_for: Any, lead: Any) -> None:
    client = client_for(lead)
    client.post("/theme/", {"theme": "dark"})
    for language in ("zh-hans", ""):
        client.post("/language/", {"language": language, "next": "/"})
        assert theme_of(client_for(lead).get("/")) == "dark"
    client.post("/language/", {"language": "zh-hans", "next": "/"})
    client.post("/theme/", {"theme": ""})
    assert Preference.objects.get().language == "zh-hans"


def test_what_is_no_theme_is_refused_and_nobody_is_sent_away(client: Client) -> None:
    assert client.post("/theme/", {"theme": "pink"}).status_code == 400
    assert client.get("/theme/").status_code == 405
    for wrong in ("https://example.org/", "//example.org/", ""):
        assert client.post("/theme/", {"theme": "dark", "next": wrong})["Location"] == "/"


def test_the_database_knows_the_themes(lead: Any) -> None:
    with pytest.raises(IntegrityError, match="preference_theme_known"), transaction.atomic():
        Preference.objects.create(user=lead, theme="pink")


def test_the_sheets_hold_the_dark_as_it_was_chosen() -> None:
    dark = "color-scheme: dark"
    by_system, light, chosen = (
        static_bundles.get_bundle(f"css/{SHEETS[theme]}").body.decode() for theme in SHEETS
    )
    assert dark not in light
    assert dark in chosen and "prefers-color-scheme" not in chosen
    before, inside = by_system.split("@media (prefers-color-scheme: dark) {")
    assert dark not in before and dark in inside
    assert light.strip() in chosen


def test_an_error_has_the_same_colours(client_for: Any, lead: Any) -> None:
    client = client_for(lead)
    client.post("/theme/", {"theme": "dark"})
    answer = client.get("/nothing/here/")
    assert (answer.status_code, theme_of(answer)) == (404, "dark")
