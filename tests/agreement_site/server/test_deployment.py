"""Tests that docs/operations.md and the files of deploy/ name existing commands and settings."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema_rs
import psycopg
import pytest
import redis
import yaml
from django.conf import settings
from django.core.management import get_commands, load_command_class
from django.urls import resolve

from agreement_site.server import embedded_broker
from tests import database_templates, deployment
from tests.agreement_site.server.conftest import wait_for
from tests.deployment import BASE_DIR, DEPLOY, UNITS

MANUAL = (BASE_DIR / "docs" / "operations.md").read_text()
# Read by NumPy's libraries and by glibc, not by Concord.
EXTERNAL_SETTINGS = {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MALLOC_ARENA_MAX"}


def read_documented_settings() -> set[str]:
    """Return the names in the manual's table of settings."""
    table = MANUAL[MANUAL.index("## Settings") :].split("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)}


def find_settings_in_code() -> set[str]:
    """Return the names of environment variables that the code reads."""
    names = set()
    for path in [
        path for app in ("agreement_site", "metrics") for path in (BASE_DIR / app).rglob("*.py")
    ]:
        text = path.read_text()
        names |= set(
            re.findall(
                r'(?:env_bool|env_int|env_list|env_url|require_env|read_integer|os\.environ\.get)\(\s*"([A-Z_]+)"',
                text,
            )
        )
    return names


def test_documented_settings_are_those_that_the_code_reads() -> None:
    assert read_documented_settings() == find_settings_in_code() - {"DJANGO_SETTINGS_MODULE"}


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_units_set_documented_settings(path: Path) -> None:
    unit = deployment.read_unit(path)
    assert set(unit.environment) <= read_documented_settings() | EXTERNAL_SETTINGS
    assert unit.settings["EnvironmentFile"] == "/etc/concord/environment"
    assert unit.settings["Restart"] == "always"
    assert unit.settings["User"] == "concord"
    # No request needs these; HEAD of a checkout names the release.
    inaccessible = unit.settings["InaccessiblePaths"].split()
    hidden_paths = (".git/objects", ".git/logs", ".git/config", "tests", "benchmarks")
    assert inaccessible == [f"-/opt/concord/{name}" for name in hidden_paths]
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    assert {".git", "tests", "benchmarks"} <= set(ignored)
    data = deployment.read_environment()["DATA_DIR"]
    # The only writable folder.
    assert data == f"/var/lib/{unit.settings['StateDirectory']}"


def test_proxy_requires_current_tls_and_limits_uploads() -> None:
    https_server, http_server = re.findall(
        r"^server \{\n(.*?)^\}", (DEPLOY / "nginx.conf").read_text(), re.M | re.S
    )
    assert re.findall(r"ssl_protocols (.*);", https_server) == ["TLSv1.2 TLSv1.3"]
    locations = dict(re.findall(r"location ([^{]+) \{(.*?)\}", https_server, re.S))
    upload_location = "~ ^/projects/(\\d+/data|import)/"
    assert set(locations) == {"/", upload_location}
    size_directive = "client_max_body_size "
    assert https_server.count(size_directive) == 2
    assert https_server.split("location")[0].count(f"{size_directive}20m;") == 1
    assert f"{size_directive}520m;" in locations[upload_location]
    assert max(settings.IMPORT_MAX_BYTES, settings.MEDIA_MAX_BYTES) <= 520 << 20
    for page in ("/projects/7/data/import/", "/projects/7/data/media/", "/projects/import/"):
        assert re.match(upload_location[2:], page)
        assert resolve(page).func.limits_own_body  # type: ignore[attr-defined]
    for header, value in (("Proto", "$scheme"), ("For", "$remote_addr")):
        assert f"proxy_set_header X-Forwarded-{header} {value};" in https_server
    assert re.findall(r"location (\S+) \{ return (\d+)", http_server) == [
        ("/", "301"),
        ("/api/", "403"),
    ]


def test_containers_have_no_default_passwords() -> None:
    services = read_compose_file()["services"]
    assert services["valkey"]["command"][-2:] == ["--requirepass", "${BROKER_PASSWORD:?choose one}"]
    settings_with_passwords = [
        services["web"]["environment"][name] for name in ("DATABASE_URL", "REDIS_URL")
    ]
    settings_with_passwords.append(services["postgres"]["environment"]["POSTGRES_PASSWORD"])
    settings_with_passwords.append(services["backup"]["environment"]["DATABASE_URL"])
    for text in settings_with_passwords:
        assert re.search(r"\$\{(DB|BROKER)_PASSWORD:\?", text)
    # Only the proxy, which has the certificate, is reachable.
    assert {name: service["ports"] for name, service in services.items() if "ports" in service} == {
        "proxy": ["80:80", "443:443"]
    }


def test_environment_sets_documented_settings() -> None:
    assert set(deployment.read_environment()) <= read_documented_settings()


def test_environment_passes_the_deployment_check(tmp_path: Path) -> None:
    environment = {**deployment.read_environment(), "DATA_DIR": str(tmp_path)}
    process = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        env={"PATH": os.environ["PATH"], **environment},
        cwd=BASE_DIR,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr


def verify_units(folder: Path, *units: Path) -> str:
    """Return systemd's messages about units, with the paths of this checkout."""
    for unit in units:
        text = unit.read_text().replace("/opt/concord/.venv/bin/python", sys.executable)
        (folder / unit.name).write_text(text.replace("/opt/concord", str(BASE_DIR)))
    command = [
        "systemd-analyze",
        "verify",
        "--man=no",
        *(str(folder / unit.name) for unit in units),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd here")
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "trial.service").write_text(f"[Service]\nExecStart={sys.executable}\n")
    if verify_units(tmp_path, folder / "trial.service"):
        pytest.skip("systemd-analyze does not work here")
    assert verify_units(tmp_path, *UNITS) == ""
    broken = folder / "concord.service"
    broken.write_text(UNITS[0].read_text().replace("Restart=always", "Restart=allways"))
    assert "allways" in verify_units(tmp_path, broken)  # the check detects errors


def read_compose_file() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return content


def test_compose_file_names_what_exists() -> None:
    services = read_compose_file()["services"]
    assert set(services) == {"proxy", "web", "worker", "backup", "postgres", "valkey"}
    for name in ("web", "worker"):
        assert set(services[name]["environment"]) <= read_documented_settings() | EXTERNAL_SETTINGS
        assert (
            DEPLOY / services[name]["build"]["context"] / services[name]["build"]["dockerfile"]
        ).is_file()
        assert set(services[name]["depends_on"]) <= set(services)
        assert services[name]["restart"] == "unless-stopped"
    volumes = [
        volume.split(":")[0]
        for service in services.values()
        for volume in service.get("volumes", ())
    ]
    mounted_files = {volume for volume in volumes if volume.startswith("./")}
    assert set(volumes) - mounted_files == set(read_compose_file()["volumes"])
    for name in mounted_files:
        assert (DEPLOY / name).is_file()
    assert set(services["backup"]["environment"]) == {"DATABASE_URL", "DATA_DIR", "BACKUP_DIR"}
    probe = re.findall(r"^ +CMD (\[.*)", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)[0]
    assert resolve(re.findall(r":8000(/\w+)", probe)[0]).url_name == "livez"


TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT}
TEXT_BY_NAME = {"type": "object", "additionalProperties": TEXT}
PARTS_OF_A_SERVICE = {
    "build": {
        "type": "object",
        "properties": {"context": TEXT, "dockerfile": TEXT, "args": TEXT_BY_NAME},
        "additionalProperties": False,
    },
    "cap_drop": TEXTS,
    "command": TEXTS,
    "depends_on": {
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "properties": {"condition": {"enum": ["service_started", "service_healthy"]}},
            "required": ["condition"],
            "additionalProperties": False,
        },
    },
    "deploy": {
        "type": "object",
        "properties": {
            "resources": {
                "type": "object",
                "properties": {
                    "limits": {
                        "type": "object",
                        "properties": {"memory": {"type": "string", "pattern": "^[0-9]+[mg]$"}},
                        "additionalProperties": False,
                    }
                },
                "additionalProperties": False,
            }
        },
        "additionalProperties": False,
    },
    "entrypoint": TEXTS,
    "environment": TEXT_BY_NAME,
    "healthcheck": {
        "type": "object",
        "properties": {"test": TEXTS, "interval": TEXT, "disable": {"type": "boolean"}},
        "additionalProperties": False,
    },
    "image": TEXT,
    "init": {"type": "boolean"},
    "ports": TEXTS,
    "read_only": {"type": "boolean"},
    "logging": {"type": "object", "required": ["driver", "options"]},
    "restart": {"const": "unless-stopped"},
    "security_opt": TEXTS,
    "shm_size": TEXT,
    "stop_grace_period": TEXT,
    "tmpfs": TEXTS,
    "volumes": TEXTS,
}


