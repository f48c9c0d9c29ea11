"""Tests of the first account of an empty site."""

from __future__ import annotations

import stat

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from agreement_site.models import PasswordChangeRequired

pytestmark = pytest.mark.django_db


@pytest.fixture
def data_dir(settings, tmp_path):
    """Return an empty data folder."""
    settings.DATA_DIR = tmp_path
    return tmp_path


@pytest.mark.parametrize("show", [True, False])
def test_first_password_is_shown_only_on_a_terminal(data_dir, capsys, show):
    call_command("create_first_user", show=show)
    path = data_dir / "sign-in.txt"
    password = path.read_text().strip()
    password_suffix = f": {password}" if show else ""
    assert (
        capsys.readouterr().out == f"Sign in as lead with the password in {path}{password_suffix}\n"
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    user = User.objects.get()
    assert (user.username, user.is_superuser, user.check_password(password)) == ("lead", True, True)


def test_second_start_changes_nothing_and_names_the_file(data_dir, capsys):
    call_command("create_first_user")
    path = data_dir / "sign-in.txt"
    password = path.read_text().strip()
    capsys.readouterr()
    call_command("create_first_user")
    output = capsys.readouterr().out
    assert str(path) in output
    assert password not in output
    assert path.read_text().strip() == password
    assert User.objects.count() == 1


def test_site_with_accounts_gets_no_first_account(data_dir, capsys, make_user):
    make_user("somebody")
    call_command("create_first_user")
    assert User.objects.count() == 1
    assert list(data_dir.iterdir()) == []
    assert capsys.readouterr().out == "Sign in with your account.\n"


def test_first_password_of_a_public_site_must_be_changed(data_dir, settings):
    call_command("create_first_user")
    assert not PasswordChangeRequired.objects.exists()  # as for `make run` on a developer's machine
    User.objects.all().delete()
    settings.HTTPS = True
    call_command("create_first_user")
    settings.HTTPS = False  # the test client uses http
    client = Client()
    password = (data_dir / "sign-in.txt").read_text().strip()
    client.post("/sign-in/", {"username": "lead", "password": password})
    for page in ("/", "/admin/", "/tokens/", "/account/sessions/"):
        assert client.get(page)["Location"] == "/password/"
    assert client.get("/api/v1/projects/").status_code == 403
    new_passwords = {"new_password1": "a fine long secret", "new_password2": "a fine long secret"}
    assert client.post("/password/", {"old_password": password, **new_passwords}).status_code == 302
    assert client.get("/admin/").status_code == 200


def test_password_set_by_an_administrator_must_be_changed(client_for, admin, lead):
    passwords = {"password1": "a fine long secret", "password2": "a fine long secret"}
    client_for(admin).post(
        f"/admin/auth/user/{lead.pk}/password/", {**passwords, "usable_password": "true"}
    )
    client = Client()
    client.post("/sign-in/", {"username": "lead", "password": "a fine long secret"})
    assert client.get("/tokens/")["Location"] == "/password/"
    client_for(admin).post(
        f"/admin/auth/user/{admin.pk}/password/", {**passwords, "usable_password": "true"}
    )
    assert not PasswordChangeRequired.objects.filter(user=admin).exists()
