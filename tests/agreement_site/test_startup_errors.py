"""Wrong settings and an unusable database stop commands and starts with one sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BASE_DIR = Path(__file__).resolve().parents[2]


def run(tmp_path: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    names = ("PATH", "HOME", "LANG")
    inherited = {name: os.environ[name] for name in names if name in os.environ}
    return subprocess.run(
        [sys.executable, *arguments],
        env=inherited
        | {"DATA_DIR": str(tmp_path / "data"), "DJANGO_SETTINGS_MODULE": "agreement_site.settings"}
        | environment,
        cwd=BASE_DIR,
        capture_output=True,
        text=True,
        check=False,
    )


COMMANDS = [
    ("manage.py", "status"),
    ("manage.py", "migrate"),
    ("-m", "agreement_site.server.prepare"),
    ("-m", "agreement_site.server.web_server"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("name", "value"), [("HTTPS", "perhaps"), ("SHARE_LINKS", "?"), ("IMPORT_MAX_BYTES", "many")]
)
def test_invalid_setting_is_one_sentence(
    command: tuple[str, ...], name: str, value: str, tmp_path: Path
) -> None:
    result = run(tmp_path, *command, **{name: value}, PORT="0")
    assert result.returncode == 1
    [line] = result.stderr.strip().splitlines()
    assert line.startswith("A setting is invalid:") and name in line and value in line


@pytest.mark.parametrize("command", COMMANDS[:3], ids=" ".join)
def test_unreachable_database_is_one_sentence(command: tuple[str, ...], tmp_path: Path) -> None:
    url = "postgresql://nobody@127.0.0.1:1/nothing?connect_timeout=2"
    result = run(tmp_path, *command, DATABASE_URL=url)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert "The database cannot be used:" in result.stderr.strip().splitlines()[-1]


def test_status_without_tables_says_what_to_do(tmp_path: Path) -> None:
    result = run(tmp_path, "manage.py", "status")
    assert result.returncode == 1
    [line] = result.stderr.strip().splitlines()
    assert "migrate" in line
    assert "Traceback" in run(tmp_path, "manage.py", "status", "--traceback").stderr