def test_compose_file_follows_the_schema() -> None:
    """The part of the Compose specification's schema that the file uses."""
    content = {
        name: part for name, part in read_compose_file().items() if not name.startswith("x-")
    }
    schema = {
        "type": "object",
        "properties": {
            "name": TEXT,
            "services": {
                "type": "object",
                "additionalProperties": {
                    "type": "object",
                    "properties": PARTS_OF_A_SERVICE,
                    "required": ["image", "restart", "deploy"],
                    "additionalProperties": False,
                },
            },
            "volumes": {"type": "object", "additionalProperties": {"const": {}}},
        },
        "additionalProperties": False,
    }
    errors = jsonschema_rs.validator_for(schema).iter_errors(content)
    assert [(list(error.instance_path), error.message) for error in errors] == []
    for name in ("web", "worker"):
        assert content["services"][name]["read_only"]
        assert content["services"][name]["cap_drop"] == ["ALL"]


def test_supervisor_and_unit_start_the_web_server_alike() -> None:
    """Their command lines are the same."""
    from agreement_site.server.launcher import build_web_server

    unit = deployment.read_unit(DEPLOY / "systemd" / "concord-web.service")
    assert unit.command[1:] == build_web_server().command[1:]


def test_supervisor_unit_and_container_start_workers_alike() -> None:
    """Their command lines are the same but for the worker's name."""
    from agreement_site.server.launcher import build_worker

    unit = deployment.read_unit(DEPLOY / "systemd" / "concord-worker@.service")
    container = read_compose_file()["services"]["worker"]
    assert unit.command[1:] == ["-m", "agreement_site.server.worker", "worker%i"]
    assert container["command"][1:] == ["-m", "agreement_site.server.worker"]
    assert build_worker(1).command[1:] == ["-m", "agreement_site.server.worker", "worker1"]


