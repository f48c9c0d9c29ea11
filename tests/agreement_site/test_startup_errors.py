"""Wrong settings and an unusable database stop commands and starts with one sentence."""

from __future__ import annotations

import os
import pty
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
    ("-m", "agreement_site.server.worker"),
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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SMTP_URL", "smtp://host:abc"),
        ("SMTP_URL", "smtp://host:99999"),
        ("SMTP_URL", "http://host"),
        ("DATABASE_URL", "postgresql://user@host:abc/name"),
        ("DATABASE_URL", "mysql://host/name"),
        ("REDIS_URL", "foo://host"),
        ("REDIS_URL", "redis://host:abc"),
        ("OIDC_SERVER_URL", "https://host:abc"),
        ("AUDIT_LOG_SYSLOG", "udp://host:abc"),
        ("AUDIT_LOG_SYSLOG", "host:514"),
        ("AUDIT_LOG_FILE", "/nowhere/audit.log"),
        ("SENTRY_DSN", "zzz"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "zzz"),
        ("LOG_LEVEL", "zzz"),
        ("SITE_URL", "concord"),
        ("LEGAL_HOLD", "first"),
        ("SECOND_PERSON", "sometimes"),
        ("MAY_CREATE_PROJECTS", "nobody"),
        ("KEEP_AUDIT_LOG_DAYS", "-1"),
    ],
)
def test_each_kind_of_setting_is_checked(name: str, value: str, tmp_path: Path) -> None:
    result = run(tmp_path, "manage.py", "check", **{name: value}, MAIL_FROM="a@example.org")
    assert result.returncode == 1
    [line] = result.stderr.strip().splitlines()
    assert line.startswith("A setting is invalid:") and name.split("_", maxsplit=1)[0] in line


def test_password_of_an_invalid_address_is_not_printed(tmp_path: Path) -> None:
    result = run(tmp_path, "manage.py", "check", SMTP_URL="smtp://me:Secret1@host:abc")
    assert result.returncode == 1
    assert "Secret1" not in result.stderr


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


@pytest.mark.parametrize(("is_terminal", "level"), [(True, "WARNING"), (False, "INFO")])
def test_commands_log_less_to_a_terminal(is_terminal: bool, level: str) -> None:
    """A secret that a command prints has no log lines beside it."""
    controller, terminal = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "LOG_LEVEL"}
    script = "from django.conf import settings; print(settings.LOG_LEVEL)"
    try:
        result = subprocess.run(
            [sys.executable, "manage.py", "shell", "-v", "0", "-c", script],
            cwd=BASE_DIR,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=terminal if is_terminal else subprocess.PIPE,
            check=True,
        )
    finally:
        os.close(controller)
        os.close(terminal)
    assert result.stdout.decode().strip() == level
