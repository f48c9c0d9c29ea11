"""Programs that would start open do not start, and what they make is their owner's alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agreement_site.running.conftest import BASE_DIR

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


def test_a_data_folder_is_open_to_nobody_else(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    assert started(folder, PUBLIC).returncode == 0
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "made").stat().st_mode & 0o077 == 0
    folder.chmod(0o755)
    done = started(folder, PUBLIC)
    assert done.returncode == 1
    assert f"chmod o-rwx {folder}" in done.stderr
