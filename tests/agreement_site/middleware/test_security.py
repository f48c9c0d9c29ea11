"""Tests of response headers, and of requests that are rejected before a view runs."""

from __future__ import annotations

import pytest
from django.test import Client
from rest_framework.test import APIClient

from core.web.safe_html import clean_html
from projects.services.tokens import create_token

pytestmark = pytest.mark.django_db

PAGES = [
    "/",
    "/projects/{id}/",
    "/projects/{id}/items/",
    "/projects/{id}/settings/",
    "/projects/{id}/data/export.csv",
]


@pytest.mark.parametrize("page", PAGES)
def test_pages_of_signed_in_users_are_not_cached(client_for, lead, project, page):
    response = client_for(lead).get(page.format(id=project.pk))
    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"] and "private" in response["Cache-Control"]


def test_signing_out_clears_the_browser_cache(client_for, lead):
    assert client_for(lead).post("/sign-out/")["Clear-Site-Data"] == '"cache"'


@pytest.mark.parametrize("kind", ["image", "script", "iframe", "video"])
def test_page_is_not_served_as_a_subresource(client_for, annotator, project, kind):
    """An image address in an item's content could otherwise claim the next item for its reader."""
    client = client_for(annotator)
    path = f"/projects/{project.pk}/rate/"
    assert client.get(path, headers={"Sec-Fetch-Dest": kind}).status_code == 403
    for destination in ("document", "empty"):
        assert client.get(path, headers={"Sec-Fetch-Dest": destination}).status_code == 200
    media = client.get(f"/projects/{project.pk}/media/a.png", headers={"Sec-Fetch-Dest": kind})
    assert media.status_code == 404


def test_admin_scripts_can_load_their_translations(client_for, admin):
    """Without them the admin's widgets for multiple choices and dates do not work."""
    response = client_for(admin).get("/admin/jsi18n/", headers={"Sec-Fetch-Dest": "script"})
    assert response.status_code == 200
    assert "gettext" in response.text


def test_api_request_over_http_is_rejected(settings, lead, api_for):
    settings.HTTPS = settings.SECURE_SSL_REDIRECT = True
    client = api_for(lead)
    response = client.get("/api/v1/projects/")
    assert (response.status_code, response.json()["error"]["message"]) == (403, "Use https.")
    assert client.get("/api/v1/projects/", secure=True).status_code == 200


@pytest.mark.parametrize("page", [*PAGES, "/projects/{id}", "/projects/{id}/labels.jsonl"])
def test_call_with_a_token_gets_an_error_and_no_redirect(page, settings, lead, project):
    """A program would take the page for signing in for the file that it wanted."""
    path = page.format(id=project.pk)
    assert Client().get(path).status_code in (301, 302)
    basic = Client().get(
        path, headers={"Authorization": "Basic YTpi"}
    )  # of a proxy before the site
    assert basic.status_code in (301, 302)
    for token in (f"Bearer {create_token(user=lead)}", "bearer wrong", "Token x"):
        response = Client().get(path, headers={"Authorization": token})
        assert (response.status_code, response["WWW-Authenticate"]) == (401, "Bearer")
        assert response["Content-Type"] == "application/problem+json"
        assert "/api/v1/" in response.json()["detail"]
        assert "Location" not in response
    settings.SECURE_SSL_REDIRECT = True
    over_http = Client().get(path, headers={"Authorization": "Bearer x"})
    assert over_http.status_code == 401


def test_unknown_api_address_gets_an_api_error():
    client = APIClient(enforce_csrf_checks=True)
    response = client.post("/api/v1/nothing/", {}, format="json")
    assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found")


def test_cross_site_form_is_rejected_with_an_explanation():
    page = Client(enforce_csrf_checks=True).post("/sign-in/", {"username": "x"})
    assert page.status_code == 403
    assert "This form expired" in page.content.decode()


@pytest.mark.parametrize("scheme", ["data:", "da\tta:", "\x01data:", " DATA:", "d\r\nata:"])
def test_data_links_are_removed_from_html(scheme):
    assert "href" not in clean_html(f'<a href="{scheme}text/html,x">x</a>')


def test_staff_cannot_become_superuser(client_for, make_user, admin):
    from django.contrib.auth.models import Permission

    staff = make_user("staff", is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(codename__in=["view_user", "change_user"]))
    client = client_for(staff)
    form = {"username": "staff", "is_superuser": "on", "is_staff": "on", "is_active": "on",
            "date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}  # fmt: skip
    client.post(f"/admin/auth/user/{staff.pk}/change/", form)
    staff.refresh_from_db()
    assert staff.is_staff and not staff.is_superuser
    new_password = {
        "password1": "a very long secret",
        "password2": "a very long secret",
        "usable_password": "true",
    }
    assert client.post(f"/admin/auth/user/{admin.pk}/password/", new_password).status_code == 403


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("Expect", "x", 417),
        ("Expect", "100-continue, x", 417),
        ("Expect", "100-Continue", 200),
        ("Transfer-Encoding", "gzip, chunked", 501),
        ("Transfer-Encoding", "identity", 501),
        ("Transfer-Encoding", "Chunked", 200),
    ],
)
@pytest.mark.django_db
def test_unknown_expectations_and_encodings_are_rejected(
    name: str, value: str, status: int
) -> None:
    assert Client().get("/sign-in/", headers={name: value}).status_code == status
