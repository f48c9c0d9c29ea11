"""What every answer carries, and what is refused before a view is asked."""

from __future__ import annotations

import pytest
from django.test import Client
from rest_framework.test import APIClient

from core.web.safe_html import clean_html

pytestmark = pytest.mark.django_db

PAGES = [
    "/",
    "/projects/{id}/",
    "/projects/{id}/items/",
    "/projects/{id}/setup/",
    "/projects/{id}/data/export.csv",
]


@pytest.mark.parametrize("page", PAGES)
def test_nobody_keeps_what_somebody_signed_in_sees(client_for, lead, project, page):
    answer = client_for(lead).get(page.format(id=project.pk))
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"] and "private" in answer["Cache-Control"]


def test_signing_out_empties_the_browsers_cache(client_for, lead):
    assert client_for(lead).post("/sign-out/")["Clear-Site-Data"] == '"cache"'


@pytest.mark.parametrize("kind", ["image", "script", "iframe", "video"])
def test_a_page_is_no_picture(client_for, annotator, project, kind):
    """An item's address of an image could take the next item for whoever looks at it."""
    client = client_for(annotator)
    path = f"/projects/{project.pk}/rate/"
    assert client.get(path, headers={"Sec-Fetch-Dest": kind}).status_code == 403
    for asked in ("document", "empty"):
        assert client.get(path, headers={"Sec-Fetch-Dest": asked}).status_code == 200
    media = client.get(f"/projects/{project.pk}/media/a.png", headers={"Sec-Fetch-Dest": kind})
    assert media.status_code == 404


def test_scripts_of_the_admin_find_their_words(client_for, admin):
    """Without them its choices of several and of days do not work."""
    words = client_for(admin).get("/admin/jsi18n/", headers={"Sec-Fetch-Dest": "script"})
    assert words.status_code == 200
    assert "gettext" in words.text


def test_a_program_that_speaks_http_is_refused(settings, lead, api_for):
    settings.HTTPS = settings.SECURE_SSL_REDIRECT = True
    client = api_for(lead)
    answer = client.get("/api/v1/projects/")
    assert (answer.status_code, answer.json()["error"]["message"]) == (403, "Use https.")
    assert client.get("/api/v1/projects/", secure=True).status_code == 200


def test_an_unknown_address_of_the_api_answers_in_its_shape():
    client = APIClient(enforce_csrf_checks=True)
    answer = client.post("/api/v1/nothing/", {}, format="json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_a_form_from_elsewhere_is_refused_in_words():
    page = Client(enforce_csrf_checks=True).post("/sign-in/", {"username": "x"})
    assert page.status_code == 403
    assert "was not sent from a page of this site" in page.content.decode()


@pytest.mark.parametrize("scheme", ["data:", "da\tta:", "\x01data:", " DATA:", "d\r\nata:"])
def test_no_link_leads_into_data(scheme):
    assert "href" not in clean_html(f'<a href="{scheme}text/html,x">x</a>')


def test_staff_makes_itself_no_superuser(client_for, make_user, admin):
    from django.contrib.auth.models import Permission

    staff = make_user("staff", is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(codename__in=["view_user", "change_user"]))
    client = client_for(staff)
    form = {"username": "staff", "is_superuser": "on", "is_staff": "on", "is_active": "on",
            "date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}  # fmt: skip
    client.post(f"/admin/auth/user/{staff.pk}/change/", form)
    staff.refresh_from_db()
    assert staff.is_staff and not staff.is_superuser
    taken = {
        "password1": "a very long secret",
        "password2": "a very long secret",
        "usable_password": "true",
    }
    assert client.post(f"/admin/auth/user/{admin.pk}/password/", taken).status_code == 403
