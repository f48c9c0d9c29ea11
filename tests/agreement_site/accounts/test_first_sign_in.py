"""The first account of an empty site."""

from __future__ import annotations

import stat

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from agreement_site.models import KnownPassword

pytestmark = pytest.mark.django_db


@pytest.fixture
def data_dir(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    return tmp_path


@pytest.mark.parametrize("show", [True, False])
def test_an_empty_site_gets_a_lead_and_says_the_password_to_a_terminal_alone(
    data_dir, capsys, show
):
    call_command("first_sign_in", show=show)
    path = data_dir / "sign-in.txt"
    password = path.read_text().strip()
    shown = f": {password}" if show else ""
    assert capsys.readouterr().out == f"Sign in as lead with the password in {path}{shown}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    user = User.objects.get()
    assert (user.username, user.is_superuser, user.check_password(password)) == ("lead", True, True)


def test_a_second_start_changes_nothing_and_says_where_it_stands(data_dir, capsys):
    call_command("first_sign_in")
    path = data_dir / "sign-in.txt"
    password = path.read_text().strip()
    capsys.readouterr()
    call_command("first_sign_in")
    said = capsys.readouterr().out
    assert str(path) in said
    assert password not in said
    assert path.read_text().strip() == password
    assert User.objects.count() == 1


def test_a_site_with_accounts_gets_no_other(data_dir, capsys, make_user):
    make_user("somebody")
    call_command("first_sign_in")
    assert User.objects.count() == 1
    assert list(data_dir.iterdir()) == []
    assert capsys.readouterr().out == "Sign in with your account.\n"


def test_where_others_reach_the_site_the_first_password_opens_one_page(data_dir, settings):
    call_command("first_sign_in")
    assert not KnownPassword.objects.exists()  # `make run`, on one's own machine
    User.objects.all().delete()
    settings.HTTPS = True
    call_command("first_sign_in")
    settings.HTTPS = False  # a test's client speaks http
    client = Client()
    password = (data_dir / "sign-in.txt").read_text().strip()
    client.post("/sign-in/", {"username": "lead", "password": password})
    for page in ("/", "/admin/", "/tokens/", "/account/sessions/"):
        assert client.get(page)["Location"] == "/password/"
    assert client.get("/api/v1/projects/").status_code == 403
    own = {"new_password1": "a fine long secret", "new_password2": "a fine long secret"}
    assert client.post("/password/", {"old_password": password, **own}).status_code == 302
    assert client.get("/admin/").status_code == 200


def test_a_password_that_an_administrator_sets_is_changed_first(client_for, admin, lead):
    set_here = {"password1": "a fine long secret", "password2": "a fine long secret"}
    client_for(admin).post(
        f"/admin/auth/user/{lead.pk}/password/", {**set_here, "usable_password": "true"}
    )
    client = Client()
    client.post("/sign-in/", {"username": "lead", "password": "a fine long secret"})
    assert client.get("/tokens/")["Location"] == "/password/"
    client_for(admin).post(
        f"/admin/auth/user/{admin.pk}/password/", {**set_here, "usable_password": "true"}
    )
    assert not KnownPassword.objects.filter(user=admin).exists()
