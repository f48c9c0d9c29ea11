"""Programs that would start open do not start, and what they make is their owner's alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core import signing
from django.test import override_settings

from tests.agreement_site.server.conftest import BASE_DIR

PUBLIC = {"HTTPS": "1", "ALLOWED_HOSTS": "a.example", "DEBUG": "0"}


def started(folder: Path, own: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A process of its own, which reads the settings and makes a file."""
    code = "from agreement_site.settings import DATA_DIR; (DATA_DIR / 'made').touch()"
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **own, "DATA_DIR": str(folder)},
        cwd=BASE_DIR,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("wrong", [{"DEBUG": "1"}, {"ALLOWED_HOSTS": "a.example,*"}])
def test_a_public_site_shows_no_insides_and_answers_to_its_name(
    wrong: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    done = started(folder, PUBLIC | wrong)
    assert done.returncode == 1
    assert "HTTPS=1 is a public site" in done.stderr
    assert started(folder, PUBLIC).returncode == 0


def settings_of(folder: Path, own: dict[str, str], names: str) -> list[object]:
    """What settings are, read in a process of its own."""
    code = (
        "import json; from agreement_site import settings as s;"
        f"print(json.dumps([getattr(s, name, None) for name in {names.split()!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **own, "DATA_DIR": str(folder)},
        cwd=BASE_DIR,
        capture_output=True,
        timeout=120,
        check=True,
    )
    found: list[object] = json.loads(done.stdout)
    return found


def test_what_a_proxy_says_is_believed_only_where_there_is_one(tmp_path: Path) -> None:
    names = "SECURE_PROXY_SSL_HEADER"
    assert settings_of(tmp_path / "data", PUBLIC, names) == [None]
    behind = settings_of(tmp_path / "data", PUBLIC | {"BEHIND_PROXY": "1"}, names)
    assert behind == [["HTTP_X_FORWARDED_PROTO", "https"]]


def test_a_key_is_changed_without_signing_everybody_out(tmp_path: Path) -> None:
    """What the old one signed is good for as long as it is among the fallbacks."""
    old, new = (letters * 10 for letters in ("aB3dE", "fG7hJ"))
    own = PUBLIC | {"SECRET_KEY": new, "SECRET_KEY_FALLBACKS": old}
    assert settings_of(tmp_path / "data", own, "SECRET_KEY SECRET_KEY_FALLBACKS") == [new, [old]]
    with override_settings(SECRET_KEY=old, SECRET_KEY_FALLBACKS=[]):
        signed = signing.dumps("x")
    with override_settings(SECRET_KEY=new, SECRET_KEY_FALLBACKS=[old]):
        assert signing.loads(signed) == "x"
    with override_settings(SECRET_KEY=new), pytest.raises(signing.BadSignature):
        signing.loads(signed)


def test_a_data_folder_is_open_to_nobody_else(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    assert started(folder, PUBLIC).returncode == 0
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "made").stat().st_mode & 0o077 == 0
    folder.chmod(0o755)
    done = started(folder, PUBLIC)
    assert done.returncode == 1
    assert f"chmod o-rwx {folder}" in done.stderr
