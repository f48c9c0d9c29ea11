"""Tests that programs do not start with unsafe settings, and that their files are private."""

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

PUBLIC_SETTINGS = {"HTTPS": "1", "ALLOWED_HOSTS": "a.example", "DEBUG": "0"}


def create_file_in_data_dir(
    folder: Path, overrides: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Start a process that reads the settings and creates a file in the data folder."""
    code = "from agreement_site.settings import DATA_DIR; (DATA_DIR / 'made').touch()"
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **overrides, "DATA_DIR": str(folder)},
        cwd=BASE_DIR,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("unsafe", [{"DEBUG": "1"}, {"ALLOWED_HOSTS": "a.example,*"}])
def test_public_site_rejects_debug_and_wildcard_hosts(
    unsafe: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    process = create_file_in_data_dir(folder, PUBLIC_SETTINGS | unsafe)
    assert process.returncode == 1
    assert "HTTPS=1 is a public site" in process.stderr
    assert create_file_in_data_dir(folder, PUBLIC_SETTINGS).returncode == 0


def read_settings(folder: Path, overrides: dict[str, str], names: str) -> list[object]:
    """Return the values of settings as read by a new process."""
    code = (
        "import json; from agreement_site import settings as s;"
        f"print(json.dumps([getattr(s, name, None) for name in {names.split()!r}]))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **overrides, "DATA_DIR": str(folder)},
        cwd=BASE_DIR,
        capture_output=True,
        timeout=120,
        check=True,
    )
    values: list[object] = json.loads(process.stdout)
    return values


def test_proxy_headers_are_trusted_only_behind_a_proxy(tmp_path: Path) -> None:
    names = "SECURE_PROXY_SSL_HEADER"
    assert read_settings(tmp_path / "data", PUBLIC_SETTINGS, names) == [None]
    behind_proxy = read_settings(tmp_path / "data", PUBLIC_SETTINGS | {"BEHIND_PROXY": "1"}, names)
    assert behind_proxy == [["HTTP_X_FORWARDED_PROTO", "https"]]


def test_old_secret_key_stays_valid_as_a_fallback(tmp_path: Path) -> None:
    """Data signed with the old key is valid as long as the key is among the fallbacks."""
    old, new = (letters * 10 for letters in ("aB3dE", "fG7hJ"))
    overrides = PUBLIC_SETTINGS | {"SECRET_KEY": new, "SECRET_KEY_FALLBACKS": old}
    assert read_settings(tmp_path / "data", overrides, "SECRET_KEY SECRET_KEY_FALLBACKS") == [
        new,
        [old],
    ]
    with override_settings(SECRET_KEY=old, SECRET_KEY_FALLBACKS=[]):
        signed_value = signing.dumps("x")
    with override_settings(SECRET_KEY=new, SECRET_KEY_FALLBACKS=[old]):
        assert signing.loads(signed_value) == "x"
    with override_settings(SECRET_KEY=new), pytest.raises(signing.BadSignature):
        signing.loads(signed_value)


def test_data_folder_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    assert create_file_in_data_dir(folder, PUBLIC_SETTINGS).returncode == 0
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "made").stat().st_mode & 0o077 == 0
    folder.chmod(0o755)
    process = create_file_in_data_dir(folder, PUBLIC_SETTINGS)
    assert process.returncode == 1
    assert f"chmod o-rwx {folder}" in process.stderr
