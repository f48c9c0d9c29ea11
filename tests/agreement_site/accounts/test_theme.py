"""Tests of the light and dark themes: by user, by browser, or by the system."""

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
STYLE_SHEETS = {"": "page.css", "light": "page-light.css", "dark": "page-dark.css"}


def get_theme(response: Any) -> str:
    """Return the theme of a page, and assert that its style sheet matches."""
    match = re.search(r'<html [^>]*data-theme="(\w+)"', response.text)
    theme = match[1] if match else ""
    assert f'css/{STYLE_SHEETS[theme]}"' in response.text
    assert f'<meta name="color-scheme" content="{theme or "light dark"}">' in response.text
    return theme


def test_anonymous_choice_is_a_cookie(client: Client) -> None:
    assert get_theme(client.get("/sign-in/")) == ""
    form_data = {"theme": "dark", "next": "/sign-in/?next=/projects/new/"}
    response = client.post("/theme/", form_data)
    assert (response.status_code, response["Location"]) == (302, "/sign-in/?next=/projects/new/")
    cookie = response.cookies[settings.THEME_COOKIE_NAME]
    assert (cookie.value, cookie["httponly"], cookie["samesite"]) == ("dark", True, "Lax")
    assert get_theme(client.get("/sign-in/")) == "dark"
    assert 'value="dark" aria-current="true"' in client.get("/sign-in/").text
    client.post("/theme/", {"theme": ""})
    assert get_theme(client.get("/sign-in/")) == ""
    client.cookies[settings.THEME_COOKIE_NAME] = "pink"
    assert get_theme(client.get("/sign-in/")) == ""
    assert not Preference.objects.exists()


def test_choice_of_a_user_overrides_the_cookie(client_for: Any, lead: Any, annotator: Any) -> None:
    client_for(lead).post("/theme/", {"theme": "light", "next": "/"})
    other_client = client_for(lead)
    assert get_theme(other_client.get("/")) == "light"
    other_client.cookies[settings.THEME_COOKIE_NAME] = "dark"
    assert get_theme(other_client.get("/tokens/")) == "light"
    assert get_theme(client_for(annotator).get("/")) == ""
    other_client.post("/theme/", {"theme": ""})
    assert get_theme(client_for(lead).get("/")) == ""


def test_language_and_theme_are_independent(client_for: Any, lead: Any) -> None:
    client = client_for(lead)
    client.post("/theme/", {"theme": "dark"})
    for language in ("zh-hans", ""):
        client.post("/language/", {"language": language, "next": "/"})
        assert get_theme(client_for(lead).get("/")) == "dark"
    client.post("/language/", {"language": "zh-hans", "next": "/"})
    client.post("/theme/", {"theme": ""})
    assert Preference.objects.get().language == "zh-hans"


def test_unknown_themes_and_external_redirects_are_rejected(client: Client) -> None:
    assert client.post("/theme/", {"theme": "pink"}).status_code == 400
    assert client.get("/theme/").status_code == 405
    for next_url in ("https://example.org/", "//example.org/", ""):
        assert client.post("/theme/", {"theme": "dark", "next": next_url})["Location"] == "/"


def test_database_rejects_unknown_themes(lead: Any) -> None:
    with pytest.raises(IntegrityError, match="preference_theme_valid"), transaction.atomic():
        Preference.objects.create(user=lead, theme="pink")


def test_style_sheets_contain_the_expected_themes() -> None:
    dark_rule = "color-scheme: dark"
    system_sheet, light_sheet, dark_sheet = (
        static_bundles.get_bundle(f"css/{STYLE_SHEETS[theme]}").body.decode()
        for theme in STYLE_SHEETS
    )
    assert dark_rule not in light_sheet
    assert dark_rule in dark_sheet and "prefers-color-scheme" not in dark_sheet
    before, inside = system_sheet.split("@media (prefers-color-scheme: dark) {")
    assert dark_rule not in before and dark_rule in inside
    assert light_sheet.strip() in dark_sheet


def test_error_page_uses_the_theme(client_for: Any, lead: Any) -> None:
    client = client_for(lead)
    client.post("/theme/", {"theme": "dark"})
    response = client.get("/nothing/here/")
    assert (response.status_code, get_theme(response)) == (404, "dark")
