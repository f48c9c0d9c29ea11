"""The first account of an empty site."""

from __future__ import annotations

import stat

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

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