def test_dockerfile_starts_an_existing_command() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    assert re.findall(r"make (\S+) PYTHON", text)[-1] in list_make_targets()
    command = re.findall(r'"manage.py", "(\w+)"', text)
    assert command == ["services"]
    assert (
        text.index("USER concord")
        < text.index("make setup")
        < text.index("COPY --chown=concord . .")
    )


def list_make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (BASE_DIR / "Makefile").read_text(), re.MULTILINE))


def test_manual_names_existing_make_targets() -> None:
    targets = set(re.findall(r"(?:^|`|    )(?:[A-Z_]+=\S+ )*make ([a-z-]+)", MANUAL, re.MULTILINE))
    assert targets
    assert targets <= list_make_targets()


def test_manual_names_existing_commands_and_options() -> None:
    lines = re.findall(r"(?:python|bin/python) manage\.py (\w+)([^\n`#]*)", MANUAL)
    assert {name for name, _arguments in lines} >= {
        "status",
        "audit",
        "recount",
        "backup",
        "services",
        "check",
    }
    commands = get_commands()
    for name, arguments in lines:
        if name == "services":  # handled by manage.py itself
            continue
        assert name in commands, name
        app: Any = commands[name]  # its name, or the command itself
        command = load_command_class(app, name) if isinstance(app, str) else app
        accepted = command.create_parser("manage.py", name)._option_string_actions
        assert set(re.findall(r"--[a-z-]+", arguments)) <= set(accepted), f"{name}{arguments}"


def test_manual_names_existing_files() -> None:
    paths = re.findall(r"`((?:deploy|tests|benchmarks|docs)/[^`\s]+)`", MANUAL)
    assert paths
    for name in paths:
        assert (BASE_DIR / name).exists(), name


# --- blocks of the manual, run unchanged


def find_fenced_blocks(language: str) -> list[str]:
    """Return the fenced blocks of this language."""
    return re.findall(rf"```{language}\n(.*?)```", MANUAL, re.DOTALL)


def find_shell_blocks() -> list[str]:
    """Return the indented blocks, which users type into a shell."""
    return re.findall(r"(?:^    .*\n)+", MANUAL, re.MULTILINE)


@pytest.mark.parametrize("block", find_shell_blocks())
def test_shell_accepts_the_blocks_of_the_manual(block: str) -> None:
    text = textwrap.dedent(block).replace("<this repository>", "repository")
    process = subprocess.run(["sh", "-n"], input=text, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr


@pytest.mark.services
def test_broker_starts_with_the_settings_of_the_manual(tmp_path: Path) -> None:
    """The client signs in with the password of deploy/environment."""
    (lines,) = find_fenced_blocks("redis")
    path = tmp_path / "redis.conf"
    socket_settings = f"port 0\nunixsocket {tmp_path}/socket\ndir {tmp_path}\n"
    path.write_text(socket_settings + lines)
    server = subprocess.Popen(
        [embedded_broker.get_broker_program(), str(path)], stdout=subprocess.PIPE
    )
    try:
        wait_for((tmp_path / "socket").exists, "the broker")
        password = urlsplit(deployment.read_environment()["REDIS_URL"]).password
        client = redis.Redis(unix_socket_path=str(tmp_path / "socket"), password=password)
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        client.close()
        with pytest.raises(redis.AuthenticationError):
            redis.Redis(unix_socket_path=str(tmp_path / "socket")).ping()
    finally:
        server.kill()
        server.communicate()


@pytest.mark.services
def test_database_is_created_by_the_sql_of_the_manual() -> None:
    """Other names are used, beside existing databases."""
    server = os.environ.get("TEST_POSTGRES_URL")
    if not server:
        pytest.skip("no PostgreSQL: `make test` starts one")
    create_sql, check_sql = find_fenced_blocks("sql")
    rename = lambda text: re.sub(r"\bconcord\b", "manual", text)  # noqa: E731
    with psycopg.connect(server, autocommit=True) as connection:
        try:
            for statement in rename(create_sql).split(";"):
                if statement.strip():
                    connection.execute(statement)
            database_url = re.sub(r"/postgres\?", "/manual?", server)
            with psycopg.connect(database_url, user="manual") as manual_connection:
                timeout = manual_connection.execute("SHOW statement_timeout").fetchone()
                manual_connection.execute("CREATE TABLE may_make (tables int)")
            assert timeout == ("10min",)
            connection.execute(rename(check_sql))
        finally:
            connection.execute("DROP DATABASE IF EXISTS manual WITH (FORCE)")
            connection.execute("DROP ROLE IF EXISTS manual")


@pytest.mark.services
@pytest.mark.parametrize("days", [0, 20])
def test_nightly_backup_of_sqlite(tmp_path: Path, days: int) -> None:
    data, backup_dir = tmp_path / "data", tmp_path / "kept"
    for folder in (data / "media" / "1", backup_dir):
        folder.mkdir(mode=0o700, parents=True)
    data.chmod(0o700)
    (data / "media" / "1" / "a.png").write_text("a")
    old_backup = backup_dir / "concord-2026-01-01.sqlite3"
    old_backup.write_text("x")
    os.utime(old_backup, (time.time() - days * 86_400,) * 2)
    settings_overrides = {
        "DATA_DIR": str(data),
        "BACKUP_DIR": str(backup_dir),
        "PYTHON": sys.executable,
    }
    environment = {"PATH": os.environ["PATH"], **settings_overrides}
    database_templates.copy_sqlite_template(data / "concord.sqlite3")
    subprocess.run([DEPLOY / "backup"], env=environment, check=True, capture_output=True)
    names = {path.name for path in backup_dir.iterdir()} - {old_backup.name}
    assert names == {f"concord-{time.strftime('%F')}.sqlite3", "media", "secret_key"}
    assert (backup_dir / "media" / "1" / "a.png").read_text() == "a"
    assert old_backup.exists() == (days < 14)


@pytest.mark.parametrize("program", ["exit 1", "exec /bin/false", "echo Python 3.9 >&2; exit 3"])
def test_a_given_python_is_checked(program: str, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{program}\n")
    python.chmod(0o755)
    shutil.copy(BASE_DIR / "Makefile", tmp_path)
    result = subprocess.run(
        ["make", ".venv/pyvenv.cfg", f"PYTHON={python}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2
    assert f"PYTHON={python} cannot be used: Concord needs Python 3.11" in result.stderr
    assert not (tmp_path / ".venv").exists()
